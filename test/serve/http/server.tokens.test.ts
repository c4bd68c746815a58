// Counting tokens and turning them back.

import { expect, test } from 'vitest';
import { HELLO, post, REPLY, scripted, serve } from '../../support/scripted-server.js';

test('of a text or of messages are counted and turned back', async () => {
  const server = await serve(scripted(REPLY));
  const counted = await post(server, { prompt: 'añ', return_token_strs: true }, {}, '/tokenize');
  expect(await counted.json()).toEqual({ count: 2, max_model_len: 2048, tokens: [97, 241], token_strs: ['a', 'ñ'] });
  const ofChat = (await (await post(server, { messages: HELLO }, {}, '/tokenize')).json()) as { count: number };
  expect(ofChat.count).toBeGreaterThan(10);
  const text = await post(server, { tokens: [97, 241] }, {}, '/detokenize');
  expect(await text.json()).toEqual({ prompt: 'añ' });
  for (const body of [{}, { prompt: 'a', messages: HELLO }, { prompt: 5 }, { text: 'a' }]) {
    expect((await post(server, body, {}, '/tokenize')).status).toBe(400);
  }
  for (const tokens of [undefined, 'a', [-1], [1.5], ['a']]) {
    expect((await post(server, { tokens }, {}, '/detokenize')).status).toBe(400);
  }
});
