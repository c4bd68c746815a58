// How a request wants its replies sampled, ended and streamed, and how long it lets the model think.

import { isObject, type JsonObject } from '../../json.js';
import type { GenerateOptions } from '../engine-contract.js';
import { invalid, unsupported } from '../http/api-error.js';
import { isString, MOST_SEED, readBoolean, readEither, readInteger, type ServerDefaults, shown } from './parameters.js';

/** Where a request is silent: the sampling that the model card of Qwen-AgentWorld-35B-A3B recommends. */
const MODEL_CARD = { temperature: 0.6, topP: 0.95, topK: 20, minP: 0 };
const MOST_STOPS = 16;

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

type Sampling = Pick<
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

/** -1 (vLLM, SGLang) and 0 (llama.cpp) leave every token in. */
function readTopK(value: unknown): number | undefined {
  return value === -1 ? 0 : readInteger(value, 'top_k', 0, 2 ** 31 - 1);
}

/** -1 asks for any seed, as in vLLM and llama.cpp. */
function readSeed(value: unknown): number | undefined {
  return value === -1 ? undefined : readInteger(value, 'seed', 0, MOST_SEED);
}

function readStop(value: unknown): string[] {
  if (value === undefined) return [];
  const stops: readonly unknown[] = Array.isArray(value) ? value : [value];
  if (stops.length <= MOST_STOPS && stops.every((stop) => isString(stop) && stop !== '')) return stops.filter(isString);
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
    throw unsupported(`stream_options.${name}`);
  }
  return readBoolean(include_usage ?? undefined, 'stream_options.include_usage') ?? false;
}

/** Variables of a chat template that are the server's to set. */
const TEMPLATE_VARIABLES = ['messages', 'tools', 'documents', 'add_generation_prompt', 'continue_final_message'];

/** Most tokens of thinking by effort; none at all is asked of the chat template. OpenAI gives no numbers: these are this server's. */
const EFFORTS: Readonly<Record<string, number>> = {
  none: 0,
  minimal: 256,
  low: 1_024,
  medium: 8_192,
  high: Number.POSITIVE_INFINITY,
  xhigh: Number.POSITIVE_INFINITY,
};

/** The smallest of the server's, the request's and the effort's budgets holds. */
export function readThinking(
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

/** Throws an ApiError for variables that are the server's to set. */
export function readTemplateArguments(value: unknown): JsonObject {
  if (value === undefined) return {};
  const at = 'chat_template_kwargs';
  if (!isObject(value)) throw invalid(`'${at}' must be an object`, at);
  const taken = Object.keys(value).find((name) => TEMPLATE_VARIABLES.includes(name));
  if (taken !== undefined) throw unsupported(`${at}.${taken}`);
  if (typeof (value.enable_thinking ?? true) !== 'boolean') {
    throw invalid(`'${at}.enable_thinking' must be true or false`, `${at}.enable_thinking`);
  }
  return value;
}
