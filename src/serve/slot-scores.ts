// Scoring in a slot: tokens that are given, one after the other, each told with its probability.

import type { Request } from './engine-request.js';
import { asToken, type LlamaCpp } from './runtime.js';
import { tellEnd } from './slot-reply.js';
import { scoreToken, spelledBytes, type TokenTexts } from './token-scores.js';

/** The model's own distribution: every token, as likely as it is. */
export const UNCHANGED = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 0 };

export function tokenTexts(model: LlamaCpp.LlamaModel): TokenTexts {
  const textOf = (token: number): string => model.detokenize([asToken(token)], true);
  const { model: kind, tokens } = model.fileInfo.metadata.tokenizer?.ggml ?? {};
  // Other vocabularies do not spell out the bytes of a token that is no whole text.
  const spelling = kind === 'gpt2' ? tokens : undefined;
  return {
    textOf,
    bytesOf: (token) => spelledBytes(spelling?.[token] ?? textOf(token)),
  };
}

/** Tells the score of `scoring.tokens[next]`, and the end behind the last; true where more are to be scored. */
export function tellScore(
  request: Request,
  next: number,
  probabilities: ReadonlyMap<number, number>,
  texts: TokenTexts,
): boolean {
  const { scoring, events } = request;
  const wanted = scoring?.tokens[next];
  if (scoring === undefined || wanted === undefined) throw new Error('there is no token to score');
  events.push({ type: 'prompt', scores: [scoreToken(probabilities, wanted, scoring.top, texts)] });
  if (next + 1 < scoring.tokens.length) return true;
  tellEnd(request, 'length');
  return false;
}
