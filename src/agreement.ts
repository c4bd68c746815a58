// What is said of how far raters agree: the words in which score says it and report shows it.

import type { Interval } from './comparison.js';

/** How far raters agree beyond what chance gives. */
export interface Agreement {
  /** 1 is perfect agreement, 0 is what chance gives; below 0 they disagree more than by chance. */
  readonly alpha: number;
  /** Units with at least two ratings: the others say nothing. */
  readonly units: number;
  readonly ratings: number;
  readonly clusters: number;
  /** The 95 % interval; absent below `LEAST_CLUSTERS`. */
  readonly interval?: Interval;
}
