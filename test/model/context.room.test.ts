import { expect, test } from 'vitest';
import { roomFor } from '../../src/model/context.js';

test('a prompt that continues a counted one takes that count, and the new characters by its own ratio', () => {
  const before = { chars: 3_000, promptTokens: 1_000 };
  expect(roomFor(8_192, 3_300, before)).toEqual({
    contextTokens: 8_192,
    promptTokens: 1_100,
    replyTokens: 7_023,
    state: 'open',
  });
  expect(roomFor(8_192, 3_300, before, 1).promptTokens).toBe(1_100);
});

test('an uncounted prompt is estimated by what others measured, else by four characters per token', () => {
  expect(roomFor(8_192, 4_000).promptTokens).toBe(1_000);
  expect(roomFor(8_192, 4_000, undefined, 2).promptTokens).toBe(2_000);
  expect(roomFor(8_192, 4_000, { chars: 0, promptTokens: 0 }).promptTokens).toBe(1_000);
});

test('four fifths are near the end, and less than 256 tokens for a reply are no room', () => {
  const state = (promptTokens: number) => roomFor(4_000, promptTokens * 4).state;
  expect([3_199, 3_200, 3_744, 3_745, 9_000].map(state)).toEqual(['open', 'near', 'near', 'full', 'full']);
  expect(roomFor(200, 4).state).toBe('full');
});

test('a world that was gone back to is shorter than the request that was counted', () => {
  expect(roomFor(4_000, 1_000, { chars: 2_000, promptTokens: 500 }).promptTokens).toBe(250);
});

test('a reply is promised less if the prompt was only estimated, and never less than the minimum', () => {
  expect(roomFor(10_000, 4_000).replyTokens).toBe(10_000 - 1_000 - 300 - 64);
  expect(roomFor(10_000, 4_000, { chars: 4_000, promptTokens: 1_000 }).replyTokens).toBe(10_000 - 1_000 - 64);
  expect(roomFor(4_000, 14_960).replyTokens).toBe(256);
});
