// Bodies of unknown length.

import { expect, test } from 'vitest';
import { bodyLimitBytes } from '../../../src/serve/http/wire.js';
import { FACTS, HELLO, post, REPLY, scripted, serve } from '../../support/scripted-server.js';

const LIMIT_BYTES = bodyLimitBytes(FACTS.contextSize);

test('a body of unknown length is cut off at the limit, and the connection serves on', async () => {
  const server = await serve(scripted(REPLY));
  const body = new ReadableStream({
    start(controller) {
      for (let i = 0; i < 30; i++) controller.enqueue(new Uint8Array(LIMIT_BYTES / 16));
      controller.close();
    },
  });
  const response = await post(server, '', { body, duplex: 'half' } as RequestInit);
  expect(response.status).toBe(413);
  expect((await post(server, { model: 'tiny', messages: HELLO })).status).toBe(200);
});
