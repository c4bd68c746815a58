// How replies to text completion requests are written: OpenAI's older format, with the prompt in front where it is echoed.

import type { TokenScore } from '../engine-contract.js';
import type { Piece, ReplyFormat } from './replies.js';
import type { ReplyEnd } from './tool-calls.js';

/** What is known of a prompt before its reply. */
export interface Echo {
  /** Undefined where it is not echoed. */
  readonly text: string | undefined;
  /** Texts of its tokens that are not scored; the others follow them. */
  readonly unscored: readonly string[];
}

interface Logprobs {
  readonly tokens: string[];
  readonly token_logprobs: (number | null)[];
  readonly top_logprobs: (Readonly<Record<string, number>> | null)[];
  /** In characters (code points), from the start of the choice's text. */
  readonly text_offset: number[];
}

/** `echoes` by choice; `scored` says whether logprobs are told. */
export function completionReply(echoes: readonly Echo[], scored: boolean): ReplyFormat {
  const writer = (index: number) => {
    const echo = echoes[index];
    const offsetOf = textOffsets();
    let isEchoed = echo?.text === undefined;
    const write = (text: string, logprobs: Logprobs | null, finishReason: string | null = null) => ({
      index,
      text,
      logprobs,
      finish_reason: finishReason,
    });
    /** The prompt comes first, its scores with it where there are any. */
    const echoed = (scores: readonly TokenScore[] = []) => {
      if (isEchoed || echo?.text === undefined) return [];
      isEchoed = true;
      return [write(echo.text, scored ? logprobsOf(echo.unscored, scores, offsetOf) : null)];
    };
    return {
      open: () => (scored ? [] : echoed()),
      take(piece: Piece) {
        if (piece.type === 'prompt') return echoed(piece.scores);
        if (piece.type !== 'text') return [];
        const { scores } = piece;
        return [...echoed(), write(piece.text, scores === undefined ? null : logprobsOf([], scores, offsetOf))];
      },
      end: ({ finishReason }: ReplyEnd) => [...echoed(), write('', null, finishReason)],
    };
  };
  return {
    idPrefix: 'cmpl-',
    object: 'text_completion',
    chunkObject: 'text_completion',
    choice(index, pieces, end) {
      const { open, take, end: last } = writer(index);
      const parts = [...open(), ...pieces.flatMap(take), ...last(end)];
      return {
        index,
        text: parts.map(({ text }) => text).join(''),
        logprobs: scored ? joined(parts.flatMap(({ logprobs }) => logprobs ?? [])) : null,
        finish_reason: end.finishReason,
      };
    },
    writer,
  };
}

function logprobsOf(unscored: readonly string[], scores: readonly TokenScore[], offsetOf: OffsetOf): Logprobs {
  const encoder = new TextEncoder();
  const bytes = [...unscored.map((text) => encoder.encode(text)), ...scores.map((score) => score.bytes)];
  return {
    tokens: [...unscored, ...scores.map(({ text }) => text)],
    token_logprobs: [...unscored.map(() => null), ...scores.map(({ logprob }) => logprob)],
    top_logprobs: [
      ...unscored.map(() => null),
      ...scores.map(({ text, logprob, top }) => ({
        ...Object.fromEntries(top.map((likely) => [likely.text, likely.logprob])),
        [text]: logprob,
      })),
    ],
    text_offset: bytes.map(offsetOf),
  };
}

function joined(parts: readonly Logprobs[]): Logprobs {
  return {
    tokens: parts.flatMap(({ tokens }) => tokens),
    token_logprobs: parts.flatMap(({ token_logprobs }) => token_logprobs),
    top_logprobs: parts.flatMap(({ top_logprobs }) => top_logprobs),
    text_offset: parts.flatMap(({ text_offset }) => text_offset),
  };
}

/** Where a token with these bytes begins; call once for each, in order. */
type OffsetOf = (bytes: ArrayLike<number>) => number;

/** Characters that tokens share count where they are complete. */
function textOffsets(): OffsetOf {
  const decoder = new TextDecoder();
  let offset = 0;
  return (bytes) => {
    const start = offset;
    offset += Array.from(decoder.decode(Uint8Array.from(bytes), { stream: true })).length;
    return start;
  };
}
