// The interval of a simulated drift covers it about as often as claimed.

import { describe, expect, test } from 'vitest';
import { type Random, randomOf } from '../../../src/core/random.js';
import { type Point, slopeWithin } from '../../../src/stats/rollout.js';

/** The simulated drift, in points per step. */
const DRIFT = -1.5;

/** How the trajectories of a set are generated: their length, and what is specific to each. */
interface Design {
  /** The last step of a trajectory. */
  readonly length: (random: Random, trajectory: number) => number;
  /** Standard deviations: of a row, of a trajectory's own slope, and of an error carried from step to step. */
  readonly row: number;
  readonly slope: number;
  readonly carried: number;
}

function normal({ uniform }: Random): number {
  return Math.sqrt(-2 * Math.log(1 - uniform())) * Math.cos(2 * Math.PI * uniform());
}

const EVEN = () => 12;
const UNEVEN = ({ uniform }: Random) => 3 + Math.floor(30 * uniform() ** 3);

/** Two to five rows of each trajectory, which has its own level. */
function sample(random: Random, trajectories: number, design: Design): Point[] {
  return Array.from({ length: trajectories }, (_, trajectory) => {
    const length = design.length(random, trajectory);
    const share = (2 + Math.floor(4 * random.uniform())) / length;
    const level = 10 * normal(random);
    const slope = DRIFT + design.slope * normal(random);
    let carried = 0;
    return Array.from({ length }, (_step, at) => {
      carried += design.carried * normal(random);
      const y = level + slope * (at + 1) + carried + design.row * normal(random);
      return { x: at + 1, y, chain: `t${trajectory}`, cluster: `t${trajectory}` };
    }).filter(() => random.uniform() < share);
  }).flat();
}

function held(sets: number, trajectories: number, design: Design): number {
  const random = randomOf(trajectories);
  let count = 0;
  for (let set = 0; set < sets; set++) {
    const { low = Number.NaN, high = Number.NaN } = slopeWithin(sample(random, trajectories, design)) ?? {};
    count += low <= DRIFT && DRIFT <= high ? 1 : 0;
  }
  return count / sets;
}

describe('the interval of a drift', () => {
  test.each<[string, number, Design]>([
    ['independent row errors, trajectories of equal length', 12, { length: EVEN, row: 20, slope: 0, carried: 0 }],
    ['errors that carry over', 20, { length: EVEN, row: 15, slope: 0, carried: 4 }],
    ['slopes that differ', 20, { length: EVEN, row: 15, slope: 1.5, carried: 0 }],
    ['unequal lengths', 12, { length: UNEVEN, row: 20, slope: 0, carried: 0 }],
    ['unequal lengths and slopes that differ', 50, { length: UNEVEN, row: 15, slope: 1.5, carried: 3 }],
  ])('covers it 93 to 98 times in 100: %s', (_what, trajectories, design) => {
    const share = held(1500, trajectories, design);
    expect(share).toBeGreaterThan(0.93);
    expect(share).toBeLessThan(0.985);
  });
});
