// Stored runs -> a table that fits a terminal: what they are called, what was judged by whom, and what came of it.

import { percent } from '../../coverage.js';
import { coversBenchmark } from '../../domains.js';
import type { MeasureLookup } from '../../measures.js';
import { oneLine, shortenedByWords, widthOf } from '../../printable.js';
import { leadingMeasure } from '../score-table.js';
import { figure, NONE, type Table } from '../table.js';
import type { ListedRun } from './listed-run.js';

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
