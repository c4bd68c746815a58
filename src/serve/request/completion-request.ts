// The bodies of requests for text completions, and of those to count tokens and to turn them back into text.

import { isInteger } from '../../json.js';
import type { EnginePrompt, GenerateOptions, PromptOptions } from '../engine-contract.js';
import { invalid } from '../http/api-error.js';
import { readMessages, readTools } from './messages.js';
import {
  is,
  isString,
  MOST_LOGPROBS,
  MOST_N,
  readBoolean,
  readInteger,
  readParameters,
  requireModel,
  type ServerDefaults,
  WITHOUT_EFFECT,
} from './parameters.js';
import { readSampling, readStreaming, readTemplateArguments, SAMPLING_PARAMETERS } from './sampling-request.js';

export type RawPrompt = Exclude<EnginePrompt, { readonly messages: unknown }>;

export interface CompletionRequest {
  readonly prompts: readonly RawPrompt[];
  /** Choices for each prompt. */
  readonly n: number;
  readonly echo: boolean;
  /** The first position of a prompt that is scored, where it is echoed with logprobs. */
  readonly scoreFrom: number;
  readonly stream: boolean;
  readonly includeUsage: boolean;
  /** Scores are those of the reply; `scoreFrom` counts for each prompt. */
  readonly options: GenerateOptions;
}

const SERVED = [...SAMPLING_PARAMETERS, 'prompt', 'n', 'echo', 'logprobs', 'logprob_start_len'];
const COMPLETION_WITHOUT_EFFECT = { ...WITHOUT_EFFECT, suffix: is(''), add_special_tokens: is(true) };
/** As in OpenAI's API. */
const USUAL_MAX_TOKENS = 16;

/** Throws an ApiError (400, or 404 for a model not served). */
export function readCompletionRequest(body: unknown, server: ServerDefaults): CompletionRequest {
  const given = readParameters(body, SERVED, COMPLETION_WITHOUT_EFFECT);
  requireModel(given.model, server.models);
  const echo = readBoolean(given.echo, 'echo') ?? false;
  const top = readInteger(given.logprobs, 'logprobs', 0, MOST_LOGPROBS);
  const sampling = readSampling(given, server, { names: ['max_tokens', 'max_tokens'], least: echo ? 0 : 1 });
  return {
    prompts: readPrompts(given.prompt),
    n: readInteger(given.n, 'n', 1, MOST_N) ?? 1,
    echo,
    // Nothing precedes the first token.
    scoreFrom: Math.max(1, readInteger(given.logprob_start_len, 'logprob_start_len', 0, Number.MAX_SAFE_INTEGER) ?? 1),
    ...readStreaming(given),
    options: {
      ...sampling,
      maxTokens: sampling.maxTokens ?? USUAL_MAX_TOKENS,
      responseFormat: { type: 'text' },
      thinkingBudget: Number.POSITIVE_INFINITY,
      templateArguments: {},
      ...(top !== undefined && { scores: { reply: true, top } }),
    },
  };
}

/** A text, a list of texts, the tokens of one, or lists of tokens. */
function readPrompts(value: unknown): readonly RawPrompt[] {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const prompts = list.every(isToken) ? [list] : list;
  if (prompts.length > MOST_N) throw invalid(`'prompt' may hold at most ${MOST_N} prompts`, 'prompt');
  return prompts.map((prompt) => {
    if (isString(prompt) && prompt !== '') return { text: prompt };
    if (Array.isArray(prompt) && prompt.length > 0 && prompt.every(isToken)) return { tokens: prompt };
    throw invalid("'prompt' must be a text, the tokens of one, or a list of either, none of them empty", 'prompt');
  });
}

/** Whether it can be the number of a token. */
function isToken(value: unknown): value is number {
  return isInteger(value) && value >= 0;
}

interface TokenizeRequest {
  readonly prompt: EnginePrompt;
  readonly options: PromptOptions;
  readonly withTexts: boolean;
}

const TOKENIZE_SERVED = [
  'model',
  'prompt',
  'messages',
  'tools',
  'add_generation_prompt',
  'chat_template_kwargs',
  'return_token_strs',
];
const TOKENIZE_WITHOUT_EFFECT = { add_special_tokens: is(true), continue_final_message: is(false) };

/** Either a `prompt` or `messages`. Throws an ApiError (400, or 404 for a model not served). */
export function readTokenizeRequest(body: unknown, models: readonly string[]): TokenizeRequest {
  const given = readParameters(body, TOKENIZE_SERVED, TOKENIZE_WITHOUT_EFFECT);
  requireModel(given.model, models);
  const { prompt, messages } = given;
  if ((prompt === undefined) === (messages === undefined)) {
    throw invalid("either 'prompt' or 'messages' must be given", 'prompt');
  }
  if (prompt !== undefined && !isString(prompt)) throw invalid("'prompt' must be a string", 'prompt');
  return {
    prompt: isString(prompt) ? { text: prompt } : { messages: readMessages(messages), tools: readTools(given.tools) },
    options: {
      addGenerationPrompt: readBoolean(given.add_generation_prompt, 'add_generation_prompt') ?? true,
      templateArguments: readTemplateArguments(given.chat_template_kwargs),
    },
    withTexts: readBoolean(given.return_token_strs, 'return_token_strs') ?? false,
  };
}

/** Throws likewise. */
export function readDetokenizeRequest(body: unknown, models: readonly string[]): readonly number[] {
  const { model, tokens } = readParameters(body, ['model', 'tokens'], {});
  requireModel(model, models);
  if (Array.isArray(tokens) && tokens.every(isToken)) return tokens;
  throw invalid("'tokens' must be a list of whole numbers", 'tokens');
}
