// Reads how likely a model held the tokens of a prompt to be, as vLLM tells it. Nothing of it is trusted.

import { isObject } from '../../json.js';
import type { TokenScore } from '../../types.js';

/** Rounding may leave a probability a trifle above 1. */
const ROUNDING = 1e-3;

/**
 * The tokens that are scored, in their order: `null` stands for one that is not, and an object of one member, under the token's number,
 * for one that is. Undefined where it is anything else.
 */
export function promptScoresIn(told: unknown): readonly TokenScore[] | undefined {
  if (!Array.isArray(told)) return undefined;
  const scores: TokenScore[] = [];
  for (const position of told) {
    const score = position === null ? null : scoreIn(position);
    if (score === undefined) return undefined;
    // What is behind a gap alone goes together.
    if (score === null) scores.length = 0;
    else scores.push(score);
  }
  return scores;
}

function scoreIn(position: unknown): TokenScore | undefined {
  const [only, ...others] = isObject(position) ? Object.values(position) : [];
  if (!isObject(only) || others.length > 0) return undefined;
  const { logprob, decoded_token: text } = only;
  if (typeof logprob !== 'number' || !(logprob <= ROUNDING) || typeof (text ?? '') !== 'string') return undefined;
  return { text: typeof text === 'string' ? text : '', nats: Math.max(0, -logprob) };
}
