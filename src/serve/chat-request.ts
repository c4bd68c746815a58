// The body of a chat completion request, read strictly: every parameter is served, known to change nothing, or refused by name.

import { isObject, type JsonObject } from '../json.js';
import { invalid } from './api-error.js';
import type { EngineMessage, GenerateOptions, ScoreOptions, Tool } from './engine-contract.js';
import {
  is,
  isEmptyList,
  isString,
  MOST_LOGPROBS,
  MOST_N,
  readBoolean,
  readEither,
  readInteger,
  readParameters,
  readSampling,
  readStreaming,
  requireModel,
  SAMPLING_PARAMETERS,
  type ServerDefaults,
  shown,
  WITHOUT_EFFECT,
} from './parameters.js';
import { CLOSE_CALL } from './tool-calls.js';

export interface ChatRequest {
  readonly messages: readonly EngineMessage[];
  /** Those that the model may call: none where it must not. */
  readonly tools: readonly Tool[];
  /** Choices. */
  readonly n: number;
  readonly options: GenerateOptions;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

/** Variables of a chat template that are the server's to set. */
const TEMPLATE_VARIABLES = ['messages', 'tools', 'documents', 'add_generation_prompt', 'continue_final_message'];

const MOST_SCHEMA_VALUES = 2_000;
const DEEPEST_SCHEMA = 64;

const SERVED = [
  ...SAMPLING_PARAMETERS,
  'messages',
  'max_completion_tokens',
  'response_format',
  'chat_template_kwargs',
  'n',
  'logprobs',
  'top_logprobs',
  'thinking_budget',
  'thinking_token_budget',
  'reasoning_effort',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
];

/** Most tokens of thinking by effort; none at all is asked of the chat template. OpenAI gives no numbers: these are this server's. */
const EFFORTS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 256,
  low: 1_024,
  medium: 8_192,
  high: Number.POSITIVE_INFINITY,
  xhigh: Number.POSITIVE_INFINITY,
};

const CHAT_WITHOUT_EFFECT = {
  ...WITHOUT_EFFECT,
  modalities: (value: unknown) => Array.isArray(value) && value.length === 1 && value[0] === 'text',
  echo: is(false),
  prompt_logprobs: is(0),
  // Defaults of other servers.
  add_generation_prompt: is(true),
  continue_final_message: is(false),
  include_reasoning: is(true),
  separate_reasoning: is(true),
};

/** Reads a request's body as parsed from JSON. Throws an ApiError (400, or 404 for a model not served). */
export function readChatRequest(body: unknown, server: ServerDefaults): ChatRequest {
  const given = readParameters(body, SERVED, CHAT_WITHOUT_EFFECT);
  requireModel(given.model, server.models);
  const tools = readToolChoice(given.tool_choice) === 'none' ? [] : readTools(given.tools);
  const sampling = readSampling(given, server, { names: ['max_completion_tokens', 'max_tokens'], least: 1 });
  const responseFormat = readResponseFormat(given.response_format);
  if (tools.length > 0 && responseFormat.type !== 'text') {
    throw invalid("'tools' and a 'response_format' that holds the reply cannot be combined", 'response_format');
  }
  const scores = readScores(given);
  const isSingleCall = tools.length > 0 && readBoolean(given.parallel_tool_calls, 'parallel_tool_calls') === false;
  return {
    messages: readMessages(given.messages),
    tools,
    n: readInteger(given.n, 'n', 1, MOST_N) ?? 1,
    ...readStreaming(given),
    options: {
      ...sampling,
      stop: isSingleCall ? [...sampling.stop, CLOSE_CALL] : sampling.stop,
      responseFormat,
      ...readThinking(given, server.thinkingBudget),
      ...(scores !== undefined && { scores }),
    },
  };
}

function readScores(given: JsonObject): ScoreOptions | undefined {
  const isAsked = readBoolean(given.logprobs, 'logprobs') ?? false;
  const top = readInteger(given.top_logprobs, 'top_logprobs', 0, MOST_LOGPROBS);
  if (isAsked) return { reply: true, top: top ?? 0 };
  if (top !== undefined && top > 0) throw invalid("'top_logprobs' needs 'logprobs': true", 'top_logprobs');
  return undefined;
}

/** The smallest of the server's, the request's and the effort's budgets holds. */
function readThinking(
  given: JsonObject,
  serverBudget: number,
): Pick<GenerateOptions, 'thinkingBudget' | 'templateArguments'> {
  const budget = readEither(given, 'thinking_budget', 'thinking_token_budget', (name) =>
    readInteger(given[name], name, 0, Number.MAX_SAFE_INTEGER),
  );
  const templateArguments = readTemplateArguments(given.chat_template_kwargs);
  const { reasoning_effort: effort } = given;
  if (effort === undefined) {
    return { thinkingBudget: Math.min(serverBudget, budget ?? serverBudget), templateArguments };
  }
  const ofEffort = isString(effort) && Object.hasOwn(EFFORTS, effort) ? EFFORTS[effort] : undefined;
  if (ofEffort === undefined) {
    const known = Object.keys(EFFORTS).join(', ');
    throw invalid(`'reasoning_effort' must be one of ${known}, not ${shown(effort)}`, 'reasoning_effort');
  }
  if (effort === 'none' && templateArguments.enable_thinking === true) {
    throw invalid("'reasoning_effort' none and 'enable_thinking' contradict each other", 'reasoning_effort');
  }
  return {
    thinkingBudget: Math.min(serverBudget, budget ?? serverBudget, ofEffort),
    templateArguments: effort === 'none' ? { ...templateArguments, enable_thinking: false } : templateArguments,
  };
}

// --- tools ---

/** The functions that a model may call. Throws an ApiError for what could not be held to. */
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

function requireKnown(value: JsonObject, known: readonly string[], at: string): void {
  const other = Object.keys(value).find((name) => value[name] !== null && ![...known, ...MARKS].includes(name));
  if (other !== undefined) {
    throw invalid(`'${at}.${other}' is not supported`, `${at}.${other}`, 'unsupported_parameter');
  }
}

function readToolChoice(value: unknown): 'auto' | 'none' {
  if (value === undefined || value === 'auto') return 'auto';
  if (value === 'none') return 'none';
  const message = `'tool_choice' is not supported with the value ${shown(value)}: a model may call (auto) or not (none), but not be made to`;
  throw invalid(message, 'tool_choice', 'unsupported_value');
}

// --- messages ---

const ROLES: Readonly<Record<string, EngineMessage['role']>> = {
  system: 'system',
  // OpenAI's newer name for the same place in the conversation.
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
  tool: 'tool',
};

/** What messages and their parts may carry that no chat template of these models renders. */
const MARKS = ['name', 'cache_control'];

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
    throw invalid(`'${at}.${name}' is not supported`, `${at}.${name}`, 'unsupported_parameter');
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
    // Told below.
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
  if (other !== undefined)
    throw invalid(`'${at}.${other}' is not supported`, `${at}.${other}`, 'unsupported_parameter');
  return text;
}

function readResponseFormat(value: unknown): GenerateOptions['responseFormat'] {
  if (value === undefined) return { type: 'text' };
  const at = 'response_format';
  if (!isObject(value)) throw invalid(`'${at}' must be an object`, at);
  const { type, json_schema, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalid(`'${at}.${other}' is not supported`, `${at}.${other}`, 'unsupported_parameter');
  if (type === 'json_schema') return { type, schema: readSchema(json_schema, `${at}.json_schema`) };
  if (type !== 'text' && type !== 'json_object') {
    throw invalid(`'${at}.type' must be text, json_object or json_schema, not ${shown(type ?? null)}`, `${at}.type`);
  }
  if (json_schema !== undefined) throw invalid(`'${at}.json_schema' needs the type json_schema`, `${at}.json_schema`);
  return { type };
}

function readSchema(value: unknown, at: string): JsonObject {
  if (!isObject(value)) throw invalid(`'${at}' must be an object with a 'schema'`, at);
  // `strict` asks for what happens anyway; false would allow more than the schema, and need not.
  const { schema, name: _, description: __, strict: ___, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalid(`'${at}.${other}' is not supported`, `${at}.${other}`, 'unsupported_parameter');
  if (!isObject(schema)) throw invalid(`'${at}.schema' must be an object`, `${at}.schema`);
  requireSmall(schema, `${at}.schema`);
  return schema;
}

/** Making a grammar takes time that grows with the square of the schema's size, and nothing else is served meanwhile. */
function requireSmall(schema: JsonObject, at: string): void {
  let values: readonly unknown[] = [schema];
  let count = 0;
  for (let depth = 0; values.length > 0; depth++) {
    count += values.length;
    if (count > MOST_SCHEMA_VALUES || depth > DEEPEST_SCHEMA) {
      const message = `'${at}' is too large: at most ${MOST_SCHEMA_VALUES} values, ${DEEPEST_SCHEMA} deep, are supported`;
      throw invalid(message, at, 'schema_too_large');
    }
    values = values.flatMap((value) => (typeof value === 'object' && value !== null ? Object.values(value) : []));
  }
}

export function readTemplateArguments(value: unknown): JsonObject {
  if (value === undefined) return {};
  const at = 'chat_template_kwargs';
  if (!isObject(value)) throw invalid(`'${at}' must be an object`, at);
  const taken = Object.keys(value).find((name) => TEMPLATE_VARIABLES.includes(name));
  if (taken !== undefined)
    throw invalid(`'${at}.${taken}' is not supported`, `${at}.${taken}`, 'unsupported_parameter');
  if (typeof (value.enable_thinking ?? true) !== 'boolean') {
    throw invalid(`'${at}.enable_thinking' must be true or false`, `${at}.enable_thinking`);
  }
  return value;
}
