// The lists of formats: which format a file extension selects.

import { expect, test } from 'vitest';
import { FORMATS } from '../../src/cli/leaderboard.js';
import { COMPARISON_FORMATS } from '../../src/report/comparison.js';

test.each([['leaderboards', FORMATS] as const, ['comparisons', COMPARISON_FORMATS] as const])(
  'no two formats of %s share an extension, and every format except the terminal has one',
  (_what, formats) => {
    const endings = Object.values(formats).map((format): readonly string[] => format.endings);
    expect(new Set(endings.flat()).size).toBe(endings.flat().length);
    expect(endings.flat().every((ending) => /^\.[a-z]+$/.test(ending))).toBe(true);
    expect(endings.filter((own) => own.length === 0)).toHaveLength(1);
  },
);
