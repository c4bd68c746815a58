// What a reader must know to read a block of a leaderboard rightly.

import { domainName, isPublished } from '../../core/domains.js';
import { twoDecimals } from '../../core/figures.js';
import { groupBy } from '../../core/groups.js';
import { oneLine } from '../../core/printable.js';
import { LEAST_CLUSTERS } from '../../core/types.js';
import { percent, shortDomains } from '../../stats/coverage.js';
import { PUBLISHED_SOURCE } from '../published.js';
import { kindText, measureText } from '../score-table.js';
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
  const { entries, options, measure } = source;
  const shows = showing(source);
  const runs = entries.filter(({ run }) => run !== undefined);
  const hasRuns = runs.length > 0;
  const isRated = measure === undefined;
  return told(
    !isRated &&
      `${oneLine(measure, 20)}: ${kindText(options.measureOf(measure))}, ${measureText(options.measureOf(measure))}; it is no rating.`,
    shows('overall') && hasRuns && `${isRated ? 'Overall' : 'Mean'}: mean of the seven domains${besideText(source)}.`,
    shows('interval') && '95 %: interval of the mean over domains, clustered by trajectory.',
    shows('coverage') &&
      hasRuns &&
      'Coverage: predictions with a rating, and those that failed by the model, of those chosen.',
    shows('rows') &&
      hasRuns &&
      'Predictions (Pred.): those that are valid to the official script, of those chosen (rows times repeats).',
    shows('macro') &&
      runs.some(({ figures }) => figures.has('macro')) &&
      'macro of K: mean of K domains; Overall needs all seven and no other.',
    isRated &&
      hasRuns &&
      'Scores count what the model failed (empty, refused, confusing) at rating 1, so that no run rises by failing.',
    shows('official') &&
      'Official: the same as the official script counts it, which leaves such predictions out; never ranked.',
    costNote(source),
    shows('tokens') && 'Tokens a row: output of the world model, thinking included, as its server counted.',
  );
}

function notesOf(source: NoteSource): string[] {
  const { entries, group, options, measure } = source;
  const incomplete = entries.flatMap(({ name, run, isComplete }) =>
    run === undefined || isComplete ? [] : [`${name} (${shortText(run, options)})`],
  );
  const fewer = entries.flatMap((entry) => fewerText(entry, measure) ?? []);
  return told(
    incomplete.length > 0 &&
      `A domain's coverage is below ${percent(options.minCoverage)}, so the run is neither tested nor marked: ${incomplete.join('; ')}.`,
    fewer.length > 0 &&
      `Over fewer rows, so ranked behind the others and neither tested nor marked: ${fewer.join('; ')}.`,
    behindNote(source),
    untestedNote(source),
    !group.isRecorded && (options.assumeSame ? ASSUMED : ALONE),
    ...selectionNotes(source),
    ...publishedNotes(entries),
  );
}

const ASSUMED =
  'Not everything was recorded of how these runs came about; --assume-same takes it to be the same in all of them.';
const ALONE =
  'Not everything was recorded of how this run came about, so it stands alone; --assume-same puts such runs together.';

/** The texts that are to be told. */
function told(...texts: readonly (string | false | undefined)[]): string[] {
  return texts.filter((text) => typeof text === 'string');
}

function showing({ columns }: NoteSource): (id: string) => boolean {
  return (id) => columns.some((column) => column.id === id);
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

/** What is said of the columns of dollars. */
function costNote(source: NoteSource): string | false {
  const ids = ['cost', 'judge-cost'].filter(showing(source));
  const who = ids.map((id) => (id === 'cost' ? "the world model's" : "the judge's"));
  const isLeast = source.entries.some(({ figures }) => ids.some((id) => figures.get(id)?.isLeast));
  const least = isLeast ? '; ≥: the cost of some rows is not known' : '';
  return who.length > 0 && `Cost: US dollars of ${who.join(' and ')} calls, those that failed among them${least}.`;
}

/** Names the runs whose figures are better only because they were asked other rows. */
function behindNote({ behind, columns }: NoteSource): string | false {
  const listed = [...behind].map(([{ name }, ids]) => {
    const headings = columns.filter(({ id }) => ids.has(id)).map(({ heading }) => heading);
    return `${name} (${headings.join(', ')})`;
  });
  return (
    listed.length > 0 &&
    `Larger figures over other rows, and behind another run on the rows that both have, so not marked: ${listed.join('; ')}.`
  );
}

/** Names the runs that could not be tested, with the columns where it is not all of them. */
function untestedNote({ untested, columns }: NoteSource): string | false {
  const tested = columns.filter((column) => column.isFigure).filter(({ isTested }) => isTested);
  const byHeadings = groupBy([...untested], ([, ids]) => {
    const headings = tested.filter(({ id }) => ids.has(id)).map(({ heading }) => heading);
    if (headings.length === tested.length) return '';
    const isOfDomains = tested.every((column) => ids.has(column.id) === (column.figure.domain !== undefined));
    return ` (${isOfDomains ? 'each domain' : headings.join(', ')})`;
  });
  const listed = [...byHeadings].map(([headings, some]) => some.map(([{ name }]) => name).join(', ') + headings);
  return (
    listed.length > 0 &&
    `Fewer than ${LEAST_CLUSTERS} trajectories, or too few in common with the best, so not tested: ${listed.join('; ')}.`
  );
}

/** The domains whose coverage is too small. */
function shortText({ card }: BoardRun, { minCoverage }: BoardOptions): string {
  const short = shortDomains(card, minCoverage);
  return short.map(({ domain, coverage }) => `${domainName(domain)} ${percent(coverage)}`).join(', ');
}

/** A run and where it has fewer rows than others; undefined where it has as many, or is not complete anyway. */
function fewerText({ name, run, fewer, isComplete }: Entry, measure: string | undefined): string | undefined {
  if (run === undefined || !isComplete || fewer.length === 0) return undefined;
  const rows = rowsOf(run.card, measure).filter(([domain]) => fewer.includes(domain));
  const isEverywhere = rows.length === run.card.domains.length;
  const counts = isEverywhere ? [String(sum(rows))] : rows.map(([domain, count]) => `${domainName(domain)} ${count}`);
  return `${name} (${counts.join(', ')})`;
}

function selectionNotes({ entries, group, options, measure }: NoteSource): string[] {
  const counts = entries.flatMap(({ run }) => (run === undefined ? [] : [sum(rowsOf(run.card, measure))]));
  if (entries.some((entry) => entry.published !== undefined)) counts.push(PUBLISHED_SOURCE.rows);
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const notes = least < most ? [`Figures are over different numbers of rows: ${least} to ${most}.`] : [];
  const byName = groupBy(group.runs, (run) => keyOfName(run, options.per));
  if (options.show === 'best' && byName.size < group.runs.length) {
    const most = Math.max(...[...byName.values()].map(({ length }) => length));
    notes.push(`The best of up to ${most} runs each: such a choice lifts a score above its true value.`);
  }
  return notes;
}

function sum(rows: readonly (readonly [string, number])[]): number {
  return rows.reduce((total, [, count]) => total + count, 0);
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
