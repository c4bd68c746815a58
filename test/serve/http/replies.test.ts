// How often a streamed reply writes to its connection.

import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, onTestFinished, test } from 'vitest';
import { CHAT_REPLY, type ReplyEvent, replyInEvents } from '../../../src/serve/http/replies.js';

const HEAD = { id: 'chatcmpl-1', created: 1, model: 'tiny', system_fingerprint: 'fp' };
const USAGE = { promptTokens: 1, cachedTokens: 0, completionTokens: 3, reasoningTokens: 0 };
const STEPS = 5;
const CHOICES = 3;

function waiter(): { promise: Promise<void>; resolve: () => void } {
  let resolve: () => void = () => undefined;
  const promise = new Promise<void>((done) => {
    resolve = done;
  });
  return { promise, resolve: () => resolve() };
}

/** Choices that all say a word in each turn of the event loop, as slots that share evaluations do. */
function inStep(): AsyncGenerator<ReplyEvent>[] {
  const steps = Array.from({ length: STEPS }, () => waiter());
  const go = (step: number): void => {
    steps[step]?.resolve();
    if (step < STEPS) setImmediate(go, step + 1);
  };
  setImmediate(go, 0);
  return Array.from({ length: CHOICES }, async function* (): AsyncGenerator<ReplyEvent> {
    for (const { promise } of steps) {
      await promise;
      yield { type: 'text', channel: 'content', text: 'word ' };
    }
    yield { type: 'end', finishReason: 'stop', usage: USAGE };
  });
}

test('the words of a step leave in one write, whatever the choices, and each chunk is whole', async () => {
  let writes = 0;
  const server = createServer(async (_, response) => {
    const { socket } = response;
    if (socket === null) throw new Error('the connection is gone');
    for (const name of ['_write', '_writev'] as const) {
      const write = Object(Reflect.get(socket, name));
      Reflect.set(socket, name, (...given: unknown[]) => {
        writes++;
        return Reflect.apply(write, socket, given);
      });
    }
    const replying = { format: CHAT_REPLY, head: HEAD, choices: inStep() };
    const errorOf = (error: unknown): never => {
      throw error;
    };
    await replyInEvents(response, replying, { includeUsage: true, pingIntervalMs: 60_000, errorOf });
  }).listen(0, '127.0.0.1');
  onTestFinished(() => void server.close());
  await new Promise((resolve) => server.once('listening', resolve));
  const { port } = server.address() as AddressInfo;
  const text = await (await fetch(`http://127.0.0.1:${port}`)).text();
  const chunks = text
    .split('\n\n')
    .filter((line) => line.startsWith('data: {'))
    .map((line) => JSON.parse(line.slice(6)));
  expect(chunks).toHaveLength(CHOICES * (STEPS + 2) + 1);
  expect(chunks[0]).toEqual({
    ...HEAD,
    object: 'chat.completion.chunk',
    choices: [{ index: 0, delta: { role: 'assistant', content: '' }, logprobs: null, finish_reason: null }],
    usage: null,
  });
  expect(chunks.at(-1)).toMatchObject({ choices: [], usage: { completion_tokens: 9 } });
  // One for each step, and one more where the end does not come with the last of them.
  expect(writes).toBeLessThanOrEqual(STEPS + 1);
});
