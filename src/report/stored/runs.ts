// Stored runs as people read them: a table that fits a terminal, and all of one run.

import { coversBenchmark } from '../../core/domains.js';
import { bytesText, counted } from '../../core/figures.js';
import type { MeasureLookup } from '../../core/measures.js';
import { oneLine, printable, shortenedByWords, widthOf } from '../../core/printable.js';
import { figure, NONE, type Table } from '../../core/table.js';
import { bold, type Look, wrapped } from '../../core/terminal.js';
import { percent } from '../../stats/coverage.js';
import type { RolloutCard } from '../../stats/rollout-card.js';
import type { StoredRun } from '../../store/runs.js';
import { leadingMeasure } from '../score-table.js';
import { cardTables, countLines } from '../score-text.js';
import type { Trust } from '../trust.js';

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

/** What became of the judged file since the run was scored from it, with the bytes of its journal where there is one. */
export type JudgedFileState = { readonly journalBytes?: number | undefined } & (
  | { readonly state: 'same' | 'changed'; readonly bytes: number }
  | { readonly state: 'missing' }
  | { readonly state: 'unreadable'; readonly reason: string }
);

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

const HEADINGS = [
  { heading: 'Id', short: 'Id', align: 'right' },
  { heading: 'Label', short: 'Label', align: 'left' },
  { heading: 'World model', short: 'Model', align: 'left' },
  { heading: 'Judged by', short: 'Judge', align: 'left' },
  { heading: 'Predictions', short: 'Pred.', align: 'right' },
  { heading: 'Overall', short: 'Over.', align: 'right' },
  { heading: 'Coverage', short: 'Cov.', align: 'right' },
  { heading: 'Scored', short: 'Scored', align: 'left' },
] as const satisfies Table['columns'];

/** The columns of names, which are cut where they do not fit; the others are shown whole. */
const NAMES = [1, 2, 3];
/** No name is cut to less, however narrow the terminal is. */
const LEAST_NAME_COLUMNS = 8;
/** Longest name that is shown whole, however wide it is. */
const MOST_NAME_COLUMNS = 60;
const MOST_NUMBERS = 8;

/** The table of runs in the order given, for a terminal of so many columns. */
export function runsTable(runs: readonly ListedRun[], columns: number, measureOf: MeasureLookup): Table {
  const rows = runs.map((run) => cellsOf(run, measureOf));
  return {
    columns: HEADINGS,
    groups: [fittedTo(columns, rows)],
    footnotes: [...figureNotes(runs, measureOf), ...labelNotes(runs)],
  };
}

function cellsOf(run: ListedRun, measureOf: MeasureLookup): string[] {
  const { card } = run;
  const lead = leadingMeasure(card, measureOf);
  const overall = lead === undefined ? card.overallWithFailures.total : card.overallMeasures[lead];
  const name = (text: string | undefined) => (text === undefined ? NONE : oneLine(text, MOST_NAME_COLUMNS));
  return [
    String(run.id),
    name(run.label),
    name(run.worldModel),
    name(judgedBy(run)),
    `${card.valid}/${card.chosen}`,
    figure(overall),
    percent(card.coverage),
    oneLine(run.scoredAt.slice(0, 10), 10),
  ];
}

/** The judge of a run that the rubric rated; else the mode, with its judge where it has one. */
function judgedBy({ kind, judgeModel }: ListedRun): string {
  if (judgeModel === undefined) return kind;
  return kind === 'rubric' ? judgeModel : `${kind}, ${judgeModel}`;
}

/** The rows with their names cut so that a line has no more than so many columns: the longest names give way first. */
function fittedTo(columns: number, rows: readonly (readonly string[])[]): string[][] {
  const widths = HEADINGS.map(({ short }, column) =>
    Math.max(widthOf(short), ...rows.map((row) => widthOf(row[column] ?? ''))),
  );
  const others = widths.reduce((sum, width, column) => sum + (NAMES.includes(column) ? 0 : width), 0);
  const room = columns - others - (HEADINGS.length - 1);
  const most = mostOfEach(
    NAMES.map((column) => widths[column] ?? 0),
    room,
  );
  return rows.map((row) => row.map((text, column) => (NAMES.includes(column) ? cut(text, most) : text)));
}

/** The largest width that several columns may have so that all of them fit into the room. */
function mostOfEach(widths: readonly number[], room: number): number {
  let most = Math.max(...widths);
  while (most > LEAST_NAME_COLUMNS && widths.reduce((sum, width) => sum + Math.min(width, most), 0) > room) most--;
  return most;
}

/** A name of at most so many columns. A model's owner goes first: what tells models apart stands behind it. */
function cut(text: string, most: number): string {
  if (widthOf(text) <= most) return text;
  return shortenedByWords(text.replace(/^[^/\s]+\/(?=[^/]+$)/, ''), most);
}

function figureNotes(runs: readonly ListedRun[], measureOf: MeasureLookup): string[] {
  const leads = new Set(runs.map(({ card }) => leadingMeasure(card, measureOf)).filter((name) => name !== undefined));
  const few = runs.filter(({ card }) => !coversBenchmark(card.domains.map(({ domain }) => domain)));
  const measured =
    leads.size === 0
      ? ''
      : ` Of runs without ratings it is ${[...leads].map((name) => oneLine(name, 40)).join(' or ')}.`;
  return [
    `Predictions (Pred.): valid, of those chosen. Overall: mean of the domains, with empty, refused and confusing predictions at rating 1.${measured}`,
    ...(few.length === 0 ? [] : [`Not over the seven published domains: ${numbersOf(few)}.`]),
  ];
}

/** The labels that several runs have. */
function labelNotes(runs: readonly ListedRun[]): string[] {
  const labels = [...new Set(runs.map(({ label }) => label))].filter((label) => label !== undefined);
  return labels.flatMap((label) => {
    const alike = runs.filter((run) => run.label === label);
    if (alike.length < 2) return [];
    return [`${oneLine(label, MOST_NAME_COLUMNS)} is the label of ${numbersOf(alike)}; a number names each.`];
  });
}

/** `runs 1, 2 and 3`, of many the first. */
function numbersOf(runs: readonly ListedRun[]): string {
  const numbers = runs.slice(0, MOST_NUMBERS).map(({ id }) => String(id));
  const left = runs.length - numbers.length;
  const last = left > 0 ? `${left} more` : numbers.pop();
  return `${runs.length === 1 ? 'run' : 'runs'} ${numbers.length === 0 ? last : `${numbers.join(', ')} and ${last}`}`;
}

/** Longest text of a fact that is shown whole. */
const MOST_COLUMNS = 1000;

export function runText(run: ShownRun, measureOf: MeasureLookup, look: Look): string {
  const facts = [
    ['label', labelText(run)],
    ...run.facts,
    ['judged file', fileText(run)],
    ['stored', storedText(run)],
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
  if (label === undefined) return 'none';
  if (!isLabelGiven) return label;
  return ownLabel === undefined ? `${label} (given here)` : `${label} (given here; its manifest says ${ownLabel})`;
}

function fileText({ shownSource, file }: ShownRun): string {
  const parts = {
    same: 'as it was scored',
    changed: 'not the bytes that were scored: awb score stores it anew',
    missing: 'not there any more',
    unreadable: `cannot be read (${file.state === 'unreadable' ? file.reason : ''})`,
  };
  const size = 'bytes' in file ? `, ${bytesText(file.bytes)}` : '';
  const journal = file.journalBytes === undefined ? '' : `; its journal has ${bytesText(file.journalBytes)}`;
  return `${shownSource}${size}, ${parts[file.state]}${journal}`;
}

function storedText({ judgements, bytes }: ShownRun): string {
  return `${counted(judgements, 'judgement')}, about ${bytesText(bytes)}`;
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
  return texts
    .flatMap((text) =>
      wrapped(`${heading}: ${oneLine(text, MOST_COLUMNS)}`, look.columns, 2).map((line) => `${line}\n`),
    )
    .join('');
}
