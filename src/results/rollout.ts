// What a run that is a rollout scores, and the teacher-forced run beside it: asked and judged as the rollout was, but for its histories.

import { badData, identityDiffers, UserError } from '../core/errors.js';
import { oneLine } from '../core/printable.js';
import type { JudgedRow, ScoreCard } from '../core/types.js';
import { measureOf } from '../judge/modes.js';
import { leadingMeasure } from '../report/score-table.js';
import { type RolloutCard, rolloutCard } from '../stats/rollout.js';
import { sharedButRollout } from './comparability.js';
import type { ReadRun } from './read-run.js';

/** The curves of a run, and its drift beside the rows of a teacher-forced one; undefined where it is no rollout. */
export function rolloutOf(
  rows: readonly JudgedRow[],
  card: ScoreCard,
  forced?: readonly JudgedRow[],
): RolloutCard | undefined {
  const measure = leadingMeasure(card, measureOf);
  const figure = measure === undefined ? { scale: 'score' as const } : { measure, scale: measureOf(measure).range };
  return rolloutCard(rows, figure, forced);
}

type Side = Pick<ReadRun, 'made' | 'rows'>;

/**
 * @param forced the run that --teacher-forced names
 * @throws UserError: 2 where the run is no rollout, or the other one is one; 78 where they were asked or judged in different ways; 65
 * where they have no row in common.
 */
export function requireForced(run: Side, forced: Side): void {
  if (!isRollout(run)) {
    throw new UserError(
      'this run is no rollout, so --teacher-forced has nothing to be held against; score one of awb infer --rollout, or compare two ordinary runs by awb compare',
    );
  }
  if (isRollout(forced)) {
    throw new UserError(
      '--teacher-forced names a rollout, too; name the run whose histories are true, of awb infer without --rollout',
    );
  }
  const faults = faultsBetween(run, forced);
  if (faults.length > 0) {
    const said = 'these runs tell no drift, since more than their histories differs:';
    const way = 'Name the predictions of the same world model, asked and judged alike.';
    throw identityDiffers([said, ...faults, way].join('\n'));
  }
  if (haveCommonRow(run, forced)) return;
  const what = 'the rollout and the run of --teacher-forced have no row in common';
  throw badData(`${what}; name predictions over the same data`);
}

/** Whether the drift of a run can be told by another one. */
export function isForcedPartner(run: Side, other: Side): boolean {
  if (!isRollout(run) || isRollout(other)) return false;
  return faultsBetween(run, other).length === 0 && haveCommonRow(run, other);
}

function isRollout({ made, rows }: Side): boolean {
  return made.rollout !== undefined || rows.some((row) => row.rollout !== undefined);
}

function haveCommonRow(run: Side, other: Side): boolean {
  const keys = new Set(other.rows.map(({ key }) => key));
  return run.rows.some(({ key }) => keys.has(key));
}

/** What differs beside the histories, a line each. */
function faultsBetween(run: Side, forced: Side): string[] {
  const shared = sharedButRollout({ base: run, candidate: forced }, ['in the rollout', 'in the teacher-forced run']);
  const faults = Object.entries(shared).flatMap(([name, { state, differences }]) =>
    state === 'different' ? [`  ${name}:`, ...differences.map((line) => `    ${line}`)] : [],
  );
  const [own, other] = [run.made.worldModel, forced.made.worldModel];
  if (own !== undefined && other !== undefined && own !== other) {
    faults.push(`  world model: the rollout has ${oneLine(own, 80)}, the teacher-forced run ${oneLine(other, 80)}`);
  }
  return faults;
}
