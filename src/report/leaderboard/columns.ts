// The columns of a leaderboard: what can be shown of a run, and which of it is shown.

import type { Asked } from '../../core/costs.js';
import { domainName, inTableOrder } from '../../core/domains.js';
import { nearest, UserError } from '../../core/errors.js';
import { dollars, twoDecimals } from '../../core/figures.js';
import { FACTS_RECALL } from '../../core/judgement.js';
import { oneLine } from '../../core/printable.js';
import { type Column, dimensionName, intervalCell, NONE } from '../../core/table.js';
import { DIMENSIONS, DOMAINS, type Domain } from '../../core/types.js';
import { percent } from '../../stats/coverage.js';
import { PUBLISHED_SOURCE } from '../published.js';
import type { BoardColumn, BoardFigure, BoardOptions, Entry, FigureOf } from './board.js';
import {
  type Counted,
  countedFigure,
  domainsOf,
  failuresMatter,
  isWhole,
  measuredFigure,
  NAME_COLUMNS,
} from './runs.js';

export interface TextColumn extends BoardColumn {
  of(entry: Entry): string;
}

export interface FigureColumn extends BoardColumn {
  readonly figure: FigureOf;
  /** Means over domains are comparable only over the same domains. */
  readonly isMean: boolean;
  /** Whether runs are held against each other in it. */
  readonly isTested: boolean;
  /** Whether a smaller figure is better, whatever the block shows. */
  readonly isLowerBetter?: true;
  figureOf(run: Counted): BoardFigure | undefined;
  /** The figure as the row shows it, where that is more than its value. */
  textOf?(figure: BoardFigure, entry: Entry): string;
}

function figureColumn(
  id: string,
  heading: string,
  figure: FigureOf,
  figureOf: FigureColumn['figureOf'],
  more: Partial<FigureColumn> = {},
): FigureColumn {
  const column = { id, heading, short: heading, align: 'right', figure, figureOf } as const;
  return { ...column, isMean: true, isTested: true, ...more };
}

function textColumn(id: string, heading: string, align: Column['align'], of: TextColumn['of']): TextColumn {
  return { id, heading, short: heading, align, of };
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

function shown(text: string | undefined): string {
  return oneLine(text ?? '', NAME_COLUMNS) || NONE;
}

const UNTESTED = { isMean: false, isTested: false } as const;

function costColumn(id: string, heading: string, asked: Asked): FigureColumn {
  const figureOf = ({ run }: Counted): BoardFigure | undefined => {
    const { usd, unpriced } = run.costs?.[asked]?.total ?? {};
    return usd === undefined ? undefined : { value: usd, ...(unpriced === 0 ? {} : { isLeast: true }) };
  };
  const textOf = ({ value, isLeast }: BoardFigure) => `${isLeast ? '≥ ' : ''}${dollars(value)}`;
  return figureColumn(id, heading, { name: id }, figureOf, { ...UNTESTED, isLowerBetter: true, textOf });
}

/** What is shown where it is asked for; of the first one also beside the mean, where any rated run has it. */
const FURTHER_COLUMNS: readonly FigureColumn[] = [
  // How much of what was determined the predictions met, by their judge's checklists.
  figureColumn(
    'facts-recall',
    'Facts recall',
    { name: FACTS_RECALL },
    ({ run }) => measuredFigure(run.card.overallMeasures, FACTS_RECALL),
    { short: 'Facts', ...UNTESTED },
  ),
  // How far the predictions lead an agent where the truth leads it, over all domains.
  figureColumn(
    'decision-equivalence',
    'Decision eq.',
    { name: 'decision_equivalence' },
    ({ run }) => {
      const found = run.equivalence?.overall.found;
      return found === undefined || typeof found === 'string' ? undefined : { value: found.value, ...found.interval };
    },
    { short: 'Dec. eq.', ...UNTESTED },
  ),
  costColumn('cost', 'Cost', 'world_model'),
  costColumn('judge-cost', 'Judge cost', 'judge'),
  // Output of the rows that the server counted.
  figureColumn(
    'tokens',
    'Tokens a row',
    { name: 'tokens' },
    ({ run }) => {
      const { rows = 0, usage } = run.costs?.world_model?.total ?? {};
      const tokens = usage?.completionTokens;
      return tokens === undefined || rows === 0 ? undefined : { value: tokens / rows, rows };
    },
    {
      ...UNTESTED,
      isLowerBetter: true,
      short: 'Tokens',
      textOf: ({ value }) => Math.round(value).toLocaleString('en'),
    },
  ),
];

/** Ids with a meaning of their own: a domain of such a name is known as `domain:NAME`. */
const RESERVED = [
  ...['overall', 'macro', 'official', ...DIMENSIONS, ...FURTHER_COLUMNS.map(({ id }) => id)],
  ...['name', ...TEXT_COLUMNS.map(({ id }) => id)],
];

function domainId(domain: Domain): string {
  return RESERVED.includes(domain) ? `domain:${domain}` : domain;
}

function domainColumn(domain: Domain, measure: string | undefined): FigureColumn {
  const heading = domainName(domain);
  const figureOf = ({ run }: Counted) => {
    const score = run.card.domains.find((each) => each.domain === domain);
    if (score === undefined) return undefined;
    return measure === undefined
      ? countedFigure(score.withFailures, score.scores, 'total')
      : measuredFigure(score.measures, measure);
  };
  const short = domain === 'terminal' ? 'Term.' : heading;
  return figureColumn(domainId(domain), heading, { domain, name: measure ?? 'total' }, figureOf, {
    isMean: false,
    short,
  });
}

/** Every column of figures that a block can have, those among them that one may only be sorted by. */
export function figureColumns(runs: readonly Counted[], measure: string | undefined): FigureColumn[] {
  const isRated = measure === undefined;
  const name = measure ?? 'total';
  const having = runs.flatMap(({ rows }) => [...rows.keys()]);
  const domains = [...new Set([...DOMAINS, ...having])].sort(inTableOrder);
  const [recall, ...further] = FURTHER_COLUMNS;
  return [
    ...domains.map((domain) => domainColumn(domain, measure)),
    figureColumn('overall', isRated ? 'Overall' : 'Mean', { name }, (run) => (isWhole(run) ? run.mean : undefined)),
    figureColumn('macro', 'Fewer domains', { name }, (run) => (isWhole(run) ? undefined : run.mean), {
      textOf: ({ value }, entry) => `macro of ${domainsOf(entry).length}: ${twoDecimals(value)}`,
    }),
    ...(recall === undefined ? [] : [recall]),
    ...(isRated
      ? [
          figureColumn('official', 'Official', { name }, ({ run }) => run.card.overall.total, { isTested: false }),
          ...DIMENSIONS.map((dimension) =>
            figureColumn(dimension, dimensionName(dimension), { name: dimension }, ({ run: { card } }) =>
              countedFigure(card.overallWithFailures, card.overall, dimension),
            ),
          ),
        ]
      : []),
    ...further,
  ];
}

/** The block's columns behind the name. */
export function columnsOf(
  figures: readonly FigureColumn[],
  runs: readonly Counted[],
  hasPublished: boolean,
  options: BoardOptions,
  measure: string | undefined,
): (FigureColumn | TextColumn)[] {
  const known = [...figures, ...TEXT_COLUMNS];
  const byId = new Map(known.map((column) => [column.id, column]));
  if (options.columns.length > 0) return options.columns.flatMap((id) => byId.get(id) ?? []);
  const hasAny = (id: string) => figures.some((column) => column.id === id && runs.some((run) => column.figureOf(run)));
  const shows: Readonly<Record<string, boolean>> = {
    overall: hasPublished || runs.some(isWhole),
    'facts-recall': measure === undefined && hasAny('facts-recall'),
    macro: hasAny('macro'),
    official: runs.some(({ run }) => failuresMatter(run.card)),
    ...Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, options.dimensions])),
    interval: runs.some(({ mean }) => mean?.low !== undefined),
    coverage: true,
    rows: true,
  };
  return known.filter(({ id, figure }) =>
    figure?.domain === undefined ? shows[id] === true : hasPublished || hasAny(id),
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
