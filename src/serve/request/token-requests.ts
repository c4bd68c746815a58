// The bodies of requests to count tokens and to turn them back into text, in vLLM's shape.

import type { EnginePrompt, PromptOptions } from '../engine-contract.js';
import { invalid } from '../http/api-error.js';
import { isToken } from './completion-request.js';
import { readMessages } from './messages.js';
import { is, isString, readBoolean, readParameters, requireModel } from './parameters.js';
import { readTemplateArguments } from './thinking-request.js';
import { readTools } from './tool-requests.js';

interface TokenizeRequest {
  readonly prompt: EnginePrompt;
  readonly options: PromptOptions;
  readonly withTexts: boolean;
}

const SERVED = [
  'model',
  'prompt',
  'messages',
  'tools',
  'add_generation_prompt',
  'chat_template_kwargs',
  'return_token_strs',
];
const WITHOUT_EFFECT = { add_special_tokens: is(true), continue_final_message: is(false) };

/** Either a `prompt` or `messages`. Throws an ApiError (400, or 404 for a model not served). */
export function readTokenizeRequest(body: unknown, models: readonly string[]): TokenizeRequest {
  const given = readParameters(body, SERVED, WITHOUT_EFFECT);
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
