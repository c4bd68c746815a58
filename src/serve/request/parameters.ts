// Reading the body of a request strictly: each parameter is served, known to change nothing, or refused by name; and those of every reply.

import * as z from 'zod';
import { nearest } from '../../core/errors.js';
import { isObject } from '../../core/json.js';
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
  // `messages[0].content`
  const steps = issue.path.map((step) => (typeof step === 'number' ? `[${step}]` : `.${String(step)}`));
  const place = steps.join('').slice(1);
  if (issue.code === 'custom') return invalid(`'${place}' ${issue.message}`, place, issue.params?.code);
  if (issue.code !== 'unrecognized_keys') return invalid(`'${place}': ${issue.message}`, place);
  const [name = ''] = issue.keys;
  if (place !== '') return unsupported(`${place}.${name}`);
  const near = nearest(name, known);
  const hint = near === undefined ? '' : `; did you mean '${near}'?`;
  return invalid(`parameter '${name}' is not supported${hint}`, name, 'unsupported_parameter');
}

/** A value that is known, but not served unless `is` says so. */
export function served<T>(is: (value: unknown) => boolean, hint = ''): z.ZodType<T> {
  return z.custom<T>(is, {
    error: ({ input }) => `is not supported with the value ${(JSON.stringify(input) ?? 'null').slice(0, 60)}${hint}`,
    params: { code: 'unsupported_value' },
  });
}

/** The value under which a parameter asks for what happens anyway. */
export function only(value: unknown) {
  return served((given) => given === value).optional();
}

/** Of an object whose known keys these are, what is told of it: no marks, and of what is not known no nulls and empty lists, as a reply's own message has them. */
export function unmarked(...known: string[]) {
  const isKept = ([name, value]: [string, unknown]) => {
    const isEmpty = MARKS.includes(name) || (Array.isArray(value) && value.length === 0);
    return value !== null && (known.includes(name) || !isEmpty);
  };
  return (value: unknown) => (isObject(value) ? Object.fromEntries(Object.entries(value).filter(isKept)) : value);
}

/** One parameter under two names. Throws an ApiError (400) where they hold different values. */
export function either<Name extends string>(
  given: { readonly [N in Name]?: number | undefined },
  name: Name,
  other: Name,
): number | undefined {
  const [first, second] = [given[name], given[other]];
  if (first !== undefined && second !== undefined && first !== second) {
    throw invalid(`'${name}' (${first}) and '${other}' (${second}) contradict each other`, other);
  }
  return first ?? second;
}

export const object = z.record(z.string(), z.unknown());
export const logprobCount = z.int().min(0).max(MOST_LOGPROBS).optional();
const label = z.string().optional();
const penalty = z.number().min(-2).max(2).default(0);
const repetition = z.number().gt(0).max(2).optional();
const stop = z.string().min(1);

/** Parameters of OpenAI, vLLM, SGLang and llama.cpp that any request for a reply may have. */
export const OF_ANY_REPLY = {
  model: label,
  temperature: z.number().min(0).max(2).default(MODEL_CARD.temperature),
  top_p: z.number().gt(0).max(1).default(MODEL_CARD.topP),
  // -1 (vLLM, SGLang) and 0 (llama.cpp) leave every token in.
  top_k: z.int32().min(-1).default(MODEL_CARD.topK),
  min_p: z.number().min(0).max(1).default(MODEL_CARD.minP),
  // -1 asks for any seed, as in vLLM and llama.cpp.
  seed: z.int().min(-1).max(MOST_SEED).default(-1),
  stop: z.union([stop.transform((text) => [text]), z.array(stop).max(MOST_STOPS)]).default([]),
  presence_penalty: penalty,
  frequency_penalty: penalty,
  repetition_penalty: repetition,
  repeat_penalty: repetition,
  n: z.int().min(1).max(MOST_N).default(1),
  stream: z.boolean().default(false),
  stream_options: z
    .strictObject({
      include_usage: z.boolean().nullable().default(false),
      // vLLM's counts in every chunk are an extra; OpenAI's padding against eavesdroppers is not, unless it is turned off.
      continuous_usage_stats: z.unknown().optional(),
      include_obfuscation: only(false),
    })
    .optional(),
  // Labels for the provider's own books.
  user: label,
  metadata: object.optional(),
  safety_identifier: label,
  prompt_cache_key: label,
  prompt_cache_retention: label,
  service_tier: label,
  store: only(false),
  request_id: label,
  priority: z.number().optional(),
  // Marks and wishes that no prompt holds and no sampler reads.
  cache_control: object.optional(),
  verbosity: label,
  // Defaults of other servers.
  best_of: only(1),
  logit_bias: served((value) => isObject(value) && Object.keys(value).length === 0).optional(),
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

/** What is read of them: how replies are sampled and streamed. Throws an ApiError (400). */
export function readAnyReply(given: z.output<z.ZodObject<typeof OF_ANY_REPLY>>, server: ServerDefaults) {
  const { stream, stream_options: streaming } = given;
  if (streaming !== undefined && !stream)
    throw invalid("'stream_options' is only allowed together with 'stream': true", 'stream_options');
  const sampling = {
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
  return { sampling, n: given.n, stream, includeUsage: streaming?.include_usage ?? false };
}
