// The slope within chains, checked against statsmodels and complete matrices.

import { readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { describe, expect, it } from 'vitest';
import { type Point, slopeWithin } from '../../../src/stats/rollout.js';

interface Slopes {
  readonly name: string;
  readonly x: readonly number[];
  readonly y: readonly number[];
  readonly chains: readonly string[];
  readonly clusters: readonly string[];
  readonly slope: number;
  readonly se: number;
  readonly df: number;
  readonly low: number;
  readonly high: number;
}

const { slopes }: { slopes: Slopes[] } = JSON.parse(
  readFileSync(resolve(import.meta.dirname, '../../../fixtures/drift.json'), 'utf8'),
);

function pointsOf({ x, y, chains, clusters }: Slopes): Point[] {
  return x.map((place, at) => ({
    x: place,
    y: y[at] as number,
    chain: chains[at] as string,
    cluster: clusters[at] as string,
  }));
}

/** One trajectory's points: a level, then `slope` per step. */
function line(trajectory: number, places: readonly number[], level: number, slope: number): Point[] {
  const name = `t${trajectory}`;
  return places.map((x) => ({ x, y: level + slope * x, chain: name, cluster: name }));
}

describe('the slope within chains', () => {
  it.each(slopes)('has the value, error, degrees of freedom and interval of the references: $name', (found) => {
    const estimate = slopeWithin(pointsOf(found));
    expect(estimate?.value).toBeCloseTo(found.slope, 10);
    expect(estimate?.se).toBeCloseTo(found.se, 10);
    expect((estimate?.df ?? 0) / found.df).toBeCloseTo(1, 8);
    expect(estimate?.low).toBeCloseTo(found.low, 7);
    expect(estimate?.high).toBeCloseTo(found.high, 7);
  });

  it('is not affected by how hard a trajectory is, even if long ones are harder', () => {
    const points = Array.from({ length: 12 }, (_, t) => line(t, [1, 2 + t], -10 * t, -1.5)).flat();
    expect(slopeWithin(points)?.value).toBeCloseTo(-1.5, 12);
  });

  it('counts only chains with rows at two positions, and is absent if there is none', () => {
    const points = [...line(0, [1, 3], 0, 1), ...line(1, [5], 9, 0), ...line(2, [2, 2], 4, 0)];
    expect(slopeWithin(points)).toEqual({ value: 1, rows: 2, clusters: 1 });
    expect(slopeWithin(points.slice(2))).toBeUndefined();
    expect(slopeWithin([])).toBeUndefined();
  });

  it('has no interval with four trajectories, nor with few that all agree', () => {
    const of = (count: number) => Array.from({ length: count }, (_, t) => line(t, [1, 2, 5], t, -1)).flat();
    expect(slopeWithin(of(4))).not.toHaveProperty('se');
    expect(slopeWithin(of(5))).not.toHaveProperty('low');
    expect(slopeWithin(of(5))?.value).toBeCloseTo(-1, 12);
  });

  it('has the degrees of freedom of a mean of as many slopes if all trajectories have the same shape', () => {
    expect(slopeWithin(pointsOf(slopes[0] as Slopes))?.df).toBeCloseTo(4, 10);
  });
});
