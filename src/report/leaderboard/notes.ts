// What a reader must know to read a block of a leaderboard rightly.

import { percent, shortDomains } from '../../coverage.js';
import { domainName, isPublished } from '../../domains.js';
import { twoDecimals } from '../../figures.js';
import { groupBy } from '../../groups.js';
import { oneLine } from '../../printable.js';
import { LEAST_CLUSTERS } from '../../types.js';
import { kindText, measureText } from '../measure-text.js';
import { PUBLISHED_SOURCE } from '../published.js';
import type { BoardOptions, BoardRun, Entry, Group } from './board.js';
import type { AnyColumn } from './columns.js';
import { keyOfName, rowsOf } from './runs.js';

interface NoteSource {
  readonly entries: readonly Entry[];
  readonly untested: ReadonlyMap<Entry, ReadonlySet<string>>;
  readonly behind: ReadonlyMap<Entry, ReadonlySet<string>>;
  readonly columns: readonly AnyColumn[];
  readonly group: Group;
  readonly options: BoardOptions;
  readonly measure: string | undefined;
}

/** How to read a block, and what a reader has to know of its runs. */
export function wordsOn(source: NoteSource): { readonly legend: string[]; readonly notes: string[] } {
  return { legend: legendOf(source), notes: notesOf(source) };
}

function legendOf(source: NoteSource): string[] {
  const { entries, columns, options, measure } = source;
  const shows = (id: string) => columns.some((column) => column.id === id);
  const runs = entries.filter((entry) => entry.run !== undefined);
  const mean = measure === undefined ? 'Overall' : 'Mean';
  return [
    ...(measure === undefined
      ? []
      : [
          `${oneLine(measure, 20)}: ${kindText(options.measureOf(measure))}, ${measureText(options.measureOf(measure))}; it is no rating.`,
        ]),
    ...(shows('overall') && runs.length > 0 ? [`${mean}: mean of the seven domains${besideText(source)}.`] : []),
    ...(shows('interval') ? ['95 %: interval of the mean over domains, clustered by trajectory.'] : []),
    ...(shows('coverage') && runs.length > 0
      ? ['Coverage: predictions with a rating, and those that failed by the model, of those chosen.']
      : []),
    ...(shows('rows') && runs.length > 0
      ? ['Predictions (Pred.): those that are valid to the official script, of those chosen (rows times repeats).']
      : []),
    ...(shows('macro') && runs.some((entry) => entry.figures.has('macro'))
      ? ['macro of K: mean of K domains; Overall needs all seven and no other.']
      : []),
    ...(measure === undefined && runs.length > 0
      ? ['Scores count what the model failed (empty, refused, confusing) at rating 1, so that no run rises by failing.']
      : []),
    ...(shows('official')
      ? ['Official: the same as the official script counts it, which leaves such predictions out; never ranked.']
      : []),
    ...costNotes(source),
  ];
}

function notesOf(source: NoteSource): string[] {
  const { entries, group, options, measure } = source;
  const runs = entries.filter((entry) => entry.run !== undefined);
  const incomplete = runs.filter((entry) => !entry.isComplete);
  return [
    ...(incomplete.length === 0
      ? []
      : [
          `A domain's coverage is below ${percent(options.minCoverage)}, so the run is neither tested nor marked: ${incomplete.map((entry) => shortOf(entry, options)).join('; ')}.`,
        ]),
    ...fewerNotes(runs, measure),
    ...behindNotes(source),
    ...untestedNotes(source),
    ...(group.isRecorded ? [] : [unrecordedNote(options.assumeSame)]),
    ...selectionNotes(source),
    ...publishedNotes(entries),
  ];
}

/** Names the domains that Overall leaves out. */
function besideText({ columns }: NoteSource): string {
  const beside = columns.filter((column) => {
    const domain = column.isFigure ? column.figure.domain : undefined;
    return domain !== undefined && !isPublished(domain);
  });
  if (beside.length === 0) return '';
  return `; ${beside.map(({ heading }) => heading).join(', ')} ${beside.length === 1 ? 'stands' : 'stand'} beside it`;
}

/** What is said of the columns that hold no scores. */
function costNotes({ columns, entries }: NoteSource): string[] {
  const shows = (id: string) => columns.some((column) => column.id === id);
  const who = [...(shows('cost') ? ["the world model's"] : []), ...(shows('judge-cost') ? ["the judge's"] : [])];
  const isLeast = ({ figures }: Entry) => ['cost', 'judge-cost'].some((id) => shows(id) && figures.get(id)?.isLeast);
  const least = entries.some(isLeast) ? '; ≥: the cost of some rows is not known' : '';
  return [
    ...(who.length === 0
      ? []
      : [`Cost: US dollars of ${who.join(' and ')} calls, those that failed among them${least}.`]),
    ...(shows('tokens') ? ['Tokens a row: output of the world model, thinking included, as its server counted.'] : []),
  ];
}

/** Names the runs whose figures are better only because they were asked other rows. */
function behindNotes({ behind, columns }: NoteSource): string[] {
  if (behind.size === 0) return [];
  const listed = [...behind].map(([{ name }, ids]) => {
    const headings = columns.filter(({ id }) => ids.has(id)).map(({ heading }) => heading);
    return `${name} (${headings.join(', ')})`;
  });
  return [
    `Larger figures over other rows, and behind another run on the rows that both have, so not marked: ${listed.join('; ')}.`,
  ];
}

/** Names the runs that could not be tested, with the columns where it is not all of them. */
function untestedNotes({ untested, columns }: NoteSource): string[] {
  if (untested.size === 0) return [];
  const tested = columns.filter((column) => column.isFigure).filter(({ isTested }) => isTested);
  const byHeadings = groupBy([...untested], ([, ids]) => {
    const headings = tested.filter(({ id }) => ids.has(id)).map(({ heading }) => heading);
    if (headings.length === tested.length) return '';
    const isOfDomains = tested.every((column) => ids.has(column.id) === (column.figure.domain !== undefined));
    return ` (${isOfDomains ? 'each domain' : headings.join(', ')})`;
  });
  const listed = [...byHeadings].map(([headings, some]) => some.map(([{ name }]) => name).join(', ') + headings);
  return [
    `Fewer than ${LEAST_CLUSTERS} trajectories, or too few in common with the best, so not tested: ${listed.join('; ')}.`,
  ];
}

function shortOf({ name, run }: Entry, { minCoverage }: BoardOptions): string {
  const short = run === undefined ? [] : shortDomains(run.card, minCoverage);
  return `${name} (${short.map(({ domain, coverage }) => `${domainName(domain)} ${percent(coverage)}`).join(', ')})`;
}

function fewerNotes(runs: readonly Entry[], measure: string | undefined): string[] {
  const listed = runs.flatMap(({ name, run, fewer, isComplete }) => {
    if (run === undefined || !isComplete || fewer.length === 0) return [];
    const rows = rowsOf(run.card, measure).filter(([domain]) => fewer.includes(domain));
    const isEverywhere = rows.length === run.card.domains.length;
    const counts = isEverywhere ? [String(sum(rows))] : rows.map(([domain, count]) => `${domainName(domain)} ${count}`);
    return [`${name} (${counts.join(', ')})`];
  });
  return listed.length === 0
    ? []
    : [`Over fewer rows, so ranked behind the others and neither tested nor marked: ${listed.join('; ')}.`];
}

function unrecordedNote(assumed: boolean): string {
  return assumed
    ? 'Not everything was recorded of how these runs came about; --assume-same takes it to be the same in all of them.'
    : 'Not everything was recorded of how this run came about, so it stands alone; --assume-same puts such runs together.';
}

function selectionNotes({ entries, group, options, measure }: NoteSource): string[] {
  const counts = entries.flatMap(({ run }) => (run === undefined ? [] : [sum(rowsOf(run.card, measure))]));
  if (entries.some((entry) => entry.published !== undefined)) counts.push(PUBLISHED_SOURCE.rows);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const notes = least < most ? [`Figures are over different numbers of rows: ${least} to ${most}.`] : [];
  const names = new Set(group.runs.map((run) => keyOfName(run, options.per)));
  if (options.show === 'best' && names.size < group.runs.length) {
    notes.push(
      `The best of up to ${mostOfOneName(group.runs, options)} runs each: such a choice lifts a score above its true value.`,
    );
  }
  return notes;
}

function sum(rows: readonly (readonly [string, number])[]): number {
  return rows.reduce((total, [, count]) => total + count, 0);
}

function mostOfOneName(runs: readonly BoardRun[], { per }: BoardOptions): number {
  const counts = new Map<string, number>();
  for (const run of runs) counts.set(keyOfName(run, per), (counts.get(keyOfName(run, per)) ?? 0) + 1);
  return Math.max(...counts.values());
}

function publishedNotes(entries: readonly Entry[]): string[] {
  const rows = entries.flatMap(({ published }) => published ?? []);
  if (rows.length === 0) return [];
  const odd = rows.flatMap(({ model, scores, overall }) => {
    const mean = [...scores.values()].reduce((sum, score) => sum + score, 0) / scores.size;
    const [is, would] = [twoDecimals(overall), twoDecimals(mean)];
    return is === would ? [] : [`${model}: its Overall is published as ${is}, the mean of its columns is ${would}.`];
  });
  return [
    `published: ${PUBLISHED_SOURCE.text}, judge ${PUBLISHED_SOURCE.judge}; official figures, neither ranked, tested nor marked.`,
    ...odd,
  ];
}
