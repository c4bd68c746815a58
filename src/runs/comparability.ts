// What two runs share of what made them, and whether they may be compared.

import { PROVENANCE, type Provenance } from '../decision.js';
import { EXIT, UserError } from '../errors.js';
import { canonicalJson, isObject } from '../json.js';
import { leadOf, measureOf, ratesDimensions } from '../judge/modes.js';
import { measureWords } from '../measures.js';
import { oneLine } from '../printable.js';
import type { ShownRun } from '../report/comparison/view.js';
import type { Pair } from './find.js';
import type { ReadRun } from './read-run.js';

/** What each of two runs was made with, in words, and whether it is the same. */
interface Shared {
  readonly state: 'equal' | 'different' | 'unknown';
  readonly base: string;
  readonly candidate: string;
}

/**
 * What two runs share. It is `unknown` where one of them does not say what it was made with, as files of the official script do not.
 * A baseline was asked under no protocol, and counts as equal to any, but a rollout of one to rollouts alone. The data are equal
 * where the rows are.
 */
export function sharedBy(sides: Sides): Readonly<Record<Provenance, Shared>> {
  const { judge, rubric, protocol } = sharedButRollout(sides);
  return {
    judge,
    rubric,
    protocol: rolloutsApart(sides) ?? protocol,
    data: haveSameRows(sides)
      ? { state: 'equal', base: 'the same rows', candidate: 'the same rows' }
      : compared(sides, 'data'),
  };
}

/** Two runs, as far as it matters what they share. */
interface Sides {
  readonly base: Side;
  readonly candidate: Side;
}

type Side = Pick<ReadRun, 'made' | 'rows'>;

/** How two runs were asked and judged, whether or not one of them is a rollout. */
export function sharedButRollout(sides: Sides): Readonly<Record<'judge' | 'rubric' | 'protocol', Shared>> {
  const isAnyBaseline = [sides.base, sides.candidate].some(({ made }) => made.baseline !== undefined);
  const protocol = compared(sides, 'protocol');
  return {
    judge: compared(sides, 'judge'),
    rubric: compared(sides, 'rubric'),
    protocol: isAnyBaseline ? { ...protocol, state: 'equal' } : protocol,
  };
}

function compared({ base, candidate }: Sides, name: Provenance): Shared {
  const [a, b] = [base.made.shares[name], candidate.made.shares[name]];
  const state =
    a === undefined || b === undefined ? 'unknown' : canonicalJson(a) === canonicalJson(b) ? 'equal' : 'different';
  return { state, base: wordsOf(a, b), candidate: wordsOf(b, a) };
}

/** What is said where only one is a rollout, or both are different ones; undefined elsewhere. */
function rolloutsApart({ base, candidate }: Sides): Shared | undefined {
  const [a, b] = [base, candidate].map(({ made, rows }) => made.rollout ?? rolloutIn(rows));
  return a === b ? undefined : { state: 'different', base: a ?? 'no rollout', candidate: b ?? 'no rollout' };
}

/** The rollout that rows tell of whose manifest is lost. */
function rolloutIn(rows: ReadRun['rows']): string | undefined {
  const starts = [...new Set(rows.flatMap(({ rollout }) => rollout?.from ?? []))].sort((x, y) => x - y);
  return starts.length === 0 ? undefined : `rollout from ${starts.join(', ')}`;
}

function haveSameRows({ base, candidate }: Sides): boolean {
  const keysOf = ({ rows }: Side) => new Set(rows.map((row) => row.key));
  const [a, b] = [keysOf(base), keysOf(candidate)];
  return a.size === b.size && [...a].every((key) => b.has(key));
}

/** A value in words; of two objects, the fields in which it differs from the other. */
function wordsOf(value: unknown, other: unknown): string {
  if (!isObject(value)) return oneLine(fieldText(value), 24);
  const own = new Map(Object.entries(value));
  const others = new Map(Object.entries(isObject(other) ? other : {}));
  const differing = [...own].filter(([name, field]) => fieldText(field) !== fieldText(others.get(name)));
  // A value that lacks what the other has, and differs in nothing else, says what it lacks.
  const lacking = [...others.keys()].filter((name) => !own.has(name)).map((name) => [name, undefined] as const);
  const fields = differing.length > 0 ? differing : lacking;
  return oneLine(fields.map(([name, field]) => `${name} ${fieldText(field)}`).join(', '), 200);
}

function fieldText(value: unknown): string {
  if (value === undefined) return 'not recorded';
  return typeof value === 'string' ? value : canonicalJson(value);
}

/** What a reader has to know of how two runs were made: what differs, and what nobody recorded. */
export function notesOn(shared: Readonly<Record<Provenance, Shared>>, comparedAnyway: readonly Provenance[]): string[] {
  const of = (state: Shared['state']) => PROVENANCE.filter((name) => shared[name].state === state);
  const different = of('different').map((name) => {
    const { base, candidate } = shared[name];
    const allowed = comparedAnyway.includes(name) ? ', and are compared all the same' : '';
    return `NOT THE SAME: the runs differ in their ${name} (${base}; ${candidate})${allowed}.`;
  });
  const unknown = of('unknown');
  if (unknown.length === 0) return different;
  return [...different, `Not recorded, and so not checked: whether the runs have the same ${unknown.join(', ')}.`];
}

/** @throws UserError (78) where the runs differ in what is not allowed to differ. */
export function requireShared(shared: Readonly<Record<Provenance, Shared>>, allowed: readonly Provenance[]): void {
  const refused = PROVENANCE.filter((name) => shared[name].state === 'different' && !allowed.includes(name));
  if (refused.length === 0) return;
  throw new UserError(
    [
      'these runs cannot be compared as they are:',
      ...refused.map((name) => {
        const { base, candidate } = shared[name];
        return `  ${name}: base has ${base}, candidate has ${candidate}`;
      }),
      `Judge them alike; or compare them all the same with --allow-different ${refused.join(',')}, which the output will say.`,
    ].join('\n'),
    EXIT.identityDiffers,
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
  const measured = [base, candidate].map(({ made }) => made.mode).find((mode) => !ratesDimensions(mode));
  const hint =
    measured === undefined
      ? 'name two runs over the same data'
      : `${measureWords(measureOf(leadOf(measured) ?? '')).many} are no ratings, and awb leaderboard compares those`;
  return new UserError(`${oneLine(`${candidate.name} against ${base.name}`, 200)}: ${reason}; ${hint}`, EXIT.badData);
}

/** What is shown of a run, whatever its manifest holds. */
export function shownRun({ name, source, made, trust }: ReadRun): ShownRun {
  return { name, source, judge: made.judgeName, rubricPack: made.rubricPack, trust };
}
