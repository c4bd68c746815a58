// The sentence on how precise the choice of determined tokens is.

import { expect, it } from 'vitest';
import { determinedPrecision } from '../../../src/stats/calibration/limits.js';

it('names the domains in their order, and says which ones were not checked by hand', () => {
  expect(determinedPrecision(['search', 'os', 'games'])).toBe(
    'Determined tokens, precision by hand: 27 of 28 in Search, 99 of 100 in OS, none checked in games.',
  );
});
