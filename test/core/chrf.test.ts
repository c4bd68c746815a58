// chrF against sacreBLEU's figures, which leave white space out before.

import { readFileSync } from 'node:fs';
import { expect, test } from 'vitest';
import { measure } from '../../src/judge/metrics.js';

interface Pair {
  readonly prediction: string;
  readonly truth: string;
  readonly chrf: number;
}
const { pairs } = JSON.parse(readFileSync(new URL('../../fixtures/metrics.json', import.meta.url), 'utf8')) as {
  pairs: Pair[];
};

test.each(pairs)('chrF of $prediction against $truth is that of sacreBLEU', ({ prediction, truth, chrf }) => {
  expect(measure(prediction, truth).chrf).toBeCloseTo(chrf, 10);
});
