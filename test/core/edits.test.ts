// The known name that is fewest edits away from a wrong one.

import { expect, test } from 'vitest';
import { nearest } from '../../src/core/edits.js';

test.each([
  ['infr', 'infer'],
  ['max-token', 'max-tokens'],
  ['first-token-timout-s', 'first-token-timeout'],
  ['score', undefined],
])('the name nearest to %j is %j', (name, near) => {
  expect(nearest(name, ['judge', 'infer', 'max-tokens', 'first-token-timeout'])).toBe(near);
});

test('of names equally near the first is named', () => {
  expect(nearest('ax', ['ab', 'ac'])).toBe('ab');
});
