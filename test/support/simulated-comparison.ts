// Comparisons of simulated runs, for tests of how often intervals and verdicts are right.

import { simulatedPoints, simulateRuns } from '../../bench/simulated-runs.mjs';
import type { Comparison } from '../../src/stats/compare.js';
import { compareRuns } from '../../src/stats/compare.js';

/** Two simulated runs, compared without resampling. */
export function compared(
  settings: Omit<Parameters<typeof simulateRuns>[0], 'random'>,
  random: () => number,
): Comparison {
  const { base, candidate } = simulateRuns({ ...settings, random });
  const comparison = compareRuns(base, candidate, { draws: 0, pointsOf: simulatedPoints });
  if (comparison.status !== 'ok') throw new Error(comparison.reason);
  return comparison;
}
