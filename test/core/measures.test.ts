// What is known of measures by their names.

import { expect, it } from 'vitest';
import { DEFAULT_MEASURE, goodness, type Measure, measuresOf } from '../../src/core/measures.js';

const bits: Measure = { range: [0, Number.POSITIVE_INFINITY], better: 'smaller' };

it('A declared measure is found, and every other name is 0 to 100 and better when larger', () => {
  const lookup = measuresOf({ bits });
  expect(lookup('bits')).toBe(bits);
  expect(lookup('chrf')).toBe(DEFAULT_MEASURE);
  expect(lookup('toString')).toBe(DEFAULT_MEASURE);
  expect(measuresOf()('bits')).toEqual({ range: [0, 100], better: 'larger' });
});

it('A value is as good as its measure says, and no better where neither way is', () => {
  const best = (better: Measure['better']) => [30, 48, 60].map((value) => goodness({ range: [0, 100], better }, value));
  expect(best('larger')).toEqual([30, 48, 60]);
  expect(best('smaller')).toEqual([-30, -48, -60]);
  expect(best({ target: 50 })).toEqual([-20, -2, -10]);
  expect(best('neither')).toEqual([undefined, undefined, undefined]);
});
