// Types of simulated-runs.mjs for tests.

import type { Observation } from '../src/stats/clusters.js';
import type { CompareOptions, RunRows } from '../src/stats/compare.js';

export declare const PUBLISHED: Readonly<Record<string, readonly [number, number]>>;
interface Simulated {
  readonly random: () => number;
  readonly sizes?: Readonly<Record<string, readonly [number, number]>>;
  readonly repeats?: number | { readonly base: number; readonly candidate: number };
  readonly drops?: Readonly<Record<string, number>>;
  readonly carriedBy?: number;
  readonly sameWeights?: boolean;
  readonly bounded?: boolean;
}
export declare function simulateRuns(settings: Simulated): { readonly base: RunRows; readonly candidate: RunRows };
export declare const simulatedPoints: NonNullable<CompareOptions['pointsOf']>;
export declare const SIZES: Readonly<Record<string, (random: () => number, clusters: number) => number[]>>;
export declare function simulateDifferences(random: () => number, sizes: readonly number[]): Observation[];
export declare function simulateScores(random: () => number, sizes: readonly number[], centre: number): Observation[];
