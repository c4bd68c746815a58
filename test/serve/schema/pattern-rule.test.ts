// Patterns that no grammar of llama.cpp can hold; engine.constrained.test.ts has a model follow those that one can.

import { expect, test } from 'vitest';
import { patternRule } from '../../../src/serve/schema/pattern-rule.js';

test.each([
  ['a(?=b)', 'ahead'],
  ['(?<!a)b', 'behind'],
  ['(a)\\1', '\\1'],
  ['\\bword', '\\b'],
  ['\\p{L}', '\\p'],
  ['a^b', 'anchor'],
  ['(a$)b', 'anchor'],
  ['a{1000}', 'repeats'],
  ['((a{99}){99}){99}', 'repeats'],
  ['((a?){60}){60}', 'may be empty'],
  ['(|a)*', 'may be empty'],
  ['[', 'no regular expression'],
  ['[\\0]', 'no character'],
  ['a'.repeat(1001), 'longer'],
])('the pattern %s is refused', (pattern, reason) => {
  expect(() => patternRule(pattern)).toThrow(reason);
});
