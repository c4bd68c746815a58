// Streams of server-sent events, torn anywhere.

import { afterEach, describe, expect, it } from 'vitest';
import { EventStream } from '../../../src/model/endpoint/reading.js';
import { ask, closeAll, reply } from '../../support/endpoint.js';

afterEach(closeAll);

const choice = (delta: unknown, finish_reason: unknown = null) => ({ choices: [{ index: 0, delta, finish_reason }] });

it('a line that comes byte by byte is looked through once', () => {
  // Looking through all of it at each byte would take hours.
  const length = 4 * 2 ** 20;
  const seen: number[] = [];
  const stream = new EventStream((data) => seen.push(data.length));
  stream.feed('data: ');
  for (let count = 0; count < length; count++) stream.feed('x');
  expect(stream.held).toBe(length + 6);
  stream.feed('\n\n');
  expect(seen).toEqual([length]);
  expect(stream.held).toBe(0);
});

describe('a stream of events is read', () => {
  const lines = [
    '\ufeff: a comment',
    'event: chunk',
    'data:',
    '',
    `data: ${JSON.stringify(choice({ content: 'é\u2028😀' }))}`,
    '',
    'data',
    '',
    // An event of several lines.
    'data: {"choices": [{"index": 0,',
    'data:"delta": {"content": "!"}, "finish_reason": "stop"}]}',
    '',
    'data: [DONE]',
    '',
    '',
  ];

  it.each([
    ['line feeds', '\n'],
    ['carriage returns', '\r'],
    ['both', '\r\n'],
  ])('that ends its lines in %s', async (_name, end) => {
    const { attempt } = await ask([{ status: 200, body: lines.join(end) }]);
    expect(reply(attempt).content).toBe('é\u2028😀!');
  });

  it.each(['\n', '\r', '\r\n'])('in pieces of any size, with %j', (end) => {
    const text = `data: a${end}data:${end}data:  b${end}${end}${end}:x${end}data:c${end}${end}`;
    for (let size = 1; size <= text.length; size++) {
      const seen: string[] = [];
      const stream = new EventStream((data) => seen.push(data));
      for (let at = 0; at < text.length; at += size) stream.feed(text.slice(at, at + size));
      expect(seen).toEqual(['a\n\n b', 'c']);
    }
  });
});
