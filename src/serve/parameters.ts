// Reading the parameters of a request strictly: each is served, known to change nothing, or refused by name.

import { nearest } from '../errors.js';
import { isObject, type JsonObject } from '../json.js';
import { invalid, unknownModel } from './api-error.js';
import type { GenerateOptions } from './engine-contract.js';

/** llama.cpp reads 2^32 - 1 as "any seed". */
export const MOST_SEED = 2 ** 32 - 2;
/** Where a request is silent: the sampling that the model card of Qwen-AgentWorld-35B-A3B recommends. */
const MODEL_CARD = { temperature: 0.6, topP: 0.95, topK: 20, minP: 0 };
const MOST_STOPS = 16;
/** As in OpenAI's API. */
export const MOST_LOGPROBS = 20;
export const MOST_N = 128;

/** What the server brings to every request. */
export interface ServerDefaults {
  /** The names under which the model is served, its own first. */
  readonly models: readonly string[];
  readonly thinkingBudget: number;
  /** To sample under where the request names none. */
  readonly seed: number;
}

/** Parameters by name, each with the values under which it asks for what happens anyway. */
export type WithoutEffect = Readonly<Record<string, (value: unknown) => boolean>>;

/** Parameters that `readSampling` and `readStreaming` read, and the model's name. */
export const SAMPLING_PARAMETERS = [
  'model',
  'max_tokens',
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
  'stream',
  'stream_options',
];

/** Parameters of OpenAI, vLLM, SGLang and llama.cpp that any request for a reply may have. */
export const WITHOUT_EFFECT: WithoutEffect = {
  // Labels for the provider's own books.
  user: isString,
  metadata: isObject,
  safety_identifier: isString,
  prompt_cache_key: isString,
  prompt_cache_retention: isString,
  service_tier: isString,
  store: is(false),
  request_id: isString,
  priority: (value) => typeof value === 'number',
  // Marks and wishes that no prompt holds and no sampler reads.
  cache_control: isObject,
  verbosity: isString,
  // Defaults of other servers.
  best_of: is(1),
  logit_bias: (value) => isObject(value) && Object.keys(value).length === 0,
  cache_prompt: is(true),
  ignore_eos: is(false),
  skip_special_tokens: is(true),
  spaces_between_special_tokens: is(true),
  include_stop_str_in_output: is(false),
  min_tokens: is(0),
  length_penalty: is(1),
  typical_p: is(1),
  mirostat: is(0),
  use_beam_search: is(false),
};

export function is(...values: readonly unknown[]): (value: unknown) => boolean {
  return (value) => values.includes(value);
}

export function isString(value: unknown): value is string {
  return typeof value === 'string';
}

export function isEmptyList(value: unknown): boolean {
  return Array.isArray(value) && value.length === 0;
}

/**
 * The parameters that are given: `null` counts as absent, as in OpenAI's API. Throws an ApiError for one that is neither among `served`
 * nor asks for what happens anyway.
 */
export function readParameters(body: unknown, served: readonly string[], withoutEffect: WithoutEffect): JsonObject {
  if (!isObject(body)) throw invalid('the body must be a JSON object', null);
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  for (const [name, value] of Object.entries(given)) {
    if (served.includes(name)) continue;
    const isHarmless = Object.hasOwn(withoutEffect, name) ? withoutEffect[name] : undefined;
    if (isHarmless === undefined) {
      const near = nearest(name, [...served, ...Object.keys(withoutEffect)]);
      const hint = near === undefined ? '' : `; did you mean '${near}'?`;
      throw invalid(`parameter '${name}' is not supported${hint}`, name, 'unsupported_parameter');
    }
    if (!isHarmless(value)) {
      throw invalid(`'${name}' is not supported with the value ${shown(value)}`, name, 'unsupported_value');
    }
  }
  return given;
}

/** A value as an error may quote it. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** One model is served, so that its name may be left out; throws an ApiError (404) for another name. */
export function requireModel(model: unknown, served: readonly string[]): void {
  if (model === undefined) return;
  if (typeof model !== 'string') throw invalid(`'model' must be a string, not ${shown(model)}`, 'model');
  if (!served.includes(model)) throw unknownModel(model, served);
}

export type Sampling = Pick<
  GenerateOptions,
  | 'maxTokens'
  | 'temperature'
  | 'topP'
  | 'topK'
  | 'minP'
  | 'seed'
  | 'presencePenalty'
  | 'frequencyPenalty'
  | 'repetitionPenalty'
  | 'stop'
>;

/** How replies are sampled and where they end; `most` names the budget of tokens, under two names, and its smallest value. */
export function readSampling(
  given: JsonObject,
  server: ServerDefaults,
  most: { readonly names: readonly [string, string]; readonly least: number },
): Sampling {
  const number = (name: string, ...range: Range) => readNumber(given[name], name, ...range);
  return {
    maxTokens: readEither(given, ...most.names, (name) =>
      readInteger(given[name], name, most.least, Number.MAX_SAFE_INTEGER),
    ),
    temperature: number('temperature', 0, 2) ?? MODEL_CARD.temperature,
    topP: number('top_p', 0, 1, 'above') ?? MODEL_CARD.topP,
    topK: readTopK(given.top_k) ?? MODEL_CARD.topK,
    minP: number('min_p', 0, 1) ?? MODEL_CARD.minP,
    seed: readSeed(given.seed) ?? server.seed,
    presencePenalty: number('presence_penalty', -2, 2) ?? 0,
    frequencyPenalty: number('frequency_penalty', -2, 2) ?? 0,
    repetitionPenalty:
      readEither(given, 'repetition_penalty', 'repeat_penalty', (name) => number(name, 0, 2, 'above')) ?? 1,
    stop: readStop(given.stop),
  };
}

type Range = readonly [from: number, to: number, lower?: 'above'];

function readNumber(value: unknown, name: string, ...[from, to, lower]: Range): number | undefined {
  if (value === undefined) return undefined;
  const fits = typeof value === 'number' && (lower === 'above' ? value > from : value >= from) && value <= to;
  if (fits) return value;
  throw invalid(`'${name}' must be a number ${lower ?? 'from'} ${from} and at most ${to}, not ${shown(value)}`, name);
}

export function readInteger(value: unknown, name: string, from: number, to: number): number | undefined {
  if (value === undefined || (Number.isSafeInteger(value) && (value as number) >= from && (value as number) <= to)) {
    return value as number | undefined;
  }
  throw invalid(`'${name}' must be a whole number from ${from} to ${to}, not ${shown(value)}`, name);
}

/** -1 (vLLM, SGLang) and 0 (llama.cpp) leave every token in. */
function readTopK(value: unknown): number | undefined {
  return value === -1 ? 0 : readInteger(value, 'top_k', 0, 2 ** 31 - 1);
}

export function readBoolean(value: unknown, name: string): boolean | undefined {
  if (value === undefined || typeof value === 'boolean') return value;
  throw invalid(`'${name}' must be true or false, not ${shown(value)}`, name);
}

/** One parameter under two names. */
export function readEither<T>(
  given: JsonObject,
  name: string,
  other: string,
  read: (name: string) => T | undefined,
): T | undefined {
  const [first, second] = [read(name), read(other)];
  if (first !== undefined && second !== undefined && first !== second) {
    throw invalid(
      `'${name}' (${shown(given[name])}) and '${other}' (${shown(given[other])}) contradict each other`,
      other,
    );
  }
  return first ?? second;
}

/** -1 asks for any seed, as in vLLM and llama.cpp. */
function readSeed(value: unknown): number | undefined {
  return value === -1 ? undefined : readInteger(value, 'seed', 0, MOST_SEED);
}

function readStop(value: unknown): string[] {
  if (value === undefined) return [];
  const stops = Array.isArray(value) ? value : [value];
  if (stops.length <= MOST_STOPS && stops.every((stop) => isString(stop) && stop !== '')) return stops as string[];
  throw invalid(`'stop' must be a string, or up to ${MOST_STOPS}, none of them empty`, 'stop');
}

/** Whether the reply is streamed, and whether its counts are told at the end. */
export function readStreaming(given: JsonObject): { readonly stream: boolean; readonly includeUsage: boolean } {
  const stream = readBoolean(given.stream, 'stream') ?? false;
  return { stream, includeUsage: readStreamOptions(given.stream_options, stream) };
}

function readStreamOptions(value: unknown, stream: boolean): boolean {
  if (value === undefined) return false;
  if (!isObject(value)) throw invalid("'stream_options' must be an object", 'stream_options');
  if (!stream) throw invalid("'stream_options' is only allowed together with 'stream': true", 'stream_options');
  const { include_usage, ...others } = value;
  for (const [name, other] of Object.entries(others)) {
    // vLLM's counts in every chunk are an extra; OpenAI's padding against eavesdroppers is not, unless it is turned off.
    if (name === 'continuous_usage_stats' || (name === 'include_obfuscation' && other === false)) continue;
    throw invalid(`'stream_options.${name}' is not supported`, `stream_options.${name}`, 'unsupported_parameter');
  }
  return readBoolean(include_usage ?? undefined, 'stream_options.include_usage') ?? false;
}
