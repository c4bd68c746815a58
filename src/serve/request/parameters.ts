// Reading the body of a request strictly: each parameter is served, known to change nothing, or refused by name; and those of every reply.

import * as z from 'zod';
import { nearest } from '../../core/errors.js';
import { isInteger, isObject } from '../../core/json.js';
import type { GenerateOptions } from '../engine-contract.js';
import { type ApiError, invalid, unknownModel, unsupported } from '../http/api-error.js';

/** llama.cpp reads 2^32 - 1 as "any seed". */
export const MOST_SEED = 2 ** 32 - 2;
/** As in OpenAI's API. */
const MOST_LOGPROBS = 20;
export const MOST_N = 128;
const MOST_STOPS = 16;
/** Where a request is silent: the sampling that the model card of Qwen-AgentWorld-35B-A3B recommends. */
const MODEL_CARD = { temperature: 0.6, topP: 0.95, topK: 20, minP: 0 };
/** What messages, their parts and tools may carry that no chat template of these models renders. */
const MARKS = ['name', 'cache_control'];

/** What the server brings to every request. */
export interface ServerDefaults {
  /** The names under which the model is served, its own first. */
  readonly models: readonly string[];
  readonly thinkingBudget: number;
  /** Used where the request names none. */
  readonly seed: number;
}

/**
 * The body as the schema has it: `null` counts as absent, as in OpenAI's API. One model is served, so that its name may be left out.
 * Throws an ApiError (400, or 404 for a model not served).
 */
export function readBody<S extends z.ZodRawShape>(
  schema: z.ZodObject<S>,
  body: unknown,
  models: readonly string[],
): z.output<z.ZodObject<S>> {
  if (!isObject(body)) throw invalid('the body must be a JSON object', null);
  const given = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== null));
  const read = schema.safeParse(given);
  if (!read.success) throw refusalOf(read.error.issues, Object.keys(schema.shape));
  if (typeof given.model === 'string' && !models.includes(given.model)) throw unknownModel(given.model, models);
  return read.data;
}

function refusalOf(issues: readonly z.core.$ZodIssue[], known: readonly string[]): ApiError {
  const [first] = issues;
  if (first === undefined) throw new Error('a body is refused without a reason');
  const issue = issues.find(({ code, path }) => code === 'unrecognized_keys' && path.length === 0) ?? first;
  const place = placeOf(issue.path);
  if (issue.code !== 'unrecognized_keys') {
    const code = issue.code === 'custom' ? issue.params?.code : undefined;
    return invalid(`'${place}' ${issue.message}`, place, code);
  }
  const [name = ''] = issue.keys;
  if (place !== '') return unsupported(`${place}.${name}`);
  const near = nearest(name, known);
  const hint = near === undefined ? '' : `; did you mean '${near}'?`;
  return invalid(`parameter '${name}' is not supported${hint}`, name, 'unsupported_parameter');
}

/** `messages[0].content` */
function placeOf(path: readonly PropertyKey[]): string {
  return path
    .map((step, at) => (typeof step === 'number' ? `[${step}]` : `${at > 0 ? '.' : ''}${String(step)}`))
    .join('');
}

/** A value as an error may quote it. */
export function shown(value: unknown): string {
  const text = JSON.stringify(value ?? null);
  return text.length > 60 ? `${text.slice(0, 60)}…` : text;
}

/** For a schema's `error`: what the value must be. */
export function must(be: string): { error: string } {
  return { error: `must ${be}` };
}

/** A value that is what it is said to be, and quoted where it is not. */
function checked<T>(be: string, is: (value: unknown) => boolean): z.ZodType<T> {
  return z.custom<T>(is, { error: ({ input }) => `must ${be}, not ${shown(input)}` });
}

export function integer(from: number, to: number): z.ZodType<number> {
  const fits = (value: unknown) => isInteger(value) && value >= from && value <= to;
  return checked(`be a whole number from ${from} to ${to}`, fits);
}

export const boolean = checked<boolean>('be true or false', (value) => typeof value === 'boolean');
export const object = z.custom<Readonly<Record<string, unknown>>>(isObject, must('be an object'));
const list = (is: (value: unknown) => boolean) => (value: unknown) => Array.isArray(value) && value.every(is);

function number(from: number, to: number, lower: 'from' | 'above' = 'from'): z.ZodType<number> {
  const isHigh = (value: number) => (lower === 'above' ? value > from : value >= from);
  const fits = (value: unknown) => typeof value === 'number' && isHigh(value) && value <= to;
  return checked(`be a number ${lower} ${from} and at most ${to}`, fits);
}

/** A value that is known, but not served unless `is` says so. */
export function served<T>(is: (value: unknown) => boolean, hint = ''): z.ZodType<T> {
  return z.custom<T>(is, {
    error: ({ input }) => `is not supported with the value ${shown(input)}${hint}`,
    params: { code: 'unsupported_value' },
  });
}

/** The value under which a parameter asks for what happens anyway. */
export function only(value: unknown) {
  return served((given) => given === value).optional();
}

/** An object that may carry marks, and of what is not in the schema nothing and empty lists, as a reply's own message does. */
export function marked<S extends z.ZodRawShape>(schema: z.ZodObject<S>) {
  const isKept = ([name, value]: [string, unknown]) =>
    Object.hasOwn(schema.shape, name)
      ? value !== null
      : value !== null && !MARKS.includes(name) && !(Array.isArray(value) && value.length === 0);
  return z.preprocess(
    (value) => (isObject(value) ? Object.fromEntries(Object.entries(value).filter(isKept)) : value),
    schema,
  );
}

/** One parameter under two names. Throws an ApiError (400) where they hold different values. */
export function either<Name extends string>(
  given: { readonly [N in Name]?: number | undefined },
  name: Name,
  other: Name,
): number | undefined {
  const [first, second] = [given[name], given[other]];
  if (first !== undefined && second !== undefined && first !== second) {
    throw invalid(`'${name}' (${shown(first)}) and '${other}' (${shown(second)}) contradict each other`, other);
  }
  return first ?? second;
}

const isString = (value: unknown) => typeof value === 'string';
const isEmpty = (value: unknown) => isObject(value) && Object.keys(value).length === 0;
const label = served(isString).optional();
const logprobs = integer(0, MOST_LOGPROBS);
export const model = checked<string>('be a string', isString).optional();
export const logprobCount = logprobs.optional();

/** Parameters of OpenAI, vLLM, SGLang and llama.cpp that any request for a reply may have. */
export const OF_ANY_REPLY = {
  model,
  temperature: number(0, 2).default(MODEL_CARD.temperature),
  top_p: number(0, 1, 'above').default(MODEL_CARD.topP),
  // -1 (vLLM, SGLang) and 0 (llama.cpp) leave every token in.
  top_k: integer(-1, 2 ** 31 - 1).default(MODEL_CARD.topK),
  min_p: number(0, 1).default(MODEL_CARD.minP),
  // -1 asks for any seed, as in vLLM and llama.cpp.
  seed: integer(-1, MOST_SEED).default(-1),
  stop: z
    .preprocess(
      (value) => (typeof value === 'string' ? [value] : value),
      z.custom<string[]>(
        (value) => list((stop) => isString(stop) && stop !== '')(value) && Object(value).length <= MOST_STOPS,
        must(`be a string, or up to ${MOST_STOPS}, none of them empty`),
      ),
    )
    .default([]),
  presence_penalty: number(-2, 2).default(0),
  frequency_penalty: number(-2, 2).default(0),
  repetition_penalty: number(0, 2, 'above').optional(),
  repeat_penalty: number(0, 2, 'above').optional(),
  n: integer(1, MOST_N).default(1),
  stream: boolean.default(false),
  stream_options: z
    .strictObject(
      {
        include_usage: z.preprocess((value) => value ?? false, boolean).default(false),
        // vLLM's counts in every chunk are an extra; OpenAI's padding against eavesdroppers is not, unless it is turned off.
        continuous_usage_stats: z.unknown().optional(),
        include_obfuscation: only(false),
      },
      must('be an object'),
    )
    .optional(),
  // Labels for the provider's own books.
  user: label,
  metadata: served(isObject).optional(),
  safety_identifier: label,
  prompt_cache_key: label,
  prompt_cache_retention: label,
  service_tier: label,
  store: only(false),
  request_id: label,
  priority: served((value) => typeof value === 'number').optional(),
  // Marks and wishes that no prompt holds and no sampler reads.
  cache_control: served(isObject).optional(),
  verbosity: label,
  // Defaults of other servers.
  best_of: only(1),
  logit_bias: served(isEmpty).optional(),
  cache_prompt: only(true),
  ignore_eos: only(false),
  skip_special_tokens: only(true),
  spaces_between_special_tokens: only(true),
  include_stop_str_in_output: only(false),
  min_tokens: only(0),
  length_penalty: only(1),
  typical_p: only(1),
  mirostat: only(0),
  use_beam_search: only(false),
} as const;

type OfAnyReply = z.output<z.ZodObject<typeof OF_ANY_REPLY>>;

/** How replies are sampled. */
export function samplingOf(given: OfAnyReply, server: ServerDefaults) {
  return {
    temperature: given.temperature,
    topP: given.top_p,
    topK: Math.max(0, given.top_k),
    minP: given.min_p,
    seed: given.seed === -1 ? server.seed : given.seed,
    presencePenalty: given.presence_penalty,
    frequencyPenalty: given.frequency_penalty,
    repetitionPenalty: either(given, 'repetition_penalty', 'repeat_penalty') ?? 1,
    stop: given.stop,
  } satisfies Partial<GenerateOptions>;
}

/** Whether the reply is streamed, and whether its counts are told at the end. */
export function streamingOf({ stream, stream_options: options }: OfAnyReply) {
  if (options !== undefined && !stream)
    throw invalid("'stream_options' is only allowed together with 'stream': true", 'stream_options');
  return { stream, includeUsage: options?.include_usage ?? false };
}
