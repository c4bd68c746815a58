// What two runs share of what made them, and whether they may be compared; of a rollout, its curves and the teacher-forced run beside it:
// asked and judged as the rollout was, but for its histories.

import { PROVENANCE, type Provenance } from '../core/decision.js';
import { badData, identityDiffers, UserError } from '../core/errors.js';
import { recordOf } from '../core/groups.js';
import { differencesOf } from '../core/identity.js';
import { isObject } from '../core/json.js';
import { oneLine } from '../core/printable.js';
import type { JudgedRow, ScoreCard } from '../core/types.js';
import { measureOf, ratesDimensions } from '../judge/modes.js';
import type { ShownRun } from '../report/comparison.js';
import { leadingMeasure } from '../report/score-table.js';
import { type RolloutCard, rolloutCard } from '../stats/rollout.js';
import type { Pair, ReadRun } from './read-run.js';

/** Whether two runs were made with the same, and a line for each field in which they were not. */
interface Shared {
  readonly state: 'equal' | 'different' | 'unknown';
  readonly differences: readonly string[];
}

/**
 * What two runs share. It is `unknown` where one of them does not say what it was made with, as files of the official script do not.
 * A baseline was asked under no protocol, and counts as equal to any, but a rollout of one to rollouts alone. The data are equal
 * where the rows are.
 */
export function sharedBy(sides: Sides): Readonly<Record<Provenance, Shared>> {
  const shared = sharedButRollout(sides);
  const [a, b] = [sides.base.made.rollout, sides.candidate.made.rollout];
  const rollouts = [`${a ?? 'no rollout'} ${SIDES[0]}, ${b ?? 'no rollout'} ${SIDES[1]}`];
  return {
    ...shared,
    // Only one is a rollout, or both are different ones.
    protocol: a === b ? shared.protocol : { state: 'different', differences: rollouts },
    data: haveSameRows(sides) ? { state: 'equal', differences: [] } : compared(sides, 'data'),
  };
}

type Side = Pick<ReadRun, 'made' | 'rows'>;

/** Two runs, as far as it matters what they share. */
interface Sides {
  readonly base: Side;
  readonly candidate: Side;
}

/** How two runs were asked and judged, whether or not one of them is a rollout. */
function sharedButRollout(sides: Sides) {
  return recordOf(['judge', 'rubric', 'protocol'], (name) => compared(sides, name));
}

const SIDES = ['in the base', 'in the candidate'] as const;

function compared({ base, candidate }: Sides, name: Provenance): Shared {
  // A baseline was asked under no protocol.
  if (name === 'protocol' && [base, candidate].some(({ made }) => made.baseline !== undefined))
    return { state: 'equal', differences: [] };
  const [a, b] = [base.made.shares[name], candidate.made.shares[name]];
  if (a === undefined || b === undefined) return { state: 'unknown', differences: [] };
  const fieldsOf = (side: unknown) => (isObject(side) ? side : { [name]: side });
  const differences = differencesOf(fieldsOf(a), fieldsOf(b), SIDES).map((line) => oneLine(line, 200));
  return { state: differences.length === 0 ? 'equal' : 'different', differences };
}

function haveSameRows({ base, candidate }: Sides): boolean {
  const keysOf = ({ rows }: Side) => new Set(rows.map((row) => row.key));
  const [a, b] = [keysOf(base), keysOf(candidate)];
  return a.size === b.size && [...a].every((key) => b.has(key));
}

/** What a reader has to know of how two runs were made: what differs, and what nobody recorded. */
export function notesOn(shared: Readonly<Record<Provenance, Shared>>, comparedAnyway: readonly Provenance[]): string[] {
  const of = (state: Shared['state']) => PROVENANCE.filter((name) => shared[name].state === state);
  const different = of('different').map((name) => {
    const allowed = comparedAnyway.includes(name) ? ', and are compared all the same' : '';
    return `NOT THE SAME: the runs differ in their ${name} (${shared[name].differences.join('; ')})${allowed}.`;
  });
  const unknown = of('unknown');
  if (unknown.length === 0) return different;
  return [...different, `Not recorded, and so not checked: whether the runs have the same ${unknown.join(', ')}.`];
}

/** Whether two runs are both rated, and differ in nothing that is not allowed to differ. */
export function isComparable(sides: Sides, allowed: readonly Provenance[]): boolean {
  const areRated = ratesDimensions(sides.base.made.mode) && ratesDimensions(sides.candidate.made.mode);
  return areRated && refusedIn(sharedBy(sides), allowed).length === 0;
}

function refusedIn(shared: Readonly<Record<Provenance, Shared>>, allowed: readonly Provenance[]): Provenance[] {
  return PROVENANCE.filter((name) => shared[name].state === 'different' && !allowed.includes(name));
}

/** @throws UserError (78) where the runs differ in what is not allowed to differ. */
export function requireShared(shared: Readonly<Record<Provenance, Shared>>, allowed: readonly Provenance[]): void {
  const refused = refusedIn(shared, allowed);
  if (refused.length === 0) return;
  const faults = faultLines(recordOf(refused, (name) => shared[name]));
  throw identityDiffers(
    [
      'these runs cannot be compared as they are:',
      ...faults,
      `Judge them alike; or compare them all the same with --allow-different ${refused.join(',')}, which the output will say.`,
    ].join('\n'),
  );
}

/** What differs, under a line of what it is a part of. */
function faultLines(shared: Readonly<Record<string, Shared>>): string[] {
  return Object.entries(shared).flatMap(([name, { state, differences }]) =>
    state === 'different' ? [`  ${name}:`, ...differences.map((line) => `    ${line}`)] : [],
  );
}

/** Whether one judged file stands on both sides: a run that is held against itself never falls behind. */
export function isOneRun({ base, candidate }: Pair): boolean {
  return base.source === candidate.source && base.sha256 === candidate.sha256;
}

/** Two names, and the same bytes behind them. */
export function sameBytesNote({ base, candidate }: Pair): string[] {
  return base.sha256 === candidate.sha256
    ? ['ONE AND THE SAME: base and candidate are the same judged file, byte by byte.']
    : [];
}

/** The error (65) where no row can be compared between two runs. */
export function nothingToCompare({ base, candidate }: Pair, reason: string): UserError {
  const names = oneLine(`${candidate.name} against ${base.name}`, 200);
  return badData(`${names}: ${reason}; name two rated runs over the same data (awb leaderboard compares measures)`);
}

/** What is shown of a run, whatever its manifest holds. */
export function shownRun({ name, source, made, trust }: ReadRun): ShownRun {
  return { name, source, judge: made.judgeName, rubricPack: made.rubricPack, trust };
}

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

/** @throws UserError as `forcedFault` has it */
export function requireForced(run: Side, forced: Side): void {
  const fault = forcedFault(run, forced);
  if (fault !== undefined) throw fault;
}

/** Whether the drift of a run can be told by another one. */
export function isForcedPartner(run: Side, other: Side): boolean {
  return forcedFault(run, other) === undefined;
}

/**
 * Why the run that --teacher-forced names tells no drift: 2 where the run is no rollout, or the other one is one; 78 where they were asked
 * or judged in different ways; 65 where they have no row in common.
 */
function forcedFault(run: Side, forced: Side): UserError | undefined {
  if (!isRollout(run) || isRollout(forced)) {
    return new UserError('--teacher-forced names a run of awb infer without --rollout, beside a run with it');
  }
  const faults = faultsBetween(run, forced);
  if (faults.length > 0) {
    const said =
      'these runs tell no drift, since more than their histories differs (the base is the run with true histories):';
    const way = 'Name the predictions of the same world model, asked and judged alike.';
    return identityDiffers([said, ...faults, way].join('\n'));
  }
  const keys = new Set(forced.rows.map(({ key }) => key));
  if (run.rows.some(({ key }) => keys.has(key))) return undefined;
  return badData('the rollout and the teacher-forced run have no row in common; name predictions over the same data');
}

function isRollout({ made, rows }: Side): boolean {
  return made.rollout !== undefined || rows.some((row) => row.rollout !== undefined);
}

/** What differs beside the histories, a line each. */
function faultsBetween(run: Side, forced: Side): string[] {
  const { worldModel: own } = run.made;
  const { worldModel: other = own } = forced.made;
  const differences =
    own === undefined || own === other ? [] : [`${oneLine(own, 80)}, and not ${oneLine(`${other}`, 80)}`];
  return faultLines({
    ...sharedButRollout({ base: forced, candidate: run }),
    'world model': { state: differences.length === 0 ? 'equal' : 'different', differences },
  });
}
