// The messages of a request, and the functions that it lets a model call, read strictly.

import { isObject, type JsonObject } from '../../json.js';
import type { EngineMessage, Tool } from '../engine-contract.js';
import { invalid, unsupported } from '../http/api-error.js';
import { isEmptyList, isString, shown } from './parameters.js';

/** What messages, their parts and tools may carry that no chat template of these models renders. */
const MARKS = ['name', 'cache_control'];

const ROLES: Readonly<Record<string, EngineMessage['role']>> = {
  system: 'system',
  // OpenAI's newer name for the same place in the conversation.
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
};

/** Throws an ApiError that names the place. */
export function readMessages(value: unknown): EngineMessage[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid("'messages' must be a list of at least one", 'messages');
  return value.map((message, index) => readMessage(message, `messages[${index}]`));
}

function readMessage(value: unknown, at: string): EngineMessage {
  if (!isObject(value)) throw invalid(`'${at}' must be an object`, at);
  const { role: wanted, content, reasoning_content, reasoning, tool_calls, tool_call_id, ...others } = value;
  const role = isString(wanted) && Object.hasOwn(ROLES, wanted) ? ROLES[wanted] : undefined;
  if (role === undefined) {
    const known = Object.keys(ROLES).join(', ');
    throw invalid(
      `'${at}.role' is not supported with the value ${shown(wanted ?? null)}; it has ${known}`,
      `${at}.role`,
    );
  }
  for (const [name, other] of Object.entries(others)) {
    // What a reply's own message holds beside its text may be sent back as it came.
    if (other === null || isEmptyList(other) || MARKS.includes(name)) continue;
    throw unsupported(`${at}.${name}`);
  }
  const thinking = reasoning_content ?? reasoning ?? undefined;
  if (thinking !== undefined && (role !== 'assistant' || !isString(thinking))) {
    throw invalid(`'${at}.reasoning_content' must be a string, on an assistant's message`, `${at}.reasoning_content`);
  }
  const text = role === 'assistant' && (content ?? null) === null ? '' : readContent(content, `${at}.content`);
  const calls = readCalls(tool_calls ?? [], role, `${at}.tool_calls`);
  if (tool_call_id != null && (role !== 'tool' || !isString(tool_call_id))) {
    throw invalid(`'${at}.tool_call_id' must be a string, on a tool's message`, `${at}.tool_call_id`);
  }
  return {
    role,
    content: text,
    ...(thinking !== undefined && { reasoning_content: thinking }),
    ...(calls.length > 0 && { tool_calls: calls }),
    ...(isString(tool_call_id) && { tool_call_id }),
  };
}

/** Calls as a reply has them, their arguments as text; templates render them as an object. */
function readCalls(value: unknown, role: string, at: string): NonNullable<EngineMessage['tool_calls']> {
  if (!Array.isArray(value) || (value.length > 0 && role !== 'assistant')) {
    throw invalid(`'${at}' must be a list, on an assistant's message`, at);
  }
  return value.map((call, index) => {
    const place = `${at}[${index}]`;
    const { id, type, function: called } = isObject(call) ? call : {};
    if (!isString(id) || type !== 'function' || !isObject(called) || !isString(called.name)) {
      throw invalid(`'${place}' must be a function's call, with 'id' and 'function.name'`, place);
    }
    return { id, type, function: { name: called.name, arguments: readArguments(called.arguments, place) } };
  });
}

function readArguments(value: unknown, place: string): JsonObject {
  try {
    const parsed: unknown = isString(value) ? JSON.parse(value) : value;
    if (isObject(parsed)) return parsed;
  } catch {
    // The error below says so.
  }
  throw invalid(`'${place}.function.arguments' must be a JSON object as text`, `${place}.function.arguments`);
}

function readContent(value: unknown, at: string): string {
  if (isString(value)) return value;
  if (!Array.isArray(value)) throw invalid(`'${at}' must be a string or a list of text parts`, at);
  // Joined without a separator, as the templates of Qwen's models do.
  return value.map((part, index) => readPart(part, `${at}[${index}]`)).join('');
}

function readPart(value: unknown, at: string): string {
  if (!isObject(value)) throw invalid(`'${at}' must be an object`, at);
  const { type, text, ...others } = value;
  if (type !== 'text') {
    const message = `'${at}' of type ${shown(type ?? null)} is not supported: only text is`;
    throw invalid(message, `${at}.type`, 'unsupported_value');
  }
  if (!isString(text)) throw invalid(`'${at}.text' must be a string`, `${at}.text`);
  const other = Object.keys(others).find((name) => !MARKS.includes(name));
  if (other !== undefined) throw unsupported(`${at}.${other}`);
  return text;
}

/** The functions that a model may call. Throws an ApiError for what the server could not keep to. */
export function readTools(value: unknown): Tool[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw invalid("'tools' must be a list", 'tools');
  return value.map((tool, index) => readTool(tool, `tools[${index}]`));
}

function readTool(value: unknown, at: string): Tool {
  if (!isObject(value) || value.type !== 'function') throw invalid(`'${at}' must be of the type function`, at);
  requireKnown(value, ['type', 'function'], at);
  const { function: called } = value;
  if (!isObject(called)) throw invalid(`'${at}.function' must be an object`, `${at}.function`);
  requireKnown(called, ['name', 'description', 'parameters', 'strict'], `${at}.function`);
  const { name, description, parameters, strict } = called;
  if (!isString(name) || !/^[\w.-]{1,128}$/.test(name)) {
    throw invalid(`'${at}.function.name' must be made of letters, digits, _, . and -`, `${at}.function.name`);
  }
  if ((strict ?? false) !== false) {
    const message = `'${at}.function.strict' is not supported: no grammar holds the arguments`;
    throw invalid(message, `${at}.function.strict`, 'unsupported_value');
  }
  if (description != null && !isString(description)) {
    throw invalid(`'${at}.function.description' must be a string`, `${at}.function.description`);
  }
  if (parameters != null && !isObject(parameters)) {
    throw invalid(`'${at}.function.parameters' must be an object`, `${at}.function.parameters`);
  }
  return {
    type: 'function',
    function: {
      name,
      ...(isString(description) && { description }),
      ...(isObject(parameters) && { parameters }),
    },
  };
}

/** Throws an ApiError where the model is to be made to call. */
export function readToolChoice(value: unknown): 'auto' | 'none' {
  if (value === undefined || value === 'auto') return 'auto';
  if (value === 'none') return 'none';
  const message = `'tool_choice' is not supported with the value ${shown(value)}: a model may call (auto) or not (none), but not be made to`;
  throw invalid(message, 'tool_choice', 'unsupported_value');
}

function requireKnown(value: JsonObject, known: readonly string[], at: string): void {
  const other = Object.keys(value).find((name) => value[name] !== null && ![...known, ...MARKS].includes(name));
  if (other !== undefined) {
    throw unsupported(`${at}.${other}`);
  }
}
