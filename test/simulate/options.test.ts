// Where an environment listens.

import { expect, test } from 'vitest';
import { ENVIRONMENT_OPTIONS, placeOf, servesAgents } from '../../src/simulate/options.js';

test.each([
  ['127.0.0.1:7860', { host: '127.0.0.1', port: 7860 }],
  ['localhost:0', { host: 'localhost', port: 0 }],
  ['[::1]:80', { host: '::1', port: 80 }],
])('%s is a place', (text, place) => {
  expect(placeOf(text)).toEqual(place);
  expect(ENVIRONMENT_OPTIONS.listen.check(text)).toBeUndefined();
});

test.each(['7860', ':7860', '127.0.0.1', '::1:80', '[localhost]:80', 'a:65536', 'http://a:1', 'a b:1', ''])(
  '"%s" is none, and the check says what is',
  (text) => {
    expect(placeOf(text)).toBeUndefined();
    expect(ENVIRONMENT_OPTIONS.listen.check(text)).toContain('127.0.0.1:7860');
  },
);

test('agents are served if a flag says how, and flags that only apply then are refused', () => {
  const none = { listen: undefined, mcp: false, record: undefined };
  expect(servesAgents(none)).toBe(false);
  expect(servesAgents({ ...none, mcp: true, record: 'episodes' })).toBe(true);
  expect(servesAgents({ ...none, listen: 'localhost:1' })).toBe(true);
  expect(() => servesAgents({ ...none, record: 'episodes' })).toThrow(/--record belongs to --listen or --mcp/);
});
