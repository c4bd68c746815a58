// The progress line of a loading model, on a terminal and in a pipe.

import { expect, test } from 'vitest';
import { showLoading } from '../../src/serve/loading.js';

function shown(isTTY: boolean, steps: readonly (readonly [ms: number, name: string, text: string])[], quiet = false) {
  let [written, at] = ['', 0];
  const stderr = {
    isTTY,
    columns: 30,
    write(text: string) {
      written += text;
    },
  };
  const loading = showLoading(stderr, quiet, () => at);
  for (const [ms, name, text] of steps) {
    at = ms;
    loading.step(name, text);
  }
  loading.say('said');
  loading.finish();
  return written;
}

const STEPS = [
  [1_000, 'loading', 'loading: 1 %'],
  [1_010, 'loading', 'loading: 2 %'],
  [4_000, 'hashing', 'hashing: 9 %'],
  [6_000, 'loading', 'loading: 50 %'],
  [7_000, 'loading', 'loading: 60 %'],
  [12_000, 'hashing', 'hashing: 99 %'],
] as const;

test('not on a terminal, it is a line every five seconds', () => {
  expect(shown(false, STEPS)).toBe('loading: 50 %, hashing: 9 %\nloading: 60 %, hashing: 99 %\nsaid\n');
});

test('on a terminal it is one line in place, cut to its width, and gone before anything else is said', () => {
  const lines = shown(true, STEPS).split('\r\u001b[2K');
  expect(lines).toEqual([
    '',
    'loading: 1 %',
    'loading: 2 %, hashing: 9 %',
    'loading: 50 %, hashing: 9 %',
    'loading: 60 %, hashing: 9 %',
    'loading: 60 %, hashing: 99 %',
    'said\n',
  ]);
  expect(shown(true, [[200, 'loading', 'a'.repeat(40)]])).toContain(`${'a'.repeat(28)}…\r`);
});

test('quiet says nothing', () => {
  expect(shown(false, STEPS, true)).toBe('');
});
