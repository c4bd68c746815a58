// The bodies of requests for text completions, and of those to count tokens and to turn them back into text.

import * as z from 'zod';
import { isInteger } from '../../core/json.js';
import type { EnginePrompt, GenerateOptions, PromptOptions } from '../engine-contract.js';
import { invalid } from '../http/api-error.js';
import { templateArguments } from './chat-request.js';
import { messages, tools } from './messages.js';
import {
  boolean,
  integer,
  logprobCount,
  MOST_N,
  model,
  must,
  OF_ANY_REPLY,
  only,
  readBody,
  type ServerDefaults,
  samplingOf,
  streamingOf,
} from './parameters.js';

type RawPrompt = Exclude<EnginePrompt, { readonly messages: unknown }>;

/** As in OpenAI's API. */
const USUAL_MAX_TOKENS = 16;

/** Whether it can be the number of a token. */
function isToken(value: unknown): value is number {
  return isInteger(value) && value >= 0;
}

/** A text, a list of texts, the tokens of one, or lists of tokens. */
const prompts = z.unknown().transform((value, context): readonly RawPrompt[] => {
  const list: readonly unknown[] = Array.isArray(value) ? value : [value];
  const each = list.every(isToken) ? [list] : list;
  const refuse = (message: string) => context.addIssue({ code: 'custom', message });
  if (each.length > MOST_N) refuse(`may hold at most ${MOST_N} prompts`);
  return each.flatMap((prompt) => {
    if (typeof prompt === 'string' && prompt !== '') return { text: prompt };
    if (Array.isArray(prompt) && prompt.length > 0 && prompt.every(isToken)) return { tokens: prompt };
    refuse('must be a text, the tokens of one, or a list of either, none of them empty');
    return [];
  });
});

const COMPLETION = z.strictObject({
  ...OF_ANY_REPLY,
  echo: boolean.default(false),
  logprobs: logprobCount,
  max_tokens: integer(0, Number.MAX_SAFE_INTEGER).default(USUAL_MAX_TOKENS),
  prompt: prompts,
  // Nothing precedes the first token.
  logprob_start_len: integer(0, Number.MAX_SAFE_INTEGER).default(1),
  suffix: only(''),
  add_special_tokens: only(true),
});

/** Throws an ApiError (400, or 404 for a model not served). */
export function readCompletionRequest(body: unknown, server: ServerDefaults) {
  const given = readBody(COMPLETION, body, server.models);
  const { echo, logprobs: top, max_tokens: maxTokens } = given;
  if (maxTokens === 0 && !echo) throw invalid("'max_tokens' 0 needs 'echo': true", 'max_tokens');
  const options: GenerateOptions = {
    ...samplingOf(given, server),
    maxTokens,
    responseFormat: { type: 'text' },
    thinkingBudget: Number.POSITIVE_INFINITY,
    templateArguments: {},
    scores: top === undefined ? undefined : { reply: true, top },
  };
  return {
    prompts: given.prompt,
    /** Choices for each prompt. */
    n: given.n,
    echo,
    /** The first position of a prompt that is scored, where it is echoed with logprobs. */
    scoreFrom: Math.max(1, given.logprob_start_len),
    ...streamingOf(given),
    /** Scores are those of the reply; `scoreFrom` counts for each prompt. */
    options,
  };
}

const TOKENIZE = z.strictObject({
  model,
  prompt: z.string(must('be a string')).optional(),
  messages: messages.optional(),
  tools,
  add_generation_prompt: boolean.default(true),
  chat_template_kwargs: templateArguments,
  return_token_strs: boolean.default(false),
  add_special_tokens: only(true),
  continue_final_message: only(false),
});

/** In vLLM's shape: either a `prompt` or `messages`. Throws likewise. */
export function readTokenizeRequest(body: unknown, models: readonly string[]) {
  const given = readBody(TOKENIZE, body, models);
  const { prompt: text, messages: asked } = given;
  if ((text === undefined) === (asked === undefined)) {
    throw invalid("either 'prompt' or 'messages' must be given", 'prompt');
  }
  const prompt: EnginePrompt = asked === undefined ? { text: text ?? '' } : { messages: asked, tools: given.tools };
  const options: PromptOptions = {
    addGenerationPrompt: given.add_generation_prompt,
    templateArguments: given.chat_template_kwargs,
  };
  return { prompt, options, withTexts: given.return_token_strs };
}

const DETOKENIZE = z.strictObject({
  model,
  tokens: z.array(z.custom<number>(isToken), must('be a list of whole numbers')),
});

/** Throws likewise. */
export function readDetokenizeRequest(body: unknown, models: readonly string[]): readonly number[] {
  return readBody(DETOKENIZE, body, models).tokens;
}
