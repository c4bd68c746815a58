// How replies to chat completion requests are written.

import type { ScoredToken, TokenScore } from '../engine-contract.js';
import type { Piece, ReplyFormat } from './replies.js';
import type { ToolCall } from './tool-calls.js';

type Text = Extract<Piece, { type: 'text' }>;
type Channel = Text['channel'];
const KEYS = { reasoning: 'reasoning_content', content: 'content' } as const satisfies Record<Channel, string>;

export const CHAT_REPLY: ReplyFormat = {
  idPrefix: 'chatcmpl-',
  object: 'chat.completion',
  chunkObject: 'chat.completion.chunk',
  choice(index, pieces, end) {
    const texts = pieces.filter((piece): piece is Text => piece.type === 'text');
    const calls = pieces.filter((piece): piece is ToolCall => piece.type === 'tool-call');
    const said = (channel: Channel) => texts.map((text) => (text.channel === channel ? text.text : '')).join('');
    const [reasoning, content] = [said('reasoning'), said('content')];
    const message = {
      role: 'assistant',
      content: content === '' && calls.length > 0 ? null : content,
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      refusal: null,
      ...(calls.length > 0 && { tool_calls: calls.map(({ id, name, arguments: given }) => callOf(id, name, given)) }),
    };
    return { index, message, logprobs: logprobsOf(texts), finish_reason: end.finishReason };
  },
  writer(index) {
    const delta = (content: unknown, texts: readonly Text[] = [], finishReason: string | null = null) => [
      { index, delta: content, logprobs: logprobsOf(texts), finish_reason: finishReason },
    ];
    return {
      open: () => delta({ role: 'assistant', content: '' }),
      take(piece) {
        if (piece.type === 'text') return delta({ [KEYS[piece.channel]]: piece.text }, [piece]);
        if (piece.type === 'prompt') return [];
        const { id, name, arguments: given } = piece;
        return delta({ tool_calls: [{ index: piece.index, ...callOf(id, name, given) }] });
      },
      end: ({ finishReason }) => delta({}, [], finishReason),
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

function callOf(id: string, name: string, given: string) {
  return { id, type: 'function', function: { name, arguments: given } };
}

/** Thinking has a key of its own beside OpenAI's. */
function logprobsOf(texts: readonly Text[]): unknown {
  if (texts.every(({ scores }) => scores === undefined)) return null;
  const of = (channel: Channel) =>
    texts.flatMap((text) => (text.channel === channel ? (text.scores ?? []) : [])).map(tokenOf);
  const reasoning = of('reasoning');
  return { content: of('content'), refusal: null, ...(reasoning.length > 0 && { reasoning_content: reasoning }) };
}

function tokenOf({ top, ...score }: TokenScore): unknown {
  return { ...entryOf(score), top_logprobs: top.map(entryOf) };
}

function entryOf({ text, logprob, bytes }: ScoredToken) {
  return { token: text, logprob, bytes };
}
