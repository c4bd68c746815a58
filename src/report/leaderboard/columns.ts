// The columns of a leaderboard: what can be shown of a run, and which of it is shown.

import type { Asked } from '../../core/costs.js';
import { domainName, inTableOrder } from '../../core/domains.js';
import { nearest, UserError } from '../../core/errors.js';
import { twoDecimals } from '../../core/figures.js';
import { FACTS_RECALL } from '../../core/judgement.js';
import { dollars } from '../../core/money.js';
import { oneLine } from '../../core/printable.js';
import { type Column, dimensionName, intervalCell, NONE } from '../../core/table.js';
import { DIMENSIONS, type Dimension, DOMAINS, type Domain } from '../../core/types.js';
import { percent } from '../../stats/coverage.js';
import { PUBLISHED_SOURCE } from '../published.js';
import {
  type BoardColumn,
  type BoardFigure,
  type BoardOptions,
  type BoardRun,
  type Entry,
  type FigureOf,
  isMeasured,
  measuresIn,
} from './board.js';
import {
  countedFigure,
  domainsHaving,
  domainsOf,
  failuresMatter,
  isWhole,
  meanOf,
  measuredFigure,
  NAME_COLUMNS,
} from './runs.js';

export interface FigureColumn extends BoardColumn {
  readonly isFigure: true;
  readonly figure: FigureOf;
  /** Means over domains are comparable only over the same domains. */
  readonly isMean: boolean;
  /** Whether runs are held against each other in it. */
  readonly isTested: boolean;
  /** Whether a smaller figure is better, whatever the block shows. */
  readonly isLowerBetter?: true;
  of(run: BoardRun): BoardFigure | undefined;
  /** The figure as the row shows it, where that is more than its value. */
  textOf?(figure: BoardFigure, run: BoardRun): string;
}

interface TextColumn extends BoardColumn {
  readonly isFigure: false;
  of(row: Entry): string;
}

export type AnyColumn = FigureColumn | TextColumn;

const SHORT_NAMES: ReadonlyMap<Domain, string> = new Map([['terminal', 'Term.']]);

function figureColumn(
  id: string,
  heading: string,
  figure: FigureOf,
  of: FigureColumn['of'],
  more: Partial<FigureColumn> = {},
): FigureColumn {
  return {
    id,
    heading,
    short: heading,
    align: 'right',
    isFigure: true,
    isMean: true,
    isTested: true,
    figure,
    of,
    ...more,
  };
}

function textColumn(id: string, heading: string, align: Column['align'], of: TextColumn['of']): TextColumn {
  return { id, heading, short: heading, align, isFigure: false, of };
}

export const TEXT_COLUMNS: readonly TextColumn[] = [
  textColumn('interval', '95 %', 'right', ({ mean }) => intervalCell(mean)),
  textColumn('coverage', 'Coverage', 'right', ({ run }) => (run === undefined ? NONE : percent(run.card.coverage))),
  {
    ...textColumn('rows', 'Predictions', 'right', ({ run }) =>
      run === undefined ? String(PUBLISHED_SOURCE.rows) : `${run.card.valid}/${run.card.chosen}`,
    ),
    short: 'Pred.',
  },
  textColumn('model', 'World model', 'left', ({ run }) => shown(run?.worldModel)),
  textColumn('judge', 'Judge', 'left', ({ run }) =>
    run === undefined ? PUBLISHED_SOURCE.judge : shown(run.judgedWith.snapshot ?? run.judgedWith.judge),
  ),
  textColumn('rubrics', 'Rubric pack', 'left', ({ run }) =>
    run === undefined ? 'official' : shown(run.judgedWith.rubricPack),
  ),
  textColumn('date', 'Date', 'left', ({ run }) => shown(run?.at.slice(0, 10))),
];

const NOT_SCORES = { isMean: false, isTested: false, isLowerBetter: true } as const;

function costColumn(id: string, heading: string, asked: Asked): FigureColumn {
  const of = ({ costs }: BoardRun): BoardFigure | undefined => {
    const { usd, unpriced } = costs?.[asked]?.total ?? {};
    if (usd === undefined) return undefined;
    return unpriced === 0 ? { value: usd } : { value: usd, isLeast: true };
  };
  const textOf = ({ value, isLeast }: BoardFigure) => `${isLeast ? '≥ ' : ''}${dollars(value)}`;
  return figureColumn(id, heading, { name: id }, of, { ...NOT_SCORES, textOf });
}

/** Output tokens a row, of the rows that the server counted. */
function tokensOf({ costs }: BoardRun): BoardFigure | undefined {
  const { rows = 0, usage } = costs?.world_model?.total ?? {};
  return usage?.completionTokens === undefined || rows === 0
    ? undefined
    : { value: usage.completionTokens / rows, rows };
}

/** What a run took; shown where it is asked for. */
const COST_COLUMNS: readonly FigureColumn[] = [
  costColumn('cost', 'Cost', 'world_model'),
  costColumn('judge-cost', 'Judge cost', 'judge'),
  figureColumn('tokens', 'Tokens a row', { name: 'tokens' }, tokensOf, {
    ...NOT_SCORES,
    short: 'Tokens',
    textOf: ({ value }) => Math.round(value).toLocaleString('en'),
  }),
];

/** How much of what was determined the predictions met, by their judge's checklists; shown beside the mean where any run has it. */
const RECALL_COLUMN = figureColumn(
  'facts-recall',
  'Facts recall',
  { name: FACTS_RECALL },
  ({ card }) => measuredFigure(card.overallMeasures, FACTS_RECALL),
  { short: 'Facts', isMean: false, isTested: false },
);

/** How far the predictions lead an agent where the truth leads it, over all domains; shown where it is asked for. */
const EQUIVALENCE_COLUMN = figureColumn(
  'decision-equivalence',
  'Decision eq.',
  { name: 'decision_equivalence' },
  ({ equivalence }) => {
    const found = equivalence?.overall.found;
    return found === undefined || typeof found === 'string' ? undefined : { value: found.value, ...found.interval };
  },
  { short: 'Dec. eq.', isMean: false, isTested: false },
);

/** Ids with a meaning of their own: a domain of such a name is known as `domain:NAME`. */
const MEANS = ['overall', 'macro', 'official', ...DIMENSIONS];
const RESERVED = [
  ...MEANS,
  RECALL_COLUMN.id,
  EQUIVALENCE_COLUMN.id,
  ...COST_COLUMNS.map(({ id }) => id),
  'name',
  ...TEXT_COLUMNS.map(({ id }) => id),
];

function domainColumn(domain: Domain, measure: string | undefined): FigureColumn {
  const name = measure ?? 'total';
  const heading = domainName(domain);
  const short = SHORT_NAMES.get(domain) ?? heading;
  const of = ({ card }: BoardRun) => {
    const score = card.domains.find((each) => each.domain === domain);
    if (score === undefined) return undefined;
    return measure === undefined
      ? countedFigure(score.withFailures, score.scores, 'total')
      : measuredFigure(score.measures, measure);
  };
  return figureColumn(domainId(domain), heading, { domain, name }, of, { isMean: false, short });
}

function domainId(domain: Domain): string {
  return RESERVED.includes(domain) ? `domain:${domain}` : domain;
}

function meanColumns(measure: string | undefined): FigureColumn[] {
  const name = measure ?? 'total';
  const overall = ({ card }: BoardRun) => (isWhole(card, measure) ? meanOf(card, measure) : undefined);
  const macro = ({ card }: BoardRun) => (isWhole(card, measure) ? undefined : meanOf(card, measure));
  const macroText = (figure: BoardFigure, { card }: BoardRun) =>
    `macro of ${domainsOf(card, measure).length}: ${twoDecimals(figure.value)}`;
  const means = [
    figureColumn('overall', measure === undefined ? 'Overall' : 'Mean', { name }, overall),
    figureColumn('macro', 'Fewer domains', { name }, macro, { textOf: macroText }),
  ];
  if (measure !== undefined) return means;
  const dimensions = DIMENSIONS.map((dimension: Dimension) =>
    figureColumn(dimension, dimensionName(dimension), { name: dimension }, ({ card }) =>
      countedFigure(card.overallWithFailures, card.overall, dimension),
    ),
  );
  const official = figureColumn('official', 'Official', { name }, ({ card }) => card.overall.total, {
    isTested: false,
  });
  return [...means, official, ...dimensions];
}

/** Every column of figures that a block can have, those among them that one may only be sorted by. */
export function figureColumns(runs: readonly BoardRun[], measure: string | undefined): FigureColumn[] {
  const having = runs.flatMap((run) => domainsHaving(run.card, measure));
  const domains = [...new Set([...DOMAINS, ...having])].sort(inTableOrder);
  const [overall, macro, ...means] = meanColumns(measure);
  return [
    ...domains.map((domain) => domainColumn(domain, measure)),
    ...[overall, macro, RECALL_COLUMN].filter((column) => column !== undefined),
    ...means,
    EQUIVALENCE_COLUMN,
    ...COST_COLUMNS,
  ];
}

/** The block's columns behind the name. */
export function columnsOf(
  figures: readonly FigureColumn[],
  runs: readonly BoardRun[],
  hasPublished: boolean,
  options: BoardOptions,
  measure: string | undefined,
): AnyColumn[] {
  const known: AnyColumn[] = [...figures, ...TEXT_COLUMNS];
  const byId = new Map(known.map((column) => [column.id, column]));
  if (options.columns.length > 0) return options.columns.flatMap((id) => byId.get(id) ?? []);
  const cards = runs.map((run) => run.card);
  const domains = figures.filter(({ figure: { domain } }) => domain !== undefined);
  const showsDomain = (column: FigureColumn) => hasPublished || runs.some((run) => column.of(run) !== undefined);
  const shows: Readonly<Record<string, boolean>> = {
    overall: hasPublished || cards.some((card) => isWhole(card, measure)),
    [RECALL_COLUMN.id]: measure === undefined && runs.some((run) => RECALL_COLUMN.of(run) !== undefined),
    macro: cards.some((card) => !isWhole(card, measure) && meanOf(card, measure) !== undefined),
    official: cards.some(failuresMatter),
    ...Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, options.dimensions])),
    interval: cards.some((card) => meanOf(card, measure)?.low !== undefined),
    coverage: true,
    rows: true,
  };
  return [...domains.filter(showsDomain), ...known.filter(({ id }) => shows[id] === true)];
}

/** @throws UserError (2) that lists the columns there are. */
export function requireColumns(runs: readonly BoardRun[], { columns, sort }: BoardOptions): void {
  const domains = runs.flatMap(({ card }) => card.domains.map(({ domain }) => domainId(domain)));
  const known = [...new Set([...DOMAINS, ...domains, ...RESERVED])];
  for (const id of [...columns, ...(sort === undefined ? [] : [sort])]) {
    if (known.includes(id)) continue;
    const near = nearest(id, known);
    const advice = near === undefined ? '' : `did you mean "${near}"? `;
    throw new UserError(`unknown column "${id}"; ${advice}The columns are ${known.join(', ')}`);
  }
}

/** @throws UserError (2) where runs were measured, and none of them by this measure. */
export function requireMeasure(runs: readonly BoardRun[], measure: string | undefined): void {
  const measured = runs.filter(({ judgedWith }) => isMeasured(judgedWith));
  const known = measuresIn(measured);
  if (measure === undefined || known.length === 0 || known.includes(measure)) return;
  throw new UserError(`unknown measure "${measure}"; the runs have ${known.join(', ')}`);
}

function shown(text: string | undefined): string {
  return oneLine(text ?? '', NAME_COLUMNS) || NONE;
}
