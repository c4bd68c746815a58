// Reading the parameters of a request strictly: each is served, known to change nothing, or refused by name.

import { nearest } from '../../errors.js';
import { isInteger, isObject, type JsonObject } from '../../json.js';
import { invalid, unknownModel } from '../http/api-error.js';

/** llama.cpp reads 2^32 - 1 as "any seed". */
export const MOST_SEED = 2 ** 32 - 2;
/** As in OpenAI's API. */
export const MOST_LOGPROBS = 20;
export const MOST_N = 128;

/** What the server brings to every request. */
export interface ServerDefaults {
  /** The names under which the model is served, its own first. */
  readonly models: readonly string[];
  readonly thinkingBudget: number;
  /** Used where the request names none. */
  readonly seed: number;
}

/** Parameters by name, each with the values under which it asks for what happens anyway. */
type WithoutEffect = Readonly<Record<string, (value: unknown) => boolean>>;

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

export function readInteger(value: unknown, name: string, from: number, to: number): number | undefined {
  if (value === undefined || (isInteger(value) && value >= from && value <= to)) return value;
  throw invalid(`'${name}' must be a whole number from ${from} to ${to}, not ${shown(value)}`, name);
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
