// A judged run as CSV: one line per judgement, or per figure of its score card.

import { countedPoints } from '../core/points.js';
import { DIMENSIONS, type Estimate, type JudgedRow, type ScoreCard } from '../core/types.js';
import { csvText } from './markup.js';

/** The run that lines belong to. */
export interface RunNames {
  readonly label: string | undefined;
  /** Distinguishes it from all other runs. */
  readonly id: string;
}

/** The judgements of a run, line by line, so that a hundred thousand are never in one text. */
export function* rowsCsv(rows: readonly JudgedRow[], { label, id }: RunNames): Generator<string> {
  const measures = [...new Set(rows.flatMap((row) => Object.keys(row.measures ?? {})))].sort();
  yield csvText([[...ROW_FIELDS, ...DIMENSIONS, ...SCORED, ...measures.map((name) => `measure_${name}`)]]);
  for (const row of rows) {
    const { failure, rollout } = row;
    const cells = [
      label,
      id,
      row.domain,
      row.key,
      row.trajectory,
      row.turnIdx,
      row.repeat,
      row.index,
      ...DIMENSIONS.map((dimension) => row.ratings[dimension]),
      // Without ratings a judged file has a total of 0, which would distort a mean of the column.
      row.total === 0 ? undefined : row.total,
      countedPoints(row, 'total'),
      failure === undefined ? 'ok' : 'failed',
      failure?.class,
      failure?.reason,
      row.flags.join(' '),
      rollout && JSON.stringify(rollout),
      ...measures.map((name) => row.measures?.[name]),
    ];
    yield csvText([cells]);
  }
}

const ROW_FIELDS = ['label', 'run', 'domain', 'key', 'trajectory', 'turn', 'repeat', 'judgement'] as const;
const SCORED = ['total', 'score', 'status', 'class', 'reason', 'flags', 'rollout'] as const;

/**
 * The figures of a score card for other programs. Domain: those of the card in order, then `overall` for the mean over domains. Kind:
 * `official` as the script counts, `with_failures` with the model's failures at the lowest rating, or `measure`. Figure: `total`, a
 * dimension, or a measure's name.
 */
export function figuresOf({ domains, ...card }: ScoreCard) {
  const { overall: scores, overallWithFailures: withFailures, overallMeasures: measures } = card;
  return [...domains, { domain: 'overall', scores, withFailures, measures }].flatMap(({ domain, ...of }) =>
    Object.entries({ official: of.scores, with_failures: of.withFailures, measure: of.measures }).flatMap(
      ([kind, set]) => Object.entries<Estimate>(set).map(([figure, estimate]) => ({ domain, kind, figure, estimate })),
    ),
  );
}

const SCORE_FIELDS = 'label,run,domain,kind,figure,value,low,high,se,df,rows,trajectories'.split(',');

/** The scores of a run, one line per figure. */
export function scoresCsv(card: ScoreCard, { label, id }: RunNames): string {
  const lines = figuresOf(card).map(({ domain, kind, figure, estimate }) => {
    const { value, low, high, se, df, rows, clusters } = estimate;
    return [label, id, domain, kind, figure, value, low, high, se, df, rows, clusters];
  });
  return csvText([SCORE_FIELDS, ...lines]);
}
