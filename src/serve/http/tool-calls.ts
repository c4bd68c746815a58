// Calls of functions in a reply: what the model writes between <tool_call> and </tool_call>, taken out of the text and read.

import { randomUUID } from 'node:crypto';
import { isObject } from '../../core/json.js';
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
  /** What is known of the held text; at the end of the reply all of it is. */
  function* settle(isEnd: boolean): Generator<ReplyEvent, void, void> {
    for (;;) {
      const open = held.indexOf(OPEN);
      if (open < 0) break;
      const close = held.indexOf(CLOSE_CALL, open);
      if (close < 0 && !isEnd) {
        yield* text(held.slice(0, open));
        held = held.slice(open);
        return;
      }
      const body = held.slice(open + OPEN.length, close < 0 ? undefined : close);
      const after = close < 0 ? '' : held.slice(close + CLOSE_CALL.length);
      const call = readCall(body, tools);
      yield* text(call === undefined ? held.slice(0, held.length - after.length) : held.slice(0, open));
      if (call !== undefined) {
        yield { type: 'tool-call', index: calls, id: `call_${randomUUID().replaceAll('-', '')}`, ...call };
        calls += 1;
      }
      held = after;
    }
    const safe = isEnd ? held.length : held.length - longestStart(held, [OPEN]);
    yield* text(held.slice(0, safe));
    held = held.slice(safe);
  }
  function* text(said: string): Generator<ReplyEvent, void, void> {
    // Templates put white space around calls.
    if (said !== '' && (calls === 0 || said.trim() !== '')) yield { type: 'text', channel: 'content', text: said };
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

type Call = Pick<ToolCall, 'name' | 'arguments'>;

/** A call in either notation of Qwen's models: JSON, or a function and its parameters in tags. */
function readCall(body: string, tools: readonly Tool[]): Call | undefined {
  return readJsonCall(body) ?? readTaggedCall(body, tools);
}

function readJsonCall(body: string): Call | undefined {
  const call = parsed(body);
  if (!isObject(call) || typeof call.name !== 'string') return undefined;
  const given = call.arguments ?? {};
  const value = typeof given === 'string' ? parsed(given) : given;
  return isObject(value) ? { name: call.name, arguments: JSON.stringify(value) } : undefined;
}

function readTaggedCall(body: string, tools: readonly Tool[]): Call | undefined {
  const match = /^\s*<function=([^>\n]+)>([\s\S]*)$/.exec(body);
  if (match === null) return undefined;
  const [, name = '', inner = ''] = match;
  const { parameters } = tools.find((tool) => tool.function.name === name)?.function ?? {};
  const properties = isObject(parameters?.properties) ? parameters.properties : {};
  const values: [string, unknown][] = [];
  for (const [, parameter = '', text = ''] of inner.matchAll(/<parameter=([^>\n]+)>\n?([\s\S]*?)\n?<\/parameter>/g)) {
    const schema = Object.hasOwn(properties, parameter) ? properties[parameter] : undefined;
    values.push([parameter, isText(schema) ? text : (parsed(text) ?? text)]);
  }
  return { name, arguments: JSON.stringify(Object.fromEntries(values)) };
}

/** Parameters are written as they are; only the function's schema tells the text "5" from the number. */
function isText(schema: unknown): boolean {
  return !isObject(schema) || schema.type === undefined || [schema.type].flat().includes('string');
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
