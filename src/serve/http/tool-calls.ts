// Calls of functions in a reply: what the model writes between <tool_call> and </tool_call>, taken out of the text and read.

import { randomUUID } from 'node:crypto';
import { isObject, parseJson } from '../../core/json.js';
import type { GenerateEvent, Tool } from '../engine-contract.js';
import { longestStart } from '../reply-reader.js';

type EngineEnd = Extract<GenerateEvent, { type: 'end' }>;

export interface ToolCall {
  readonly type: 'tool-call';
  /** Among the calls of its reply. */
  readonly index: number;
  readonly id: string;
  readonly name: string;
  /** A JSON object as text, as OpenAI's API has it. */
  readonly arguments: string;
}

export type ReplyEnd = Omit<EngineEnd, 'finishReason'> & { readonly finishReason: 'stop' | 'length' | 'tool_calls' };
/** What an engine says of a reply, with calls read out of its text. */
export type ReplyEvent = Exclude<GenerateEvent, EngineEnd> | ToolCall | ReplyEnd;

const OPEN = '<tool_call>';
/** Ends a call; as a stop string it leaves one call to a reply. */
export const CLOSE_CALL = '</tool_call>';

/** Text that cannot be read as a call stays text: nothing that the model said is lost. */
export async function* readToolCalls(
  events: AsyncIterable<GenerateEvent>,
  tools: readonly Tool[],
): AsyncGenerator<ReplyEvent, void, void> {
  let held = '';
  let calls = 0;
  /** The first so many letters of what is held, as text. Templates put white space around calls. */
  function* say(length: number): Generator<ReplyEvent, void, void> {
    const said = held.slice(0, length);
    held = held.slice(length);
    if (said !== '' && (calls === 0 || said.trim() !== '')) yield { type: 'text', channel: 'content', text: said };
  }
  /** What is known of the held text; at the end of the reply all of it is. */
  function* settle(isEnd: boolean): Generator<ReplyEvent, void, void> {
    for (let open = held.indexOf(OPEN); open >= 0; open = held.indexOf(OPEN)) {
      const found = held.indexOf(CLOSE_CALL, open);
      if (found < 0 && !isEnd) return yield* say(open);
      const [close, end] = found < 0 ? [held.length, held.length] : [found, found + CLOSE_CALL.length];
      const call = readCall(held.slice(open + OPEN.length, close), tools);
      if (call === undefined) yield* say(end);
      else {
        const after = held.slice(end);
        yield* say(open);
        yield { type: 'tool-call', index: calls, id: `call_${randomUUID().replaceAll('-', '')}`, ...call };
        calls += 1;
        held = after;
      }
    }
    yield* say(isEnd ? held.length : held.length - longestStart(held, [OPEN]));
  }
  for await (const event of events) {
    if (event.type === 'end') {
      yield* settle(true);
      yield calls > 0 && event.finishReason === 'stop' ? { ...event, finishReason: 'tool_calls' } : event;
    } else if (event.type === 'text' && event.channel === 'content') {
      if (event.scores !== undefined) yield { ...event, text: '' };
      held += event.text;
      yield* settle(false);
    } else yield event;
  }
}

/** A call in either notation of Qwen's models: JSON, or a function and its parameters in tags. */
function readCall(body: string, tools: readonly Tool[]): Pick<ToolCall, 'name' | 'arguments'> | undefined {
  const call = parseJson(body);
  if (isObject(call) && typeof call.name === 'string') {
    const given = call.arguments ?? {};
    const value = typeof given === 'string' ? parseJson(given) : given;
    return isObject(value) ? { name: call.name, arguments: JSON.stringify(value) } : undefined;
  }
  const [, name, inner = ''] = /^\s*<function=([^>\n]+)>([\s\S]*)$/.exec(body) ?? [];
  if (name === undefined) return undefined;
  const { parameters } = tools.find((tool) => tool.function.name === name)?.function ?? {};
  const properties = isObject(parameters?.properties) ? parameters.properties : {};
  const tags = inner.matchAll(/<parameter=([^>\n]+)>\n?([\s\S]*?)\n?<\/parameter>/g);
  const values = Array.from(tags, ([, parameter = '', text = '']) => {
    const schema = Object.hasOwn(properties, parameter) ? properties[parameter] : undefined;
    return [parameter, isText(schema) ? text : (parseJson(text) ?? text)];
  });
  return { name, arguments: JSON.stringify(Object.fromEntries(values)) };
}

/** Parameters are written as they are; only the function's schema tells the text "5" from the number. */
function isText(schema: unknown): boolean {
  return !isObject(schema) || schema.type === undefined || [schema.type].flat().includes('string');
}
