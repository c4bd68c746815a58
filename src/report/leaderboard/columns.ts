// The columns of a leaderboard: those that exist, and those that are shown.

import type { Asked } from '../../core/costs.js';
import { coversBenchmark, domainName, domainsOfMean, inTableOrder, isPublished } from '../../core/domains.js';
import { nearest } from '../../core/edits.js';
import { present, UserError } from '../../core/errors.js';
import { FACTS_RECALL } from '../../core/judgement.js';
import { dollars, oneLine, twoDecimals } from '../../core/printable.js';
import { columnsOf, dimensionName, intervalCell, NONE } from '../../core/table.js';
import { DIMENSIONS, DOMAINS, type Domain, type Estimate, type ScoreCard, type ScoreSet } from '../../core/types.js';
import { percent } from '../../stats/coverage.js';
import { PUBLISHED_SOURCE } from '../published.js';
import { type BoardColumn, type BoardFigure, type BoardOptions, type Entry, NAME_COLUMNS } from './runs.js';

/** A column of texts. Headings are in the form of `columnsOf`. */
function textColumn(id: string, headings: string, textOf: (entry: Entry) => string, legend?: string): BoardColumn {
  return { id, ...present(columnsOf(headings)[0]), textOf, ...(legend && { legend }) };
}

/** A column of figures. `name` is their name in a comparison. */
function figureColumn(
  id: string,
  headings: string,
  name: string,
  figureOf: NonNullable<BoardColumn['figureOf']>,
  more: Partial<BoardColumn> = {},
): BoardColumn {
  return { id, ...present(columnsOf(headings)[0]), figure: { name }, figureOf, ...more };
}

function shown(text: string | undefined): string {
  return oneLine(text ?? '', NAME_COLUMNS) || NONE;
}

export const NAME_COLUMN = textColumn('name', '<Run', ({ name }) => name);

export const TEXT_COLUMNS: readonly BoardColumn[] = [
  textColumn(
    'interval',
    '95 %',
    ({ mean }) => intervalCell(mean),
    '95 %: interval of the mean over domains, clustered by trajectory.',
  ),
  textColumn(
    'coverage',
    'Coverage',
    ({ run }) => (run ? percent(run.card.coverage) : NONE),
    'Coverage: predictions with a rating (model failures included) / chosen.',
  ),
  textColumn(
    'rows',
    'Predictions|Pred.',
    ({ run }) => (run ? `${run.card.valid}/${run.card.chosen}` : String(PUBLISHED_SOURCE.rows)),
    'Predictions (Pred.): valid by the official script / chosen (rows times repeats).',
  ),
  textColumn('model', '<World model', ({ run }) => shown(run?.worldModel)),
  textColumn('judge', '<Judge', ({ run }) =>
    shown(run ? (run.judgedWith.snapshot ?? run.judgedWith.judge) : PUBLISHED_SOURCE.judge),
  ),
  textColumn('rubrics', '<Rubric pack', ({ run }) => shown(run ? run.judgedWith.rubricPack : 'official')),
  textColumn('date', '<Date', ({ run }) => shown(run?.at.slice(0, 10))),
];

function costColumn(id: string, heading: string, asked: Asked): BoardColumn {
  const figureOf: BoardColumn['figureOf'] = ({ run }) => {
    const { usd, unpriced } = run.costs?.[asked]?.total ?? {};
    return usd === undefined ? undefined : { value: usd, ...(unpriced === 0 ? {} : { isLeast: true }) };
  };
  const textOf: BoardColumn['textOf'] = (_, figure) => `${figure?.isLeast ? '≥ ' : ''}${dollars(figure?.value ?? 0)}`;
  const who = asked === 'judge' ? "the judge's" : "the world model's";
  const legend = `${heading}: US dollars of ${who} calls, including failed ones; ≥: the cost of some rows is unknown.`;
  return figureColumn(id, heading, id, figureOf, { isLowerBetter: true, textOf, legend });
}

/** The share of determined facts that predictions met, by their judge's checklists; shown next to the mean if any rated run has it. */
const RECALL_COLUMN = figureColumn('facts-recall', 'Facts recall|Facts', FACTS_RECALL, ({ run }) =>
  measuredFigure(run.card.overallMeasures, FACTS_RECALL),
);

/** Columns that are shown only on request. */
const FURTHER_COLUMNS: readonly BoardColumn[] = [
  // How far an agent acts the same after predictions as after the truth, over all domains.
  figureColumn('decision-equivalence', 'Decision eq.|Dec. eq.', 'decision_equivalence', ({ run }) => {
    const found = run.equivalence?.overall.found;
    return typeof found === 'object' ? { value: found.value, ...found.interval } : undefined;
  }),
  costColumn('cost', 'Cost', 'world_model'),
  costColumn('judge-cost', 'Judge cost', 'judge'),
  // Output tokens of the rows for which the server counted them.
  figureColumn(
    'tokens',
    'Tokens per row|Tokens',
    'tokens',
    ({ run }) => {
      const { rows = 0, usage } = run.costs?.world_model?.total ?? {};
      const tokens = usage?.completionTokens;
      return tokens === undefined || rows === 0 ? undefined : { value: tokens / rows, rows };
    },
    {
      isLowerBetter: true,
      textOf: (_, figure) => Math.round(figure?.value ?? 0).toLocaleString('en'),
      legend: 'Tokens per row: output of the world model, thinking included, as counted by its server.',
    },
  ),
];

/** Reserved ids: a domain with such a name is called `domain:NAME`. */
const RESERVED = [
  ...['overall', 'macro', 'official', ...DIMENSIONS],
  ...[RECALL_COLUMN, ...FURTHER_COLUMNS, NAME_COLUMN, ...TEXT_COLUMNS].map(({ id }) => id),
];

function domainId(domain: Domain): string {
  return RESERVED.includes(domain) ? `domain:${domain}` : domain;
}

/** A figure in our counting, with the model's failures at rating 1, together with the official one. */
export function countedFigure(own: ScoreSet, official: ScoreSet, name: keyof ScoreSet): BoardFigure | undefined {
  const [figure, asPublished] = [own[name], official[name]];
  return figure && { ...figure, official: asPublished?.value };
}

/** A measure's figure; undefined if there is none. */
export function measuredFigure(figures: Readonly<Record<string, Estimate>>, name: string): Estimate | undefined {
  return Object.hasOwn(figures, name) ? figures[name] : undefined;
}

function domainColumn(domain: Domain, measure: string | undefined): BoardColumn {
  const heading = domainName(domain);
  return {
    ...{ id: domainId(domain), heading, short: domain === 'terminal' ? 'Term.' : heading, align: 'right' },
    figure: { domain, name: measure ?? 'total' },
    isTested: true,
    figureOf({ run }) {
      const score = run.card.domains.find((each) => each.domain === domain);
      if (score === undefined || measure !== undefined) return score && measuredFigure(score.measures, measure ?? '');
      return countedFigure(score.withFailures, score.scores, 'total');
    },
  };
}

/** Every column of figures that a block can have, including those only used for sorting. */
export function figureColumns(domains: readonly Domain[], measure: string | undefined): BoardColumn[] {
  const name = measure ?? 'total';
  const [isMean, isTested] = [true, true];
  const heading = measure === undefined ? 'Overall' : 'Mean';
  const official = 'Official: the same by the official script, which leaves such predictions out; never ranked.';
  const [ofSeven, ofFewer] = [
    `${heading}: mean of the seven domains; other domains have their own columns.`,
    'macro of K: mean of K domains; Overall needs all seven and no other.',
  ];
  const isWhole = ({ rows }: Pick<Entry, 'rows'>) => coversBenchmark([...rows.keys()]);
  const overall: BoardColumn['figureOf'] = (run) => (isWhole(run) ? run.mean : undefined);
  const fewer: BoardColumn['figureOf'] = (run) => (isWhole(run) ? undefined : run.mean);
  const macroText: BoardColumn['textOf'] = ({ rows }, figure) =>
    `macro of ${domainsOfMean([...rows.keys()]).length}: ${twoDecimals(figure?.value ?? 0)}`;
  const ofRatings = [
    figureColumn('official', 'Official', name, ({ run }) => run.card.overall.total, { isMean, legend: official }),
    ...DIMENSIONS.map((dimension) => {
      const figureOf: BoardColumn['figureOf'] = ({ run: { card } }) =>
        countedFigure(card.overallWithFailures, card.overall, dimension);
      return figureColumn(dimension, dimensionName(dimension), dimension, figureOf, { isMean, isTested });
    }),
  ];
  return [
    ...[...new Set([...DOMAINS, ...domains])].sort(inTableOrder).map((domain) => domainColumn(domain, measure)),
    figureColumn('overall', heading, name, overall, { isMean, isTested, legend: ofSeven }),
    figureColumn('macro', 'Fewer domains', name, fewer, { isMean, isTested, textOf: macroText, legend: ofFewer }),
    RECALL_COLUMN,
    ...(measure === undefined ? ofRatings : []),
    ...FURTHER_COLUMNS,
  ];
}

/** The block's columns after the name. */
export function shownColumns(
  figures: readonly BoardColumn[],
  runs: readonly Entry[],
  hasPublished: boolean,
  options: BoardOptions,
  isRated: boolean,
): BoardColumn[] {
  const hasAny = (id: string) => runs.some((run) => run.figures.has(id));
  const columns = [...figures, ...TEXT_COLUMNS];
  if (options.columns.length > 0) return options.columns.flatMap((id) => columns.find((one) => one.id === id) ?? []);
  const shows: Readonly<Record<string, boolean>> = {
    overall: hasPublished || hasAny('overall'),
    'facts-recall': isRated && hasAny('facts-recall'),
    macro: hasAny('macro'),
    official: runs.some(({ run }) => run !== undefined && failuresMatter(run.card)),
    ...Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, options.dimensions])),
    interval: runs.some(({ mean }) => mean?.low !== undefined),
    coverage: true,
  };
  // A further domain may only occur in runs that are not shown.
  const isHad = (id: string, domain: Domain) => hasAny(id) || (hasPublished && isPublished(domain));
  return columns.filter(({ id, figure }) => (figure?.domain === undefined ? shows[id] : isHad(id, figure.domain)));
}

/** Whether the official counting differs from ours anywhere in the run. */
function failuresMatter({ overall, overallWithFailures, domains }: ScoreCard): boolean {
  const sets = [{ scores: overall, withFailures: overallWithFailures }, ...domains];
  return sets.some(
    ({ scores, withFailures }) => Math.abs((scores.total?.value ?? 0) - (withFailures.total?.value ?? 0)) >= 0.005,
  );
}

/** @throws UserError (2) for an unknown column, with the known ones. */
export function requireColumns(domains: readonly Domain[], { columns, sort }: BoardOptions): void {
  const known = [...new Set([...DOMAINS, ...domains.map(domainId), ...RESERVED])];
  for (const id of [...columns, ...(sort === undefined ? [] : [sort])]) {
    if (known.includes(id)) continue;
    const near = nearest(id, known);
    const advice = near === undefined ? '' : `did you mean "${near}"? `;
    throw new UserError(`unknown column "${id}"; ${advice}the columns are ${known.join(', ')}`);
  }
}
