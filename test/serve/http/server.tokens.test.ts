// Counting tokens.

import { expect, test } from 'vitest';
import { HELLO, post, REPLY, scripted, serve } from '../../support/scripted-server.js';

test('tokens of a text or of messages are counted', async () => {
  const server = await serve(scripted(REPLY));
  const counted = await post(server, { prompt: 'añ' }, {}, '/tokenize');
  expect(await counted.json()).toEqual({ count: 2, max_model_len: 2048, tokens: [97, 241] });
  const ofChat = (await (await post(server, { messages: HELLO }, {}, '/tokenize')).json()) as { count: number };
  expect(ofChat.count).toBeGreaterThan(10);
  for (const body of [{}, { prompt: 'a', messages: HELLO }, { prompt: 5 }, { text: 'a' }]) {
    expect((await post(server, body, {}, '/tokenize')).status).toBe(400);
  }
});
