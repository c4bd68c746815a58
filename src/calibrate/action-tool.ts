// The tool that an action calls.

import { asObject, isObject, type JsonObject, parseObject } from '../json.js';

/** A call of a tool as actions show it. */
export interface ToolCall {
  readonly name: string;
  /** As an object, whether the action has them so or as a text of JSON. */
  readonly arguments: JsonObject;
}

/** The call in the last fence of a turn's prompt; undefined where there is none. */
export function toolCallIn(prompt: string): ToolCall | undefined {
  const body = Array.from(prompt.matchAll(/^```\w*\n([\s\S]*?)\n```/gm)).at(-1)?.[1];
  const fields = body === undefined ? undefined : parseObject(body);
  if (typeof fields?.name !== 'string') return undefined;
  const given = fields.arguments;
  return {
    name: fields.name,
    arguments: typeof given === 'string' ? asObject(parseObject(given)) : isObject(given) ? given : {},
  };
}
