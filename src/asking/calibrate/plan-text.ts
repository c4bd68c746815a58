// What a plan is, in words, before it is asked: how many rows of how many trajectories, and what so few of them cannot tell.

import { LEAST_TRAJECTORIES } from '../../calibration.js';
import { counted } from '../../figures.js';
import { groupBy } from '../../groups.js';
import { LEAST_CLUSTERS } from '../../types.js';
import type { CalibrationJob } from './plan.js';

/** What the planned rows are too few for, a sentence each. */
export function remarksOn(jobs: readonly CalibrationJob[]): string[] {
  const domains = [...groupBy(jobs, ({ domain }) => domain)].map(([domain, own]) => ({
    domain,
    trajectories: new Set(own.map(({ group }) => group)).size,
  }));
  const untold = domains.filter(({ trajectories }) => trajectories < LEAST_CLUSTERS);
  const few = domains.filter((one) => one.trajectories < LEAST_TRAJECTORIES && !untold.includes(one));
  const named = (some: typeof domains) =>
    some.map(({ domain, trajectories }) => `${domain} ${trajectories}`).join(', ');
  return [
    ...(untold.length === 0
      ? []
      : [
          `fewer than ${LEAST_CLUSTERS} trajectories (${named(untold)}): no interval can be given for these domains, so nothing in them can be told seen or blind; all domains together still can`,
        ]),
    ...(few.length === 0
      ? []
      : [
          `fewer than ${LEAST_TRAJECTORIES} trajectories (${named(few)}): the intervals of these domains are wide, and small losses stay undecided`,
        ]),
  ];
}

/** What is judged, in one sentence. */
export function planText(jobs: readonly CalibrationJob[]): string {
  const rows = new Set(jobs.map(({ row }) => row)).size;
  const trajectories = new Set(jobs.map(({ group }) => group)).size;
  const variants = new Set(jobs.map(({ variant }) => variant)).size;
  return `${counted(rows, 'row')} of ${counted(trajectories, 'trajectory', 'trajectories')}, ${counted(variants, 'variant')} of them`;
}
