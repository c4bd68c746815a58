// What is known of measures by their names.

import { expect, it } from 'vitest';
import { DEFAULT_MEASURE, type Measure, measuresOf } from '../src/measures.js';

const bits: Measure = { range: [0, Number.POSITIVE_INFINITY], better: 'smaller' };

it('A declared measure is found, and every other name is 0 to 100 and better when larger', () => {
  const lookup = measuresOf({ bits });
  expect(lookup('bits')).toBe(bits);
  expect(lookup('chrf')).toBe(DEFAULT_MEASURE);
  expect(lookup('toString')).toBe(DEFAULT_MEASURE);
  expect(measuresOf()('bits')).toEqual({ range: [0, 100], better: 'larger' });
});
