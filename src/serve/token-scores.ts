// How likely the model held a token to be: from the probabilities of a whole vocabulary to one score.

import type { ScoredToken, TokenScore } from './engine-contract.js';
import { asToken, type LlamaCpp } from './runtime.js';

/** What a score shows of tokens beside their probabilities. */
export interface TokenTexts {
  bytesOf(token: number): readonly number[];
  /** Special tokens included. */
  textOf(token: number): string;
}

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

/** Probabilities come as 32-bit floats, in which nothing smaller than this is told from 0. */
const SMALLEST = 2 ** -149;

/**
 * The score of `token` under probabilities in descending order, as llama.cpp gives them. They are summed anew, in double precision: its
 * own sum loses what many unlikely tokens add.
 */
export function scoreToken(
  probabilities: ReadonlyMap<number, number>,
  token: number,
  top: number,
  texts: TokenTexts,
): TokenScore {
  let sum = 0;
  for (const probability of probabilities.values()) sum += probability;
  const scored = (id: number, probability: number): ScoredToken => ({
    token: id,
    text: texts.textOf(id),
    bytes: texts.bytesOf(id),
    logprob: Math.log(Math.max(probability, SMALLEST) / sum),
  });
  const likely: ScoredToken[] = [];
  for (const [id, probability] of probabilities) {
    if (likely.length >= top) break;
    likely.push(scored(id, probability));
  }
  return { ...scored(token, probabilities.get(token) ?? 0), top: likely };
}

/** Bytes by character in the spelling of GPT-2's vocabularies: printable ones stand for themselves, the others for what follows U+00FF. */
const BYTES: ReadonlyMap<string, number> = (() => {
  const isPrintable = (byte: number) => (byte > 32 && byte < 127) || (byte > 160 && byte < 173) || byte > 173;
  let next = 256;
  return new Map(
    Array.from({ length: 256 }, (_, byte) => [String.fromCharCode(isPrintable(byte) ? byte : next++), byte]),
  );
})();

/** The bytes of a token in that spelling; of a special one, which is spelled as it is, those of its text. */
function spelledBytes(token: string): readonly number[] {
  const bytes = Array.from(token, (character) => BYTES.get(character));
  return bytes.every((byte) => byte !== undefined) ? bytes : [...new TextEncoder().encode(token)];
}
