// How replies are written: to chat completions, and to text completions, with the prompt in front where it is echoed.

import type { ScoredToken, TokenScore } from '../engine-contract.js';
import type { ReplyEnd, ReplyEvent, ToolCall } from './tool-calls.js';

export type Piece = Exclude<ReplyEvent, ReplyEnd>;

/** How one kind of reply is written. */
export interface ReplyFormat {
  readonly idPrefix: string;
  readonly object: string;
  readonly chunkObject: string;
  /** A choice of a whole reply. */
  choice(index: number, pieces: readonly Piece[], end: ReplyEnd): unknown;
  /** What a whole reply of one choice holds beside it. */
  beside?(pieces: readonly Piece[]): Readonly<Record<string, unknown>>;
  /** A choice of a streamed reply, as entries of `choices`: for each event, and at the end. */
  writer(index: number): {
    take(piece: Piece): readonly unknown[];
    end(end: ReplyEnd): readonly unknown[];
  };
}

type Text = Extract<Piece, { type: 'text' }>;
const KEYS = { reasoning: 'reasoning_content', content: 'content' } as const satisfies Record<Text['channel'], string>;

export const CHAT_REPLY: ReplyFormat = {
  idPrefix: 'chatcmpl-',
  object: 'chat.completion',
  chunkObject: 'chat.completion.chunk',
  choice(index, pieces, end) {
    const texts = pieces.filter((piece) => piece.type === 'text');
    const calls = pieces.filter((piece) => piece.type === 'tool-call');
    const said = (wanted: Text['channel']) =>
      texts.map(({ channel, text }) => (channel === wanted ? text : '')).join('');
    const [reasoning, content] = [said('reasoning'), said('content')];
    const message = {
      role: 'assistant',
      content: content === '' && calls.length > 0 ? null : content,
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      refusal: null,
      ...(calls.length > 0 && { tool_calls: calls.map(callOf) }),
    };
    return { index, message, logprobs: chatLogprobs(texts), finish_reason: end.finishReason };
  },
  writer(index) {
    const delta = (content: unknown, texts: readonly Text[] = [], finishReason: string | null = null) => ({
      index,
      delta: content,
      logprobs: chatLogprobs(texts),
      finish_reason: finishReason,
    });
    /** What comes before all else, once. */
    let opening = [delta({ role: 'assistant', content: '' })];
    const write = (...written: (typeof opening)[number][]) => {
      const all = [...opening, ...written];
      opening = [];
      return all;
    };
    return {
      take(piece) {
        if (piece.type === 'prompt') return write();
        if (piece.type === 'text') return write(delta({ [KEYS[piece.channel]]: piece.text }, [piece]));
        return write(delta({ tool_calls: [{ index: piece.index, ...callOf(piece) }] }));
      },
      end: ({ finishReason }) => write(delta({}, [], finishReason)),
    };
  },
};

/** A reply to messages of which the last one is scored, with `prompt_logprobs` as vLLM has them: null up to where scores begin. */
export function scoredChatReply(promptFrom: number): ReplyFormat {
  return {
    ...CHAT_REPLY,
    beside: (pieces) => {
      const scores = pieces.flatMap((piece) => (piece.type === 'prompt' ? piece.scores : []));
      return { prompt_logprobs: [...Array<null>(promptFrom).fill(null), ...scores.map(byToken)] };
    },
  };
}

/** The token itself, and the likeliest there; vLLM has a rank, which llama.cpp does not tell. */
function byToken({ top, ...own }: TokenScore): unknown {
  return Object.fromEntries(
    [own, ...top].map(({ token, text, logprob }) => [token, { logprob, rank: null, decoded_token: text }]),
  );
}

function callOf({ id, name, arguments: given }: ToolCall) {
  return { id, type: 'function', function: { name, arguments: given } };
}

/** Thinking has a key of its own beside OpenAI's. */
function chatLogprobs(texts: readonly Text[]): unknown {
  if (texts.every(({ scores }) => scores === undefined)) return null;
  const entryOf = ({ text, logprob, bytes }: ScoredToken) => ({ token: text, logprob, bytes });
  const of = (wanted: Text['channel']) =>
    texts
      .flatMap(({ channel, scores = [] }) => (channel === wanted ? scores : []))
      .map(({ top, ...score }) => ({ ...entryOf(score), top_logprobs: top.map(entryOf) }));
  const reasoning = of('reasoning');
  return { content: of('content'), refusal: null, ...(reasoning.length > 0 && { reasoning_content: reasoning }) };
}

/** What is known of a prompt before its reply. */
export interface Echo {
  /** Absent where it is not echoed. */
  readonly text?: string;
  /** Texts of its tokens that are not scored; the others follow them. */
  readonly unscored: readonly string[];
}

/** OpenAI's older format. `echoes` by choice; `scored` says whether logprobs are told. */
export function completionReply(echoes: readonly Echo[], scored: boolean): ReplyFormat {
  const writer = (index: number) => {
    const { text: echo, unscored } = echoes[index] ?? { unscored: [] };
    const offsetOf = textOffsets();
    let isEchoed = echo === undefined;
    const write = (text: string, logprobs: Logprobs | null, finishReason: string | null = null) => ({
      index,
      text,
      logprobs,
      finish_reason: finishReason,
    });
    /** The prompt comes first, its scores with it where there are any. */
    const echoed = (scores: readonly TokenScore[] = []) => {
      if (isEchoed || echo === undefined) return [];
      isEchoed = true;
      return [write(echo, scored ? textLogprobs(unscored, scores, offsetOf) : null)];
    };
    return {
      take(piece: Piece) {
        if (piece.type === 'prompt') return echoed(piece.scores);
        if (piece.type !== 'text') return [];
        const { scores } = piece;
        return [...echoed(), write(piece.text, scores === undefined ? null : textLogprobs([], scores, offsetOf))];
      },
      end: ({ finishReason }: ReplyEnd) => [...echoed(), write('', null, finishReason)],
    };
  };
  return {
    idPrefix: 'cmpl-',
    object: 'text_completion',
    chunkObject: 'text_completion',
    choice(index, pieces, end) {
      const { take, end: last } = writer(index);
      const parts = [...pieces.flatMap(take), ...last(end)];
      const logprobs = parts.flatMap((part) => part.logprobs ?? []);
      const joined = <Key extends keyof Logprobs>(key: Key) => logprobs.flatMap((each): unknown[] => each[key]);
      return {
        index,
        text: parts.map(({ text }) => text).join(''),
        logprobs: scored
          ? {
              tokens: joined('tokens'),
              token_logprobs: joined('token_logprobs'),
              top_logprobs: joined('top_logprobs'),
              text_offset: joined('text_offset'),
            }
          : null,
        finish_reason: end.finishReason,
      };
    },
    writer,
  };
}

type Logprobs = ReturnType<typeof textLogprobs>;

function textLogprobs(unscored: readonly string[], scores: readonly TokenScore[], offsetOf: OffsetOf) {
  const encoder = new TextEncoder();
  const bytes = [...unscored.map((text) => encoder.encode(text)), ...scores.map((score) => score.bytes)];
  const none = unscored.map(() => null);
  const top = scores.map(({ text, logprob, top }) => ({
    ...Object.fromEntries(top.map((likely) => [likely.text, likely.logprob])),
    [text]: logprob,
  }));
  return {
    tokens: [...unscored, ...scores.map(({ text }) => text)],
    token_logprobs: [...none, ...scores.map(({ logprob }) => logprob)],
    top_logprobs: [...none, ...top],
    /** In characters (code points), from the start of the choice's text. */
    text_offset: bytes.map(offsetOf),
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
