// Whether two runs were made alike and may be compared. For a rollout also its curves, and drift from its teacher-forced run, which was
// asked and judged like the rollout except for the histories.

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

/** Whether two runs agree in one respect, with a line for each field that differs. */
interface Shared {
  readonly state: 'equal' | 'different' | 'unknown';
  readonly differences: readonly string[];
}

/**
 * What two runs share. The state is `unknown` if one of them does not record it, like files of the official script. A baseline has no
 * protocol and counts as equal to any, but a baseline's rollout only to rollouts. The data are equal if the rows are.
 */
export function sharedBy(sides: Sides): Readonly<Record<Provenance, Shared>> {
  const shared = sharedButRollout(sides);
  const [a, b] = [sides.base.made.rollout, sides.candidate.made.rollout];
  const rollouts = [`${a ?? 'no rollout'} ${SIDES[0]}, ${b ?? 'no rollout'} ${SIDES[1]}`];
  return {
    ...shared,
    // Different if only one is a rollout, or both are of different kinds.
    protocol: a === b ? shared.protocol : { state: 'different', differences: rollouts },
    data: haveSameRows(sides) ? { state: 'equal', differences: [] } : compared(sides, 'data'),
  };
}

type Side = Pick<ReadRun, 'made' | 'rows'>;

/** The parts of two runs that matter for what they share. */
interface Sides {
  readonly base: Side;
  readonly candidate: Side;
}

/** How two runs were asked and judged, regardless of rollouts. */
function sharedButRollout(sides: Sides) {
  return recordOf(['judge', 'rubric', 'protocol'], (name) => compared(sides, name));
}

const SIDES = ['in the base', 'in the candidate'] as const;

function compared({ base, candidate }: Sides, name: Provenance): Shared {
  // A baseline has no protocol.
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

/** Notes for readers on how two runs were made: what differs, and what was not recorded. */
export function notesOn(shared: Readonly<Record<Provenance, Shared>>, comparedAnyway: readonly Provenance[]): string[] {
  const of = (state: Shared['state']) => PROVENANCE.filter((name) => shared[name].state === state);
  const different = of('different').map((name) => {
    const allowed = comparedAnyway.includes(name) ? ', but are compared anyway' : '';
    return `NOT THE SAME: the runs differ in their ${name} (${shared[name].differences.join('; ')})${allowed}.`;
  });
  const unknown = of('unknown');
  if (unknown.length === 0) return different;
  return [...different, `Not recorded, so not checked: whether the runs have the same ${unknown.join(', ')}.`];
}

/** Whether both runs are rated and differ only in what is allowed to differ. */
export function isComparable(sides: Sides, allowed: readonly Provenance[]): boolean {
  const areRated = ratesDimensions(sides.base.made.mode) && ratesDimensions(sides.candidate.made.mode);
  return areRated && refusedIn(sharedBy(sides), allowed).length === 0;
}

function refusedIn(shared: Readonly<Record<Provenance, Shared>>, allowed: readonly Provenance[]): Provenance[] {
  return PROVENANCE.filter((name) => shared[name].state === 'different' && !allowed.includes(name));
}

/** @throws UserError (78) if the runs differ in something that is not allowed to differ. */
export function requireShared(shared: Readonly<Record<Provenance, Shared>>, allowed: readonly Provenance[]): void {
  const refused = refusedIn(shared, allowed);
  if (refused.length === 0) return;
  const faults = faultLines(recordOf(refused, (name) => shared[name]));
  throw identityDiffers(
    [
      'these runs cannot be compared:',
      ...faults,
      `Judge them alike, or compare them anyway with --allow-different ${refused.join(',')}; the output will say so.`,
    ].join('\n'),
  );
}

/** The differences, each under a line with its name. */
function faultLines(shared: Readonly<Record<string, Shared>>): string[] {
  return Object.entries(shared).flatMap(([name, { state, differences }]) =>
    state === 'different' ? [`  ${name}:`, ...differences.map((line) => `    ${line}`)] : [],
  );
}

/** Whether both sides are the same judged file. A run compared with itself never gets worse. */
export function isOneRun({ base, candidate }: Pair): boolean {
  return base.source === candidate.source && base.sha256 === candidate.sha256;
}

/** A note if two names stand for the same bytes. */
export function sameBytesNote({ base, candidate }: Pair): string[] {
  return base.sha256 === candidate.sha256
    ? ['IDENTICAL: base and candidate are the same judged file, byte for byte.']
    : [];
}

/** The error (65) if two runs have no rows to compare. */
export function nothingToCompare({ base, candidate }: Pair, reason: string): UserError {
  const names = oneLine(`${candidate.name} against ${base.name}`, 200);
  return badData(`${names}: ${reason}; name two rated runs over the same data (awb leaderboard compares measures)`);
}

/** The facts about a run that are shown. */
export function shownRun({ name, source, made, trust }: ReadRun): ShownRun {
  return { name, source, judge: made.judgeName, rubricPack: made.rubricPack, trust };
}

/** The curves of a run, and its drift from the rows of a teacher-forced one; undefined if it is not a rollout. */
export function rolloutOf(
  rows: readonly JudgedRow[],
  card: ScoreCard,
  forced?: readonly JudgedRow[],
): RolloutCard | undefined {
  const measure = leadingMeasure(card, measureOf);
  const figure = measure === undefined ? { scale: 'score' as const } : { measure, scale: measureOf(measure).range };
  return rolloutCard(rows, figure, forced);
}

/** @throws UserError as described at `forcedFault` */
export function requireForced(run: Side, forced: Side): void {
  const fault = forcedFault(run, forced);
  if (fault !== undefined) throw fault;
}

/** Whether the drift of a run can be measured against another one. */
export function isForcedPartner(run: Side, other: Side): boolean {
  return forcedFault(run, other) === undefined;
}

/**
 * Why drift cannot be measured against the run of --teacher-forced: 2 if the run is not a rollout, or the other one is; 78 if they were
 * asked or judged in different ways; 65 if they have no row in common.
 */
function forcedFault(run: Side, forced: Side): UserError | undefined {
  if (!isRollout(run) || isRollout(forced)) {
    return new UserError('--teacher-forced takes a run without --rollout, and applies only to a run with --rollout');
  }
  const faults = faultsBetween(run, forced);
  if (faults.length > 0) {
    const said =
      'drift cannot be measured, since these runs differ in more than their histories (the base is the run with true histories):';
    const way = 'Name predictions of the same world model, asked and judged alike.';
    return identityDiffers([said, ...faults, way].join('\n'));
  }
  const keys = new Set(forced.rows.map(({ key }) => key));
  if (run.rows.some(({ key }) => keys.has(key))) return undefined;
  return badData('the rollout and the teacher-forced run have no row in common; name predictions over the same data');
}

function isRollout({ made, rows }: Side): boolean {
  return made.rollout !== undefined || rows.some((row) => row.rollout !== undefined);
}

/** The differences other than the histories, one line each. */
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
