// The types of simulated-runs.mjs, for tests.

import type { Observation } from '../src/score/clusters.js';
import type { CompareOptions, RunRows } from '../src/score/compare.js';

export declare const PUBLISHED: Readonly<Record<string, readonly [number, number]>>;
export declare const SAMPLE_MEAN: number;
export declare function simulateRuns(settings: {
  readonly random: () => number;
  readonly sizes?: Readonly<Record<string, readonly [number, number]>>;
  readonly drops?: Readonly<Record<string, number>>;
  readonly repeats?: number;
  readonly bounded?: boolean;
}): { readonly base: RunRows; readonly candidate: RunRows };
export declare const simulatedPoints: NonNullable<CompareOptions['pointsOf']>;
export declare function simulateSample(random: () => number, clusters: number, uneven?: boolean): Observation[];
