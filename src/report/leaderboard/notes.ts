// What a reader must know to read a block of a leaderboard rightly.

import { domainName, isPublished } from '../../core/domains.js';
import { twoDecimals } from '../../core/figures.js';
import { groupBy } from '../../core/groups.js';
import { oneLine } from '../../core/printable.js';
import { LEAST_CLUSTERS } from '../../core/types.js';
import { percent, shortDomains } from '../../stats/coverage.js';
import { PUBLISHED_SOURCE } from '../published.js';
import { kindText, measureText } from '../score-table.js';
import type { BoardColumn, BoardOptions, Entry, Marks } from './board.js';
import { type Group, keyOfName } from './runs.js';

interface NoteSource {
  readonly entries: readonly Entry[];
  readonly marks: Marks;
  readonly columns: readonly BoardColumn[];
  readonly tested: readonly BoardColumn[];
  readonly group: Group;
  readonly options: BoardOptions;
  readonly measure: string | undefined;
}

/** The texts that are to be said. */
function said(...texts: readonly (string | false | undefined)[]): string[] {
  return texts.filter((text) => typeof text === 'string');
}

/** How to read any such block. */
export function legendOf({ entries, options, measure, columns }: NoteSource): string[] {
  const hasRuns = entries.some(({ run }) => run !== undefined);
  const isRated = measure === undefined;
  const beside = columns.filter(({ figure }) => figure?.domain !== undefined && !isPublished(figure.domain));
  const besideText = `; ${beside.map(({ heading }) => heading).join(', ')} ${beside.length === 1 ? 'stands' : 'stand'} beside it`;
  const shown = new Set(columns.map(({ id }) => id));
  const priced = ['cost', 'judge-cost'].filter((id) => shown.has(id));
  const who = priced.map((id) => (id === 'cost' ? "the world model's" : "the judge's")).join(' and ');
  const isLeast = entries.some(({ figures }) => priced.some((id) => figures.get(id)?.isLeast));
  const ofRuns = (id: string) => hasRuns && shown.has(id);
  return said(
    !isRated &&
      `${oneLine(measure, 20)}: ${kindText(options.measureOf(measure))}, ${measureText(options.measureOf(measure))}; it is no rating.`,
    ofRuns('overall') &&
      `${isRated ? 'Overall' : 'Mean'}: mean of the seven domains${beside.length === 0 ? '' : besideText}.`,
    shown.has('interval') && '95 %: interval of the mean over domains, clustered by trajectory.',
    ofRuns('coverage') && 'Coverage: predictions with a rating, and those that failed by the model, of those chosen.',
    ofRuns('rows') &&
      'Predictions (Pred.): those that are valid to the official script, of those chosen (rows times repeats).',
    shown.has('macro') &&
      entries.some(({ figures }) => figures.has('macro')) &&
      'macro of K: mean of K domains; Overall needs all seven and no other.',
    isRated &&
      hasRuns &&
      'Scores count what the model failed (empty, refused, confusing) at rating 1, so that no run rises by failing.',
    shown.has('official') &&
      'Official: the same as the official script counts it, which leaves such predictions out; never ranked.',
    priced.length > 0 &&
      `Cost: US dollars of ${who} calls, those that failed among them${isLeast ? '; ≥: the cost of some rows is not known' : ''}.`,
    shown.has('tokens') && 'Tokens a row: output of the world model, thinking included, as its server counted.',
  );
}

/** What a reader has to know of these very runs. */
export function notesOf(source: NoteSource): string[] {
  const { entries, marks, columns, group, options } = source;
  const { minCoverage, assumeSame } = options;
  const incomplete = entries.flatMap(({ name, run, isComplete }) => {
    if (run === undefined || isComplete) return [];
    const short = shortDomains(run.card, minCoverage);
    return `${name} (${short.map(({ domain, coverage }) => `${domainName(domain)} ${percent(coverage)}`).join(', ')})`;
  });
  const fewer = entries.flatMap(({ name, run, rows, fewer: domains, isComplete }) => {
    if (run === undefined || !isComplete || domains.length === 0) return [];
    const isEverywhere = domains.length === run.card.domains.length;
    const counts = domains.map((domain) => `${domainName(domain)} ${rows.get(domain) ?? 0}`);
    return `${name} (${isEverywhere ? sum(rows.values()) : counts.join(', ')})`;
  });
  const behind = [...marks.behind].map(([{ name }, ids]) => `${name} (${headings(columns, ids).join(', ')})`);
  const untested = untestedRuns(source);
  return said(
    incomplete.length > 0 &&
      `A domain's coverage is below ${percent(minCoverage)}, so the run is neither tested nor marked: ${incomplete.join('; ')}.`,
    fewer.length > 0 &&
      `Over fewer rows, so ranked behind the others and neither tested nor marked: ${fewer.join('; ')}.`,
    behind.length > 0 &&
      `Larger figures over other rows, and behind another run on the rows that both have, so not marked: ${behind.join('; ')}.`,
    untested.length > 0 &&
      `Fewer than ${LEAST_CLUSTERS} trajectories, or too few in common with the best, so not tested: ${untested.join('; ')}.`,
    !group.isRecorded &&
      (assumeSame
        ? 'Not everything was recorded of how these runs came about; --assume-same takes it to be the same in all of them.'
        : 'Not everything was recorded of how this run came about, so it stands alone; --assume-same puts such runs together.'),
    ...selectionNotes(source),
    ...publishedNotes(entries),
  );
}

function headings(columns: readonly BoardColumn[], ids: ReadonlySet<string>): string[] {
  return columns.filter(({ id }) => ids.has(id)).map(({ heading }) => heading);
}

/** The runs that could not be tested, with the columns where it is not all of them. */
function untestedRuns({ marks, tested }: NoteSource): string[] {
  const byColumns = groupBy([...marks.untested], ([, ids]) => {
    const names = headings(tested, ids);
    if (names.length === tested.length) return '';
    const isOfDomains = tested.every(({ id, figure }) => ids.has(id) === (figure?.domain !== undefined));
    return ` (${isOfDomains ? 'each domain' : names.join(', ')})`;
  });
  return [...byColumns].map(([names, some]) => some.map(([{ name }]) => name).join(', ') + names);
}

function selectionNotes({ entries, group, options }: NoteSource): string[] {
  const counts = entries.map(({ run, rows }) => (run === undefined ? PUBLISHED_SOURCE.rows : sum(rows.values())));
  const [least, most] = [Math.min(...counts), Math.max(...counts)];
  const alike = [...groupBy(group.runs, (run) => keyOfName(run, options.per)).values()].map(({ length }) => length);
  return said(
    least < most && `Figures are over different numbers of rows: ${least} to ${most}.`,
    options.show === 'best' &&
      alike.length < group.runs.length &&
      `The best of up to ${Math.max(...alike)} runs each: such a choice lifts a score above its true value.`,
  );
}

function sum(counts: Iterable<number>): number {
  return [...counts].reduce((total, count) => total + count, 0);
}

function publishedNotes(entries: readonly Entry[]): string[] {
  const rows = entries.flatMap(({ published }) => published ?? []);
  if (rows.length === 0) return [];
  const odd = rows.flatMap(({ model, scores, overall }) => {
    const [is, would] = [twoDecimals(overall), twoDecimals(sum(scores.values()) / scores.size)];
    return is === would ? [] : [`${model}: its Overall is published as ${is}, the mean of its columns is ${would}.`];
  });
  return [
    `published: ${PUBLISHED_SOURCE.text}, judge ${PUBLISHED_SOURCE.judge}; official figures, neither ranked, tested nor marked.`,
    ...odd,
  ];
}
