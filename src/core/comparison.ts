// How two runs differ: the terms in which score compares them and report shows it.

import { DIMENSIONS } from './types.js';

/** What has points in a row: the five dimensions and their mean. */
export const FIGURES = [...DIMENSIONS, 'total'] as const;
export type Figure = (typeof FIGURES)[number];

/** An interval, in the unit of its estimate. */
export interface Interval {
  readonly low: number;
  readonly high: number;
}
