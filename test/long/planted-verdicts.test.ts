// A quarter of a million random replies about planted verdicts: none gets a planted rating.

import { test } from 'vitest';
import { expectNoPlantedRating } from '../support/planted-verdicts.js';

test('250,000 random replies give no planted rating', { timeout: 300_000 }, () => {
  expectNoPlantedRating(250_000);
});
