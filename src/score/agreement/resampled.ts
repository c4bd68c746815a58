// The interval of any figure over trajectories, by drawing whole trajectories again.

import type { Interval } from '../../comparison.js';
import { quantile } from '../../quantile.js';
import { randomOf } from '../../random.js';
import type { Resampling } from '../resampling.js';

/**
 * The 95 % percentile interval of a cluster bootstrap: as many clusters as there are, drawn with replacement. Draws that give no
 * figure are left out; undefined where none gives one.
 */
export function resampledInterval<T>(
  clusters: readonly T[],
  { draws, seed }: Resampling,
  figure: (drawn: readonly T[]) => number | undefined,
): Interval | undefined {
  const { uniform } = randomOf(seed);
  const found: number[] = [];
  for (let draw = 0; draw < draws; draw++) {
    // The place lies below the list's length, so there is one.
    const value = figure(clusters.map(() => clusters[Math.floor(uniform() * clusters.length)] as T));
    if (value !== undefined) found.push(value);
  }
  found.sort((a, b) => a - b);
  const [low, high] = [quantile(found, 0.025), quantile(found, 0.975)];
  return low === undefined || high === undefined ? undefined : { low, high };
}
