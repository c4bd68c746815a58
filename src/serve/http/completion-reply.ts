// How replies to text completion requests are written: OpenAI's older format, with the prompt in front where it is echoed.

import type { TokenScore } from '../engine-contract.js';
import type { Piece, ReplyFormat } from './replies.js';

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

interface Written {
  readonly index: number;
  readonly text: string;
  readonly logprobs: Logprobs | null;
  readonly finish_reason: string | null;
}

/** `echoes` by choice; `scored` says whether logprobs are told. */
export function completionReply(echoes: readonly Echo[], scored: boolean): ReplyFormat {
  const writer = (index: number) => {
    const echo = echoes[index];
    const offsets = textOffsets();
    let isEchoed = echo?.text === undefined;
    const write = (text: string, logprobs: Logprobs | null, finishReason: string | null = null): Written => ({
      index,
      text,
      logprobs,
      finish_reason: finishReason,
    });
    /** The prompt comes first, its scores with it where there are any. */
    const echoed = (scores: readonly TokenScore[] = []): Written[] => {
      if (isEchoed || echo?.text === undefined) return [];
      isEchoed = true;
      return [write(echo.text, scored ? logprobsOf(echo.unscored, scores, offsets) : null)];
    };
    return {
      open: (): Written[] => (scored ? [] : echoed()),
      take(piece: Piece): Written[] {
        if (piece.type === 'prompt') return echoed(piece.scores);
        if (piece.type !== 'text') return [];
        const { scores } = piece;
        return [...echoed(), write(piece.text, scores === undefined ? null : logprobsOf([], scores, offsets))];
      },
      end: ({ finishReason }: { readonly finishReason: string }): Written[] => [
        ...echoed(),
        write('', null, finishReason),
      ],
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

function logprobsOf(unscored: readonly string[], scores: readonly TokenScore[], offsets: TextOffsets): Logprobs {
  const encoder = new TextEncoder();
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
    text_offset: [...unscored.map((text) => encoder.encode(text)), ...scores.map(({ bytes }) => bytes)].map((bytes) =>
      offsets.next(bytes),
    ),
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

interface TextOffsets {
  /** Where a token with these bytes begins; call once for each, in order. */
  next(bytes: ArrayLike<number>): number;
}

/** Characters that tokens share count where they are complete. */
function textOffsets(): TextOffsets {
  const decoder = new TextDecoder();
  let offset = 0;
  return {
    next(bytes) {
      const start = offset;
      offset += Array.from(decoder.decode(Uint8Array.from(bytes), { stream: true })).length;
      return start;
    },
  };
}
