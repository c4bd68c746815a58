// How replies to chat completion requests are written.

import type { GenerateEvent } from './engine-contract.js';
import type { ReplyFormat } from './replies.js';

type Channel = Extract<GenerateEvent, { type: 'text' }>['channel'];
const KEYS = { reasoning: 'reasoning_content', content: 'content' } as const satisfies Record<Channel, string>;

export const CHAT_REPLY: ReplyFormat = {
  idPrefix: 'chatcmpl-',
  object: 'chat.completion',
  chunkObject: 'chat.completion.chunk',
  choice(index, pieces, end) {
    const said = (channel: Channel) => pieces.map((piece) => (piece.channel === channel ? piece.text : '')).join('');
    const reasoning = said('reasoning');
    const message = {
      role: 'assistant',
      content: said('content'),
      ...(reasoning !== '' && { reasoning_content: reasoning }),
      refusal: null,
    };
    return { index, message, logprobs: null, finish_reason: end.finishReason };
  },
  writer(index) {
    const delta = (content: unknown, finishReason: string | null = null) => [
      { index, delta: content, logprobs: null, finish_reason: finishReason },
    ];
    return {
      open: () => delta({ role: 'assistant', content: '' }),
      take: (piece) => delta({ [KEYS[piece.channel]]: piece.text }),
      end: ({ finishReason }) => delta({}, finishReason),
    };
  },
};
