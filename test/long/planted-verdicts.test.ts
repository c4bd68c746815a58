// A quarter of a million replies put together at random over planted verdicts: none has a planted rating.

import { test } from 'vitest';
import { expectNoPlantedRating } from '../support/planted-verdicts.js';

test('250,000 random replies give no planted rating', { timeout: 300_000 }, () => {
  expectNoPlantedRating(250_000);
});
