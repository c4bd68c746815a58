// The columns of a leaderboard: what can be shown of a run, and which of it is shown.

import type { Asked } from '../../core/costs.js';
import { coversBenchmark, domainName, domainsOfMean, inTableOrder } from '../../core/domains.js';
import { nearest, present, UserError } from '../../core/errors.js';
import { dollars, twoDecimals } from '../../core/figures.js';
import { FACTS_RECALL } from '../../core/judgement.js';
import { oneLine } from '../../core/printable.js';
import { type Column, columnsOf, dimensionName, intervalCell, NONE } from '../../core/table.js';
import { DIMENSIONS, DOMAINS, type Domain, type Estimate, type ScoreCard, type ScoreSet } from '../../core/types.js';
import { percent } from '../../stats/coverage.js';
import { PUBLISHED_SOURCE } from '../published.js';
import type { BoardColumn, BoardFigure, BoardOptions, Entry } from './board.js';
import { NAME_COLUMNS } from './runs.js';

/** A column by its headings, as `columnsOf` has them. */
function column(id: string, headings: string, more: Omit<BoardColumn, 'id' | keyof Column>): BoardColumn {
  return { id, ...present(columnsOf(headings)[0]), ...more };
}

function shown(text: string | undefined): string {
  return oneLine(text ?? '', NAME_COLUMNS) || NONE;
}

export const NAME_COLUMN = column('name', '<Run', { textOf: ({ name }) => name });

export const TEXT_COLUMNS: readonly BoardColumn[] = [
  column('interval', '95 %', { textOf: ({ mean }) => intervalCell(mean) }),
  column('coverage', 'Coverage', { textOf: ({ run }) => (run === undefined ? NONE : percent(run.card.coverage)) }),
  column('rows', 'Predictions|Pred.', {
    textOf: ({ run }) => (run === undefined ? String(PUBLISHED_SOURCE.rows) : `${run.card.valid}/${run.card.chosen}`),
  }),
  column('model', '<World model', { textOf: ({ run }) => shown(run?.worldModel) }),
  column('judge', '<Judge', {
    textOf: ({ run }) => shown(run ? (run.judgedWith.snapshot ?? run.judgedWith.judge) : PUBLISHED_SOURCE.judge),
  }),
  column('rubrics', '<Rubric pack', { textOf: ({ run }) => shown(run ? run.judgedWith.rubricPack : 'official') }),
  column('date', '<Date', { textOf: ({ run }) => shown(run?.at.slice(0, 10)) }),
];

function costColumn(id: string, heading: string, asked: Asked): BoardColumn {
  return column(id, heading, {
    figure: { name: id },
    isLowerBetter: true,
    figureOf({ run }) {
      const { usd, unpriced } = run.costs?.[asked]?.total ?? {};
      return usd === undefined ? undefined : { value: usd, ...(unpriced === 0 ? {} : { isLeast: true }) };
    },
    textOf: (_, { value, isLeast } = { value: 0 }) => `${isLeast ? '≥ ' : ''}${dollars(value)}`,
  });
}

/** How much of what was determined the predictions met, by their judge's checklists; shown beside the mean where any rated run has it. */
const RECALL_COLUMN = column('facts-recall', 'Facts recall|Facts', {
  figure: { name: FACTS_RECALL },
  figureOf: ({ run }) => measuredFigure(run.card.overallMeasures, FACTS_RECALL),
});

/** What is shown where it is asked for. */
const FURTHER_COLUMNS: readonly BoardColumn[] = [
  // How far the predictions lead an agent where the truth leads it, over all domains.
  column('decision-equivalence', 'Decision eq.|Dec. eq.', {
    figure: { name: 'decision_equivalence' },
    figureOf({ run }) {
      const found = run.equivalence?.overall.found;
      return typeof found === 'object' ? { value: found.value, ...found.interval } : undefined;
    },
  }),
  costColumn('cost', 'Cost', 'world_model'),
  costColumn('judge-cost', 'Judge cost', 'judge'),
  // Output of the rows that the server counted.
  column('tokens', 'Tokens a row|Tokens', {
    figure: { name: 'tokens' },
    isLowerBetter: true,
    figureOf({ run }) {
      const { rows = 0, usage } = run.costs?.world_model?.total ?? {};
      const tokens = usage?.completionTokens;
      return tokens === undefined || rows === 0 ? undefined : { value: tokens / rows, rows };
    },
    textOf: (_, { value } = { value: 0 }) => Math.round(value).toLocaleString('en'),
  }),
];

/** Ids with a meaning of their own: a domain of such a name is known as `domain:NAME`. */
const RESERVED = [
  ...['overall', 'macro', 'official', ...DIMENSIONS],
  ...[RECALL_COLUMN, ...FURTHER_COLUMNS, NAME_COLUMN, ...TEXT_COLUMNS].map(({ id }) => id),
];

function domainId(domain: Domain): string {
  return RESERVED.includes(domain) ? `domain:${domain}` : domain;
}

/** A figure of our own counting, with the model's failures at rating 1, beside the official one. */
export function countedFigure(own: ScoreSet, official: ScoreSet, name: keyof ScoreSet): BoardFigure | undefined {
  const [figure, asPublished] = [own[name], official[name]];
  return figure && { ...figure, official: asPublished?.value };
}

/** A measure's figure; undefined where there is none. */
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

/** Every column of figures that a block can have, those among them that one may only be sorted by. */
export function figureColumns(domains: readonly Domain[], measure: string | undefined): BoardColumn[] {
  const mean = { figure: { name: measure ?? 'total' }, isMean: true, isTested: true };
  const isWhole = ({ rows }: Pick<Entry, 'rows'>) => coversBenchmark([...rows.keys()]);
  const ofRatings = [
    column('official', 'Official', { ...mean, isTested: false, figureOf: ({ run }) => run.card.overall.total }),
    ...DIMENSIONS.map((name) =>
      column(name, dimensionName(name), {
        ...mean,
        figure: { name },
        figureOf: ({ run: { card } }) => countedFigure(card.overallWithFailures, card.overall, name),
      }),
    ),
  ];
  return [
    ...[...new Set([...DOMAINS, ...domains])].sort(inTableOrder).map((domain) => domainColumn(domain, measure)),
    column('overall', measure === undefined ? 'Overall' : 'Mean', {
      ...mean,
      figureOf: (run) => (isWhole(run) ? run.mean : undefined),
    }),
    column('macro', 'Fewer domains', {
      ...mean,
      figureOf: (run) => (isWhole(run) ? undefined : run.mean),
      textOf: ({ rows }, { value } = { value: 0 }) =>
        `macro of ${domainsOfMean([...rows.keys()]).length}: ${twoDecimals(value)}`,
    }),
    RECALL_COLUMN,
    ...(measure === undefined ? ofRatings : []),
    ...FURTHER_COLUMNS,
  ];
}

/** The block's columns behind the name. */
export function shownColumns(
  figures: readonly BoardColumn[],
  runs: readonly Entry[],
  hasPublished: boolean,
  options: BoardOptions,
  isRated: boolean,
): BoardColumn[] {
  const known = [...figures, ...TEXT_COLUMNS];
  if (options.columns.length > 0) return options.columns.flatMap((id) => known.find((one) => one.id === id) ?? []);
  const hasAny = (id: string) => runs.some((run) => run.figures.has(id));
  const shows: Readonly<Record<string, boolean>> = {
    overall: hasPublished || hasAny('overall'),
    'facts-recall': isRated && hasAny('facts-recall'),
    macro: hasAny('macro'),
    official: runs.some(({ run }) => run !== undefined && failuresMatter(run.card)),
    ...Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, options.dimensions])),
    interval: runs.some(({ mean }) => mean?.low !== undefined),
    coverage: true,
    rows: true,
  };
  return known.filter(({ id, figure }) => (figure?.domain === undefined ? shows[id] : hasPublished || hasAny(id)));
}

/** Whether the official counting gives another figure than ours anywhere in the run. */
function failuresMatter({ overall, overallWithFailures, domains }: ScoreCard): boolean {
  const sets = [{ scores: overall, withFailures: overallWithFailures }, ...domains];
  return sets.some(
    ({ scores, withFailures }) => Math.abs((scores.total?.value ?? 0) - (withFailures.total?.value ?? 0)) >= 0.005,
  );
}

/** @throws UserError (2) that lists the columns there are. */
export function requireColumns(domains: readonly Domain[], { columns, sort }: BoardOptions): void {
  const known = [...new Set([...DOMAINS, ...domains.map(domainId), ...RESERVED])];
  for (const id of [...columns, ...(sort === undefined ? [] : [sort])]) {
    if (known.includes(id)) continue;
    const near = nearest(id, known);
    const advice = near === undefined ? '' : `did you mean "${near}"? `;
    throw new UserError(`unknown column "${id}"; ${advice}The columns are ${known.join(', ')}`);
  }
}
