// Counting tokens and turning them back into text.

import { readDetokenizeRequest, readTokenizeRequest } from '../request/token-requests.js';
import { answer } from './body.js';
import { bodyOf, type Handler, loadedEngine, serverDefaults } from './desk-state.js';

export const tokenize: Handler = async (desk, visit) => {
  const asked = readTokenizeRequest(await bodyOf(desk, visit), serverDefaults(desk).models);
  const { facts, detokenize: textOf, tokenize: tokensOf } = loadedEngine(desk);
  const tokens = await tokensOf(asked.prompt, asked.options);
  answer(visit.response, 200, {
    count: tokens.length,
    max_model_len: facts.contextSize,
    tokens,
    token_strs: asked.withTexts ? tokens.map((token) => textOf([token])) : null,
  });
};

export const detokenize: Handler = async (desk, visit) => {
  const tokens = readDetokenizeRequest(await bodyOf(desk, visit), serverDefaults(desk).models);
  answer(visit.response, 200, { prompt: loadedEngine(desk).detokenize(tokens) });
};
