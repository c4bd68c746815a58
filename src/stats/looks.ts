// Planned looks: a gate that is asked again after more repeats, at levels that keep its chance of error at alpha over all of them.

import { groupBy } from '../core/groups.js';
import { counted } from '../core/printable.js';
import type { JudgedRow } from '../core/types.js';
import { predictionsOf } from './aggregate.js';
import { normalDensity, normalQuantile, normalTail } from './distributions.js';

/** The numbers of repeats at which to look, rising, such as 1 and 3. */
export type Schedule = readonly number[];

/** A later look. */
export interface Next {
  readonly schedule: Schedule;
  readonly repeats: number;
  readonly alpha: number;
}

/** Boole's rule divides the region of a look into at least this many intervals, and into more if the next look is near. */
const LEAST_STEPS = 256;
/** Intervals per standard deviation of the increment between two looks. */
const STEPS_A_SPREAD = 16;
/** Paths below this many standard errors are not followed. */
const LOWEST = -8;

/**
 * The two-sided level of each look, equal for all, at which the chance that any of them errs in one direction is `alpha / 2`. A look is a
 * mean over the repeats so far, so looks are nested means; in the worst case, where all variance is sampling, means over n and m repeats
 * are correlated by `√(n / m)`. That is Pocock's boundary (Biometrika 64(2), 1977) at information in proportion to the repeats, by the
 * recursion of Armitage, McPherson & Rowe (J. R. Statist. Soc. A 132(2), 1969). For 1, 3 at 0.05 it is 0.0277, for 1, 2, 3, 4 it is 0.0182.
 */
export function alphaOfLook(schedule: Schedule, alpha: number): number {
  if (schedule.length === 1) return alpha;
  // The secant method: the logarithm of the chance is nearly linear between one look's boundary and Bonferroni's.
  const excess = (critical: number) => Math.log(chanceOfCrossing(schedule, critical) / (alpha / 2));
  let [before, critical] = [normalQuantile(1 - alpha / 2), normalQuantile(1 - alpha / schedule.length / 2)];
  let [excessBefore, own] = [excess(before), excess(critical)];
  while (Math.abs(own) > 1e-9) {
    const next = critical - (own * (critical - before)) / (own - excessBefore);
    [before, excessBefore] = [critical, own];
    [critical, own] = [next, excess(next)];
  }
  return 2 * normalTail(critical);
}

/** The probability that a sum of normal steps of variance 1, over its standard deviation, is above `critical` at any look. */
function chanceOfCrossing(schedule: Schedule, critical: number): number {
  let crossed = 0;
  // The sum's density at a look over the paths that have not crossed before, as masses at points from `LOWEST` to the boundary.
  let paths: Path[] = [{ at: 0, mass: 1 }];
  for (const [look, repeats] of schedule.entries()) {
    const spread = Math.sqrt(repeats - (schedule[look - 1] ?? 0));
    const boundary = critical * Math.sqrt(repeats);
    crossed += paths.reduce((sum, { at, mass }) => sum + mass * normalTail((boundary - at) / spread), 0);
    const next = schedule[look + 1];
    if (next !== undefined) {
      paths = survivors(paths, spread, LOWEST * Math.sqrt(repeats), boundary, Math.sqrt(next - repeats));
    }
  }
  return crossed;
}

function survivors(paths: readonly Path[], spread: number, from: number, to: number, nextSpread: number): Path[] {
  const steps = 4 * Math.ceil(Math.max(LEAST_STEPS, (STEPS_A_SPREAD * (to - from)) / Math.min(spread, nextSpread)) / 4);
  const step = (to - from) / steps;
  return Array.from({ length: steps + 1 }, (_, index) => {
    const at = from + index * step;
    const density = paths.reduce((sum, path) => sum + path.mass * normalDensity((at - path.at) / spread), 0) / spread;
    const weight = index === 0 || index === steps ? 7 : index % 2 === 1 ? 32 : index % 4 === 2 ? 12 : 14;
    return { at, mass: (density * weight * step * 2) / 45 };
  });
}

type Path = Readonly<Record<'at' | 'mass', number>>;

/**
 * How many repeats every row of a run has, regardless of the number of judgements. Undefined if rows differ by more than a few failures
 * explain (1 % of a domain's rows): such a run is unfinished, or combines several runs.
 */
export function repeatsOf(rows: Iterable<JudgedRow>): number | undefined {
  const domains = groupBy(predictionsOf([...rows]), ([{ domain }]) => domain);
  const means = [...domains.values()].map((own) => own.length / new Set(own.map(([{ key }]) => key)).size);
  const repeats = Math.round(means[0] ?? 0);
  return repeats > 0 && means.every((mean) => Math.abs(mean - repeats) <= 0.01 * repeats) ? repeats : undefined;
}

/** The repeats of the runs that a gate looks at; `base` is absent if there is none. Undefined: see `repeatsOf`. */
export type RunRepeats = Readonly<Partial<Record<'base' | 'candidate', number | undefined>>>;

/**
 * Which look of the schedule this is, from 1 on, by the runs' own repeats. The candidate must have the repeats of a look. The base must
 * have as many, or all that the schedule will ever ask for, since it can be repeated once for all candidates. If this is not a look, a
 * sentence says why.
 */
export function lookAt(schedule: Schedule, { base, candidate }: RunRepeats, hasBase: boolean): number | string {
  const look = candidate === undefined ? 0 : schedule.indexOf(candidate) + 1;
  const isBaseFit = base !== undefined && (base === candidate || base >= Math.max(...schedule));
  if (look > 0 && (!hasBase || isBaseFit)) return look;
  const has = (run: string, repeats: number | undefined) =>
    repeats === undefined
      ? `the rows of the ${run} do not all have the same number of repeats`
      : `the ${run} has ${counted(repeats, 'repeat')} of every row`;
  const found = [has('candidate', candidate), ...(hasBase ? [has('base', base)] : [])].join(', ');
  return `${found}, but the schedule of looks is ${schedule.join(', ')}; the candidate needs as many repeats as one of the looks, and the base as many, or the last number from the start`;
}
