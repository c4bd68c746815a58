// A schema that is too large.

import { expect, test } from 'vitest';
import { errorOf, HELLO, post, REPLY, scripted, serve } from '../../support/scripted-server.js';

const holding = (schema: unknown) => ({
  messages: HELLO,
  response_format: { type: 'json_schema', json_schema: { name: 'x', schema } },
});

test('one that is too large is refused before a grammar is made', async () => {
  const engine = scripted(REPLY);
  const server = await serve(engine);
  const large = { enum: Array.from({ length: 50_000 }, (_, index) => index) };
  const response = await post(server, holding(large));
  expect([response.status, (await errorOf(response)).code]).toEqual([400, 'schema_too_large']);
  expect(engine.calls).toEqual([]);
  expect((await post(server, holding({ enum: large.enum.slice(0, 1_900) }))).status).toBe(200);
});
