// Stored runs, as people read them (a table that fits a terminal, and all of one run) and as JSON.

import { z } from 'zod';
import { documentOf, ESTIMATE, FIGURE, TEXT } from '../core/document.js';
import { coversBenchmark } from '../core/domains.js';
import { bytesText, counted } from '../core/figures.js';
import { groupBy } from '../core/groups.js';
import type { MeasureLookup } from '../core/measures.js';
import { oneLine, printable, shortenedByWords, widthOf } from '../core/printable.js';
import { columnsOf, figure, NONE, type Table } from '../core/table.js';
import { bold, type Look, wrapped } from '../core/terminal.js';
import { percent } from '../stats/coverage.js';
import type { RolloutCard } from '../stats/rollout.js';
import type { StoredRun } from '../store/runs.js';
import { COSTS, costsSource } from './costs.js';
import { CARD, COUNTS, cardSource } from './score-document.js';
import { leadingMeasure } from './score-table.js';
import { cardTables, countLines } from './score-text.js';
import { TRUST, type Trust, trustDocument } from './trust.js';

/** A run as a SQLite file holds it, for those who list it. Its texts may be hostile. */
export interface ListedRun extends Omit<StoredRun, 'manifest'> {
  /** The SQLite file: as people are shown it, and its absolute path. */
  readonly db: string;
  readonly path: string;
  /** Whether the user gave the label in the SQLite file: the run's manifest has another one, or none. */
  readonly isLabelGiven: boolean;
  /** Whether there is a judged file now. */
  readonly isSourceThere: boolean;
  /** About how many bytes of the SQLite file it takes. */
  readonly bytes: number;
}

/** What became of the judged file since the run was scored from it. */
export interface JudgedFileState {
  readonly state: 'same' | 'changed' | 'missing' | 'unreadable';
  readonly bytes?: number | undefined;
  /** Why it cannot be read. */
  readonly reason?: string | undefined;
  /** The bytes of its journal, where there is one. */
  readonly journalBytes: number | undefined;
}

/** A stored run with what made it. Its texts may be hostile. */
export interface ShownRun extends ListedRun {
  /** What made it, by name. */
  readonly facts: readonly (readonly [name: string, text: string])[];
  /** The judged file and its journal as people are shown them, and what became of it. */
  readonly shownSource: string;
  readonly file: JudgedFileState;
  /** Judgements that are stored of it. */
  readonly judgements: number;
  /** The label by its manifest. */
  readonly ownLabel?: string | undefined;
  /** Warnings of today, and what the commands that made it had to say, a sentence each. */
  readonly warnings: readonly string[];
  readonly notices: readonly string[];
  /** Its manifest, where it has one that can be read. */
  readonly manifest?: object | undefined;
  /** What is known of its judge; absent where it asked none. */
  readonly trust?: Trust | undefined;
  /** Of a rollout: its curves. */
  readonly rollout: RolloutCard | undefined;
}

const COLUMNS = columnsOf(
  'Id, <Label, <World model|Model, <Judged by|Judge, Predictions|Pred., Overall|Over., Coverage|Cov., <Scored',
);
/** The columns of names, which are cut where they do not fit; the others are shown whole. */
const NAMES = [1, 2, 3];
/** No name is cut to less, however narrow the terminal is; and none is longer, however wide it is. */
const LEAST_NAME_COLUMNS = 8;
const MOST_NAME_COLUMNS = 60;

/** The table of runs in the order given, for a terminal of so many columns: the longest names give way first. */
export function runsTable(runs: readonly ListedRun[], columns: number, measureOf: MeasureLookup): Table {
  const rows = runs.map((run) => cellsOf(run, measureOf));
  const widths = COLUMNS.map(({ short }, column) =>
    Math.max(widthOf(short), ...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  let most = Math.max(...NAMES.map((column) => widths[column] ?? 0));
  const whole = () =>
    widths.reduce((sum, width, column) => sum + 1 + (NAMES.includes(column) ? Math.min(width, most) : width), -1);
  while (most > LEAST_NAME_COLUMNS && whole() > columns) most--;
  const cut = (text: string) =>
    // A model's owner goes first: what tells models apart stands behind it.
    widthOf(text) <= most ? text : shortenedByWords(text.replace(/^[^/\s]+\/(?=[^/]+$)/, ''), most);
  return {
    columns: COLUMNS,
    groups: [rows.map((row) => row.map((text, column) => (NAMES.includes(column) ? cut(text) : text)))],
    footnotes: [...figureNotes(runs, measureOf), ...labelNotes(runs)],
  };
}

function cellsOf(run: ListedRun, measureOf: MeasureLookup): string[] {
  const { card, kind, judgeModel } = run;
  const lead = leadingMeasure(card, measureOf);
  const name = (text: string | undefined) => (text === undefined ? NONE : oneLine(text, MOST_NAME_COLUMNS));
  // The judge of a run that the rubric rated; else the mode, with its judge where it has one.
  const judge = kind === 'rubric' ? (judgeModel ?? kind) : [kind, judgeModel].filter(Boolean).join(', ');
  return [
    ...[String(run.id), name(run.label), name(run.worldModel), name(judge), `${card.valid}/${card.chosen}`],
    figure(lead === undefined ? card.overallWithFailures.total : card.overallMeasures[lead]),
    percent(card.coverage),
    oneLine(run.scoredAt.slice(0, 10), 10),
  ];
}

function figureNotes(runs: readonly ListedRun[], measureOf: MeasureLookup): string[] {
  const leads = new Set(runs.flatMap(({ card }) => leadingMeasure(card, measureOf) ?? []));
  const few = runs.filter(({ card }) => !coversBenchmark(card.domains.map(({ domain }) => domain)));
  const names = [...leads].map((name) => oneLine(name, 40)).join(' or ');
  const measured = leads.size === 0 ? '' : ` Of runs without ratings it is ${names}.`;
  return [
    `Predictions (Pred.): valid, of those chosen. Overall: mean of the domains, with empty, refused and confusing predictions at rating 1.${measured}`,
    ...(few.length === 0 ? [] : [`Not over the seven published domains: ${numbersOf(few)}.`]),
  ];
}

/** The labels that several runs have. */
function labelNotes(runs: readonly ListedRun[]): string[] {
  return [...groupBy(runs, ({ label }) => label)].flatMap(([label, alike]) => {
    if (label === undefined || alike.length < 2) return [];
    return [`${oneLine(label, MOST_NAME_COLUMNS)} is the label of ${numbersOf(alike)}; a number names each.`];
  });
}

const MOST_NUMBERS = 8;

/** `runs 1, 2 and 3`, of many the first. */
function numbersOf(runs: readonly ListedRun[]): string {
  const numbers = runs.slice(0, MOST_NUMBERS).map(({ id }) => String(id));
  const last = runs.length > numbers.length ? `${runs.length - numbers.length} more` : numbers.pop();
  return `${runs.length === 1 ? 'run' : 'runs'} ${[...(numbers.length > 0 ? [numbers.join(', ')] : []), last].join(' and ')}`;
}

/** Longest text of a fact that is shown whole. */
const MOST_COLUMNS = 1000;

export function runText(run: ShownRun, measureOf: MeasureLookup, look: Look): string {
  const facts = [
    ['label', labelText(run)],
    ...run.facts,
    ['judged file', fileText(run)],
    ['stored', `${counted(run.judgements, 'judgement')}, about ${bytesText(run.bytes)}`],
  ] as const;
  const blocks = [
    `${bold(`run ${run.id} of ${printable(run.db)}`, look)}\n`,
    factLines(facts, look),
    ...cardTables(run, { measureOf, look, byDomain: true }),
    `${countLines(run.card).join('\n')}\n`,
    sentences('warning', run.warnings, look),
    sentences('note', run.notices, look),
  ];
  return blocks.filter((block) => block !== '').join('\n');
}

function labelText({ label, isLabelGiven, ownLabel }: ShownRun): string {
  const own = ownLabel === undefined ? '' : `; its manifest says ${ownLabel}`;
  return label === undefined ? 'none' : `${label}${isLabelGiven ? ` (given here${own})` : ''}`;
}

const FILE_STATES = {
  same: 'as it was scored',
  changed: 'not the bytes that were scored: awb score stores it anew',
  missing: 'not there any more',
  unreadable: 'cannot be read',
};

function fileText({ shownSource, file: { state, bytes, reason, journalBytes } }: ShownRun): string {
  const size = bytes === undefined ? '' : `, ${bytesText(bytes)}`;
  const journal = journalBytes === undefined ? '' : `; its journal has ${bytesText(journalBytes)}`;
  return `${shownSource}${size}, ${FILE_STATES[state]}${reason === undefined ? '' : ` (${reason})`}${journal}`;
}

/** Names in a column, and beside them their texts in lines within the terminal's width. */
function factLines(facts: readonly (readonly [string, string])[], look: Look): string {
  const names = facts.map(([name]) => oneLine(name, 24));
  const indent = Math.max(...names.map(widthOf)) + 2;
  const lines = facts.flatMap(([, text], index) => {
    const name = names[index] ?? '';
    const [first = '', ...more] = wrapped(oneLine(text, MOST_COLUMNS), look.columns - indent);
    return [name + ' '.repeat(indent - widthOf(name)) + first, ...more.map((line) => ' '.repeat(indent) + line)];
  });
  return `${lines.join('\n')}\n`;
}

function sentences(heading: string, texts: readonly string[], look: Look): string {
  const lines = texts.flatMap((text) => wrapped(`${heading}: ${oneLine(text, MOST_COLUMNS)}`, look.columns, 2));
  return lines.map((line) => `${line}\n`).join('');
}

/** What names and describes a stored run. */
const NAMED = z.strictObject({
  db: z.string(),
  id: z.number(),
  label: TEXT,
  label_given: z.boolean(),
  kind: z.string(),
  world_model: TEXT,
  protocol: TEXT,
  judge_model: TEXT,
  rubric_pack: TEXT,
  rubric_fingerprint: TEXT,
  meta: z.record(z.string(), z.unknown()),
  source: z.string(),
  source_sha256: z.string(),
  source_exists: z.boolean(),
  started_at: TEXT,
  ended_at: TEXT,
  scored_at: z.string(),
  tool_version: z.string(),
  bytes: z.number(),
  costs: COSTS,
});

/** The document of `awb runs list`. */
export const RUNS = z.strictObject({
  schema: z.literal('awb.runs/1'),
  databases: z.array(z.strictObject({ db: z.string(), bytes: z.number(), runs: z.number() })),
  runs: z.array(
    z.strictObject({
      ...NAMED.shape,
      ...COUNTS.shape,
      domains: z.array(z.string()),
      overall: ESTIMATE.nullable(),
      overall_with_failures: ESTIMATE.nullable(),
      overall_measures: z.record(z.string(), ESTIMATE),
      macro_of: z.number(),
    }),
  ),
});

/** A SQLite file whose runs were asked for: its absolute path, its size, and how many runs it holds. */
type ListedDatabase = z.infer<typeof RUNS>['databases'][number];

export function runsDocument(databases: readonly ListedDatabase[], runs: readonly ListedRun[]) {
  return documentOf(RUNS, {
    schema: 'awb.runs/1',
    databases,
    runs: runs.map((run) => ({
      ...run.card,
      ...namedSource(run),
      domains: run.card.domains.map(({ domain }) => domain),
      overall: run.card.overall.total,
      overallWithFailures: run.card.overallWithFailures.total,
    })),
  });
}

/** The document of `awb runs show`. */
export const RUN = z.strictObject({
  schema: z.literal('awb.run/1'),
  ...NAMED.shape,
  own_label: TEXT,
  source_state: z.enum(['same', 'changed', 'missing', 'unreadable']),
  source_bytes: FIGURE,
  journal_bytes: FIGURE,
  stored_judgements: z.number(),
  judge_trust: TRUST.nullable(),
  ...CARD.shape,
  warnings: z.array(z.string()),
  notices: z.array(z.string()),
  manifest: z.record(z.string(), z.unknown()).nullable(),
});

export function runDocument(run: ShownRun) {
  const { file } = run;
  return documentOf(RUN, {
    ...run,
    schema: 'awb.run/1',
    ...namedSource(run),
    sourceState: file.state,
    sourceBytes: file.bytes,
    journalBytes: file.journalBytes,
    storedJudgements: run.judgements,
    judgeTrust: trustDocument(run.trust),
    ...cardSource(run.card),
    judgements: run.card.judgements,
  });
}

/** The document of `awb runs remove`. */
export const REMOVAL = z.strictObject({
  schema: z.literal('awb.runs-removed/1'),
  db: z.string(),
  removed: z.boolean(),
  runs: z.array(NAMED),
  bytes_before: FIGURE,
  bytes_after: FIGURE,
});

/** @param bytes of the file before and after; absent where nothing was removed */
export function removalDocument(
  db: string,
  runs: readonly ListedRun[],
  bytes?: { readonly before: number; readonly after: number },
) {
  return documentOf(REMOVAL, {
    schema: 'awb.runs-removed/1',
    db,
    removed: bytes !== undefined,
    runs: runs.map(namedSource),
    bytesBefore: bytes?.before,
    bytesAfter: bytes?.after,
  });
}

function namedSource(run: ListedRun) {
  return {
    ...run,
    db: run.path,
    labelGiven: run.isLabelGiven,
    sourceExists: run.isSourceThere,
    costs: costsSource(run.costs),
  };
}
