// The body of a chat completion request, read strictly: every parameter is served, known to change nothing, or refused by name.

import { nearest } from '../errors.js';
import type { EngineMessage, GenerateOptions } from './engine-contract.js';

/** What a client is told, in the shape that OpenAI's errors have. */
export class ApiError extends Error {
  constructor(
    readonly status: number,
    message: string,
    readonly code: string,
    readonly param: string | null = null,
    readonly headers: Readonly<Record<string, string>> = {},
  ) {
    super(message);
  }

  get body(): { readonly error: Readonly<Record<string, unknown>> } {
    return { error: { message: this.message, type: typeOf(this.status), param: this.param, code: this.code } };
  }
}

function typeOf(status: number): string {
  if (status === 429) return 'rate_limit_error';
  return status < 500 ? 'invalid_request_error' : 'server_error';
}

export interface ChatRequest {
  readonly messages: readonly EngineMessage[];
  readonly options: GenerateOptions;
  readonly stream: boolean;
  readonly includeUsage: boolean;
}

/** Where a request is silent: the sampling that the model card of Qwen-AgentWorld-35B-A3B recommends. */
const MODEL_CARD = { temperature: 0.6, topP: 0.95, topK: 20, minP: 0 };
/** llama.cpp reads 2^32 - 1 as "any seed". */
export const MOST_SEED = 2 ** 32 - 2;
const MOST_STOPS = 16;
/** Variables of a chat template that are the server's to set. */
const TEMPLATE_VARIABLES = ['messages', 'tools', 'documents', 'add_generation_prompt', 'continue_final_message'];

type Json = Readonly<Record<string, unknown>>;

/** Parameters that are read below. */
const SERVED = [
  'model',
  'messages',
  'max_tokens',
  'max_completion_tokens',
  'temperature',
  'top_p',
  'top_k',
  'min_p',
  'seed',
  'stop',
  'presence_penalty',
  'frequency_penalty',
  'repetition_penalty',
  'repeat_penalty',
  'response_format',
  'stream',
  'stream_options',
  'chat_template_kwargs',
];

/** Parameters of OpenAI, vLLM, SGLang and llama.cpp, each with the values under which it asks for what happens anyway. */
const WITHOUT_EFFECT: Readonly<Record<string, (value: unknown) => boolean>> = {
  // Labels for the provider's own books.
  user: isString,
  metadata: isObject,
  safety_identifier: isString,
  prompt_cache_key: isString,
  prompt_cache_retention: isString,
  service_tier: isString,
  store: is(false),
  // One whole text, without tools.
  n: is(1),
  best_of: is(1),
  modalities: (value) => Array.isArray(value) && value.length === 1 && value[0] === 'text',
  tools: isEmptyList,
  tool_choice: is('none', 'auto'),
  parallel_tool_calls: is(true, false),
  echo: is(false),
  logprobs: is(false),
  top_logprobs: is(0),
  prompt_logprobs: is(0),
  logit_bias: (value) => isObject(value) && Object.keys(value).length === 0,
  // Defaults of other servers.
  add_generation_prompt: is(true),
  continue_final_message: is(false),
  cache_prompt: is(true),
  ignore_eos: is(false),
  include_reasoning: is(true),
  separate_reasoning: is(true),
  skip_special_tokens: is(true),
  min_tokens: is(0),
  length_penalty: is(1),
  typical_p: is(1),
  use_beam_search: is(false),
};

function is(...values: readonly unknown[]): (value: unknown) => boolean {
  return (value) => values.includes(value);
}

function isString(value: unknown): value is string {
  return typeof value === 'string';
}

function isObject(value: unknown): value is Json {
  return typeof value === 'object' && value !== null && !Array.isArray(value);
}

function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/**
 * Reads a request's body as parsed from JSON. `null` counts as absent, as in OpenAI's API.
 * `seed` is the one to sample under where the request names none. Throws an ApiError (400, or 404 for a model not served).
 */
export function readChatRequest(
  body: unknown,
  server: { readonly models: readonly string[]; readonly thinkingBudget: number; readonly seed: number },
): ChatRequest {
  if (!isObject(body)) throw invalid('the body must be a JSON object', null);
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  refuseUnserved(given);
  requireModel(given.model, server.models);
  const number = (name: string, ...range: Range) => readNumber(given[name], name, ...range);
  const stream = readBoolean(given.stream, 'stream') ?? false;
  return {
    messages: readMessages(given.messages),
    stream,
    includeUsage: readStreamOptions(given.stream_options, stream),
    options: {
      maxTokens: readEither(given, 'max_completion_tokens', 'max_tokens', (name) =>
        readInteger(given[name], name, 1, Number.MAX_SAFE_INTEGER),
      ),
      temperature: number('temperature', 0, 2) ?? MODEL_CARD.temperature,
      topP: number('top_p', 0, 1, 'above') ?? MODEL_CARD.topP,
      topK: readTopK(given.top_k) ?? MODEL_CARD.topK,
      minP: number('min_p', 0, 1) ?? MODEL_CARD.minP,
      seed: readInteger(given.seed, 'seed', 0, MOST_SEED) ?? server.seed,
      presencePenalty: number('presence_penalty', -2, 2) ?? 0,
      frequencyPenalty: number('frequency_penalty', -2, 2) ?? 0,
      repetitionPenalty:
        readEither(given, 'repetition_penalty', 'repeat_penalty', (name) => number(name, 0, 2, 'above')) ?? 1,
      stop: readStop(given.stop),
      responseFormat: readResponseFormat(given.response_format),
      thinkingBudget: server.thinkingBudget,
      templateArguments: readTemplateArguments(given.chat_template_kwargs),
    },
  };
}

function invalid(message: string, param: string | null, code = 'invalid_value'): ApiError {
  return new ApiError(400, message, code, param);
}

function refuseUnserved(given: Json): void {
  for (const [name, value] of Object.entries(given)) {
    if (SERVED.includes(name)) continue;
    const isHarmless = Object.hasOwn(WITHOUT_EFFECT, name) ? WITHOUT_EFFECT[name] : undefined;
    if (isHarmless === undefined) {
      const near = nearest(name, [...SERVED, ...Object.keys(WITHOUT_EFFECT)]);
      const hint = near === undefined ? '' : `; did you mean '${near}'?`;
      throw invalid(`parameter '${name}' is not supported${hint}`, name, 'unsupported_parameter');
    }
    if (!isHarmless(value)) {
      throw invalid(`'${name}' is not supported with the value ${shown(value)}`, name, 'unsupported_value');
    }
  }
}

function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

function requireModel(model: unknown, served: readonly string[]): void {
  if (model === undefined) throw invalid(`'model' is missing; this server has '${served[0]}'`, 'model');
  if (typeof model !== 'string') throw invalid(`'model' must be a string, not ${shown(model)}`, 'model');
  if (!served.includes(model)) throw unknownModel(model, served);
}

/** For a name under which nothing is served. */
export function unknownModel(model: string, served: readonly string[]): ApiError {
  return new ApiError(
    404,
    `the model '${model}' does not exist; this server has '${served[0]}'`,
    'model_not_found',
    'model',
  );
}

// --- messages ---

const ROLES: Readonly<Record<string, EngineMessage['role']>> = {
  system: 'system',
  // OpenAI's newer name for the same place in the conversation.
  developer: 'system',
  user: 'user',
  assistant: 'assistant',
};

function readMessages(value: unknown): EngineMessage[] {
  if (!Array.isArray(value) || value.length === 0)
    throw invalid("'messages' must be a list of at least one", 'messages');
  return value.map((message, index) => readMessage(message, `messages[${index}]`));
}

function readMessage(value: unknown, at: string): EngineMessage {
  if (!isObject(value)) throw invalid(`'${at}' must be an object`, at);
  const { role: wanted, content, reasoning_content, reasoning, ...others } = value;
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
    if (other === null || isEmptyList(other)) continue;
    throw invalid(`'${at}.${name}' is not supported`, `${at}.${name}`, 'unsupported_parameter');
  }
  const thinking = reasoning_content ?? reasoning ?? undefined;
  if (thinking !== undefined && (role !== 'assistant' || !isString(thinking))) {
    throw invalid(`'${at}.reasoning_content' must be a string, on an assistant's message`, `${at}.reasoning_content`);
  }
  const text = role === 'assistant' && (content ?? null) === null ? '' : readContent(content, `${at}.content`);
  return { role, content: text, ...(thinking !== undefined && { reasoning_content: thinking }) };
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
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalid(`'${at}.${other}' is not supported`, `${at}.${other}`, 'unsupported_parameter');
  return text;
}

// --- parameters ---

type Range = readonly [from: number, to: number, lower?: 'above'];

function readNumber(value: unknown, name: string, ...[from, to, lower]: Range): number | undefined {
  if (value === undefined) return undefined;
  const fits = typeof value === 'number' && (lower === 'above' ? value > from : value >= from) && value <= to;
  if (fits) return value;
  throw invalid(`'${name}' must be a number ${lower ?? 'from'} ${from} and at most ${to}, not ${shown(value)}`, name);
}

function readInteger(value: unknown, name: string, from: number, to: number): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= from && (value as number) <= to)) {
    return value as number | undefined;
  }
  throw invalid(`'${name}' must be a whole number from ${from} to ${to}, not ${shown(value)}`, name);
}

/** -1 (vLLM, SGLang) and 0 (llama.cpp) leave every token in. */
function readTopK(value: unknown): number | undefined {
  return value === -1 ? 0 : readInteger(value, 'top_k', 0, 2 ** 31 - 1);
}

function readBoolean(value: unknown, name: string): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  throw invalid(`'${name}' must be true or false, not ${shown(value)}`, name);
}

/** One parameter under two names. */
function readEither<T>(given: Json, name: string, other: string, read: (name: string) => T | undefined): T | undefined {
  const [first, second] = [read(name), read(other)];
  if (first !== undefined && second !== undefined && first !== second) {
    throw invalid(
      `'${name}' (${shown(given[name])}) and '${other}' (${shown(given[other])}) contradict each other`,
      other,
    );
  }
  return first ?? second;
}

function readStop(value: unknown): string[] {
  if (value === undefined) return [];
  const stops = Array.isArray(value) ? value : [value];
  if (stops.length <= MOST_STOPS && stops.every((stop) => isString(stop) && stop !== '')) return stops as string[];
  throw invalid(`'stop' must be a string, or up to ${MOST_STOPS}, none of them empty`, 'stop');
}

function readStreamOptions(value: unknown, stream: boolean): boolean {
  if (value === undefined) return false;
  if (!isObject(value)) throw invalid("'stream_options' must be an object", 'stream_options');
  if (!stream) throw invalid("'stream_options' is only allowed together with 'stream': true", 'stream_options');
  const { include_usage, ...others } = value;
  for (const [name, other] of Object.entries(others)) {
    // OpenAI's padding against eavesdroppers and vLLM's counts in every chunk, both turned off.
    if ((name === 'include_obfuscation' || name === 'continuous_usage_stats') && other === false) continue;
    throw invalid(`'stream_options.${name}' is not supported`, `stream_options.${name}`, 'unsupported_parameter');
  }
  return readBoolean(include_usage ?? undefined, 'stream_options.include_usage') ?? false;
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

function readSchema(value: unknown, at: string): Json {
  if (!isObject(value)) throw invalid(`'${at}' must be an object with a 'schema'`, at);
  // `strict` asks for what happens anyway; false would allow more than the schema, and need not.
  const { schema, name: _, description: __, strict: ___, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined)
    throw invalid(`'${at}.${other}' is not supported`, `${at}.${other}`, 'unsupported_parameter');
  if (!isObject(schema)) throw invalid(`'${at}.schema' must be an object`, `${at}.schema`);
  return schema;
}

function readTemplateArguments(value: unknown): Json {
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
