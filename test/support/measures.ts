// Made-up measures of every kind, for tests of how they are used.

import { measuresOf } from '../../src/core/measures.js';

const { POSITIVE_INFINITY } = Number;

/**
 * A measure without an upper end that is better when smaller, one that is best at 50, one without a better direction, and a text measure
 * that leads.
 */
export const measureOf = measuresOf({
  bits_a_byte: { range: [0, POSITIVE_INFINITY], better: 'smaller' },
  taken_for_real: { range: [0, 100], better: { target: 50 } },
  chrf: {
    range: [0, 100],
    better: 'larger',
    words: { one: 'text measure', many: 'text measures', of: 'of prediction against ground truth' },
    leads: true,
  },
  length: { range: [0, POSITIVE_INFINITY], better: 'neither' },
});
