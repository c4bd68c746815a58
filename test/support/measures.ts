// Measures of every kind, made up for tests of what is made of them.

import { measuresOf } from '../../src/measures.js';

const { POSITIVE_INFINITY } = Number;

/** One that has no end and is better when smaller, one that is best at 50, and one of which neither way is better. */
export const measureOf = measuresOf({
  bits_a_byte: { range: [0, POSITIVE_INFINITY], better: 'smaller' },
  taken_for_real: { range: [0, 100], better: { target: 50 } },
  length: { range: [0, POSITIVE_INFINITY], better: 'neither' },
});
