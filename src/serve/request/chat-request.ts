// The body of a chat completion request, read strictly: what cannot be served as asked is refused by name.

import { isObject, type JsonObject } from '../../json.js';
import type { EngineMessage, GenerateOptions, ScoreOptions, Tool } from '../engine-contract.js';
import { invalid, unsupported } from '../http/api-error.js';
import { levelsOf } from '../http/body.js';
import { CLOSE_CALL } from '../http/tool-calls.js';
import { readMessages, readToolChoice, readTools } from './messages.js';
import {
  is,
  MOST_LOGPROBS,
  MOST_N,
  readBoolean,
  readInteger,
  readParameters,
  requireModel,
  type ServerDefaults,
  shown,
  WITHOUT_EFFECT,
} from './parameters.js';
import { readSampling, readStreaming, readThinking, SAMPLING_PARAMETERS } from './sampling-request.js';

export interface ChatRequest {
  readonly messages: readonly EngineMessage[];
  /** Those that the model may call: none where it must not. */
  readonly tools: readonly Tool[];
  /** Choices. */
  readonly n: number;
  readonly options: GenerateOptions;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** How many of the likeliest tokens are told beside each of the last message, which is then given and not to be answered. */
  readonly promptLogprobs: number | undefined;
}

const SERVED = [
  ...SAMPLING_PARAMETERS,
  'messages',
  'max_completion_tokens',
  'response_format',
  'chat_template_kwargs',
  'n',
  'logprobs',
  'top_logprobs',
  'prompt_logprobs',
  'add_generation_prompt',
  'thinking_budget',
  'thinking_token_budget',
  'reasoning_effort',
  'tools',
  'tool_choice',
  'parallel_tool_calls',
];

const CHAT_WITHOUT_EFFECT = {
  ...WITHOUT_EFFECT,
  modalities: (value: unknown) => Array.isArray(value) && value.length === 1 && value[0] === 'text',
  echo: is(false),
  // Defaults of other servers.
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
  const messages = readMessages(given.messages);
  const n = readInteger(given.n, 'n', 1, MOST_N) ?? 1;
  const streaming = readStreaming(given);
  const promptLogprobs = readPromptLogprobs(given, messages, n === 1 && !streaming.stream && scores === undefined);
  const isSingleCall = tools.length > 0 && readBoolean(given.parallel_tool_calls, 'parallel_tool_calls') === false;
  return {
    messages,
    tools,
    n,
    ...streaming,
    promptLogprobs,
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

/** As vLLM has them, but of the last message alone: each token takes an evaluation of its own. */
function readPromptLogprobs(
  given: JsonObject,
  messages: readonly EngineMessage[],
  isPlain: boolean,
): number | undefined {
  const top = readInteger(given.prompt_logprobs, 'prompt_logprobs', 0, MOST_LOGPROBS);
  const isOpen = readBoolean(given.add_generation_prompt, 'add_generation_prompt') ?? true;
  if (top === undefined) {
    if (isOpen) return undefined;
    throw invalid("'add_generation_prompt' false needs 'prompt_logprobs'", 'add_generation_prompt');
  }
  if (isOpen || messages.length < 2 || messages.at(-1)?.role !== 'assistant') {
    const message =
      "'prompt_logprobs' scores a given reply: it needs 'add_generation_prompt': false, and a message of the assistant behind others";
    throw invalid(message, 'prompt_logprobs');
  }
  if (isPlain) return top;
  throw invalid("'prompt_logprobs' goes with neither 'stream', 'n' nor 'logprobs'", 'prompt_logprobs');
}

const MOST_SCHEMA_VALUES = 2_000;
const DEEPEST_SCHEMA = 64;

/** Throws an ApiError for a format that is not known, or a schema that is too large. */
function readResponseFormat(value: unknown): GenerateOptions['responseFormat'] {
  if (value === undefined) return { type: 'text' };
  const at = 'response_format';
  if (!isObject(value)) throw invalid(`'${at}' must be an object`, at);
  const { type, json_schema, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined) throw unsupported(`${at}.${other}`);
  if (type === 'json_schema') return { type, schema: readSchema(json_schema, `${at}.json_schema`) };
  if (type !== 'text' && type !== 'json_object') {
    throw invalid(`'${at}.type' must be text, json_object or json_schema, not ${shown(type ?? null)}`, `${at}.type`);
  }
  if (json_schema !== undefined) throw invalid(`'${at}.json_schema' needs the type json_schema`, `${at}.json_schema`);
  return { type };
}

function readSchema(value: unknown, at: string): JsonObject {
  if (!isObject(value)) throw invalid(`'${at}' must be an object with a 'schema'`, at);
  // `strict` asks for what happens anyway; false permits more than the schema, which nobody has to use.
  const { schema, name: _, description: __, strict: ___, ...others } = value;
  const [other] = Object.keys(others);
  if (other !== undefined) throw unsupported(`${at}.${other}`);
  if (!isObject(schema)) throw invalid(`'${at}.schema' must be an object`, `${at}.schema`);
  requireSmall(schema, `${at}.schema`);
  return schema;
}

/** Making a grammar takes time that grows with the square of the schema's size, and nothing else is served meanwhile. */
function requireSmall(schema: JsonObject, at: string): void {
  let count = 0;
  for (const { depth, values } of levelsOf(schema)) {
    count += values.length;
    if (count > MOST_SCHEMA_VALUES || depth > DEEPEST_SCHEMA) {
      const message = `'${at}' is too large: at most ${MOST_SCHEMA_VALUES} values, ${DEEPEST_SCHEMA} deep, are supported`;
      throw invalid(message, at, 'schema_too_large');
    }
  }
}
