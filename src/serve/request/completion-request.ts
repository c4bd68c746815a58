// The bodies of requests for text completions, and of those to count tokens and to turn them back into text.

import * as z from 'zod';
import { isInteger } from '../../core/json.js';
import type { EnginePrompt, GenerateOptions } from '../engine-contract.js';
import { invalid } from '../http/api-error.js';
import { messages, templateArguments, tools } from './chat-request.js';
import { logprobCount, MOST_N, OF_ANY_REPLY, only, readAnyReply, readBody, type ServerDefaults } from './parameters.js';

/** As in OpenAI's API. */
const USUAL_MAX_TOKENS = 16;

const isToken = (value: unknown) => isInteger(value) && value >= 0;
const tokens = z.custom<number[]>((value) => Array.isArray(value) && value.every(isToken), 'must be a list of tokens');
const prompt = z.union([
  z
    .string()
    .min(1)
    .transform((text) => ({ text })),
  tokens.refine(({ length }) => length > 0).transform((list) => ({ tokens: list })),
]);
/** A text, the tokens of one, or a list of either. */
const prompts = z.union([prompt.transform((one) => [one]), z.array(prompt).min(1).max(MOST_N)], {
  error: `must be a text, the tokens of one, or a list of either, none of them empty, at most ${MOST_N}`,
});

const COMPLETION = z.strictObject({
  ...OF_ANY_REPLY,
  echo: z.boolean().default(false),
  logprobs: logprobCount,
  max_tokens: z.int().min(0).default(USUAL_MAX_TOKENS),
  prompt: prompts,
  // Nothing precedes the first token.
  logprob_start_len: z.int().min(0).default(1),
  suffix: only(''),
  add_special_tokens: only(true),
});

/** Throws an ApiError (400, or 404 for a model not served). */
export function readCompletionRequest(body: unknown, server: ServerDefaults) {
  const given = readBody(COMPLETION, body, server.models);
  const { echo, logprobs: top, max_tokens: maxTokens } = given;
  if (maxTokens === 0 && !echo) throw invalid("'max_tokens' 0 needs 'echo': true", 'max_tokens');
  const { sampling, ...reply } = readAnyReply(given, server);
  const options: GenerateOptions = {
    ...sampling,
    maxTokens,
    responseFormat: { type: 'text' },
    thinkingBudget: Number.POSITIVE_INFINITY,
    templateArguments: {},
    scores: top === undefined ? undefined : { reply: true, top },
  };
  return {
    ...reply,
    prompts: given.prompt,
    echo,
    /** The first position of a prompt that is scored, where it is echoed with logprobs. */
    scoreFrom: Math.max(1, given.logprob_start_len),
    /** Scores are those of the reply; `scoreFrom` counts for each prompt. */
    options,
  };
}

const TOKENIZE = z.strictObject({
  model: OF_ANY_REPLY.model,
  prompt: z.string().optional(),
  messages: messages.optional(),
  tools,
  add_generation_prompt: z.boolean().default(true),
  chat_template_kwargs: templateArguments,
  return_token_strs: z.boolean().default(false),
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
  const { add_generation_prompt: addGenerationPrompt, chat_template_kwargs: templateArguments } = given;
  return { prompt, options: { addGenerationPrompt, templateArguments }, withTexts: given.return_token_strs };
}

const DETOKENIZE = z.strictObject({ model: OF_ANY_REPLY.model, tokens });

/** Throws likewise. */
export function readDetokenizeRequest(body: unknown, models: readonly string[]): readonly number[] {
  return readBody(DETOKENIZE, body, models).tokens;
}
