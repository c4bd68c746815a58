// Answers that are not taken: compressed ones, redirects, those torn off, and those of another request.

import { createServer } from 'node:http';
import { gzipSync } from 'node:zlib';
import { afterEach, describe, expect, it } from 'vitest';
import { ask, closeAll, closers, failure, listen, NEVER, open, pour, REQUEST, reply } from '../../support/endpoint.js';

afterEach(closeAll);

const HALF_AN_HOUR = { firstTokenTimeoutMs: 1_800_000, gapTimeoutMs: 1_800_000, callTimeoutMs: 1_800_000 };

it('an answer that was cut off after its status is classified by its status', async () => {
  const server = createServer((_request, response) => {
    response.writeHead(429, { 'content-length': 1_000, 'retry-after': '2' }).write('slow down');
    setTimeout(() => response.socket?.resetAndDestroy(), 30);
  });
  const attempt = await open(await listen(server)).endpoint.call(REQUEST, 0, NEVER);
  expect(failure(attempt)).toMatchObject({ class: 'rate-limit', retryAfterMs: 2_000 });
  closers.push(() => server.closeAllConnections());
});

describe('what was asked not to be compressed', () => {
  it('is not unpacked', async () => {
    const server = createServer((_request, response) => {
      response.setHeader('content-encoding', 'GZip').end(gzipSync(JSON.stringify({ choices: [] })));
    });
    const attempt = failure(await open(await listen(server)).endpoint.call(REQUEST, 0, NEVER));
    expect(attempt.class).toBe('malformed');
    expect(attempt.reason).toBe('the reply is compressed (content-encoding gzip), which was not requested');
  });

  it('may say that it is not', async () => {
    const body = { choices: [{ message: { content: 'x' } }] };
    const { attempt } = await ask([{ status: 200, body, headers: { 'content-encoding': 'identity' } }]);
    expect(reply(attempt).content).toBe('x');
  });
});

it('no answer is taken for the next request’s', async () => {
  let calls = 0;
  const server = createServer((_request, response) => {
    const answer = (content: string) => {
      const body = JSON.stringify({ choices: [{ message: { content } }] });
      return `HTTP/1.1 200 OK\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
    };
    response.socket?.write(++calls === 1 ? answer('first') + answer('planted') : answer('second'));
  });
  const { endpoint } = open(await listen(server));
  const contents = [];
  for (let call = 0; call < 2; call++) contents.push(reply(await endpoint.call(REQUEST, call, NEVER)).content);
  expect(contents).toEqual(['first', 'second']);
});

it('a redirect is not followed, and no other host gets the key', async () => {
  const elsewhere: string[] = [];
  const other = await listen(
    createServer((request, response) => {
      elsewhere.push(String(request.headers.authorization));
      response.end('{}');
    }),
  );
  for (const status of [301, 302, 303, 307, 308]) {
    const { attempt } = await ask([{ status, body: '', headers: { location: other } }]);
    expect(failure(attempt)).toMatchObject({ class: 'fatal', reason: `the server redirects (HTTP ${status})` });
  }
  expect(elsewhere).toEqual([]);
});

it.each<[string, string]>([
  ['a header without an end', `x: ${'a'.repeat(100_000)}`],
  ['headers without an end', 'x: a\r\n'.repeat(20_000)],
  ['interim answers without an end', ''],
])('%s end the call', async (_name, headers) => {
  const server = createServer((_request, response) => {
    const { socket } = response;
    if (headers !== '') socket?.write(`HTTP/1.1 200 OK\r\n${headers}`);
    else if (socket) pour(socket, 'HTTP/1.1 103 Early Hints\r\nlink: <x>\r\n\r\n'.repeat(100));
  });
  const clocks = { ...HALF_AN_HOUR, firstTokenTimeoutMs: 200 };
  const attempt = await open(await listen(server), { clocks }).endpoint.call(REQUEST, 0, NEVER);
  expect(['transient', 'timeout']).toContain(failure(attempt).class);
});
