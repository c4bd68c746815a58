// A judged run as CSV, a line for each judgement.

import { countedPoints } from '../../points.js';
import { DIMENSIONS, type JudgedRow } from '../../types.js';
import { csvText } from '../formats/csv.js';

/** Which run lines are of. */
export interface RunNames {
  readonly label: string | undefined;
  /** What tells it from all other runs. */
  readonly id: string;
}

/** Lines are given one by one: of a hundred thousand, no text is made of all. */
export function* rowsCsv(rows: readonly JudgedRow[], { label, id }: RunNames): Generator<string> {
  const measures = [...new Set(rows.flatMap((row) => Object.keys(row.measures ?? {})))].sort();
  yield csvText([[...FIELDS, ...DIMENSIONS, ...SCORED, ...measures.map((name) => `measure_${name}`)]]);
  for (const row of rows) {
    const { failure, rollout } = row;
    const cells = [
      ...[label, id, row.domain, row.key, row.trajectory, row.turnIdx, row.repeat, row.index],
      ...DIMENSIONS.map((dimension) => row.ratings[dimension]),
      // A judged file has a total of 0 where there are no ratings, which would count in a mean of the column.
      ...[
        row.total === 0 ? undefined : row.total,
        countedPoints(row, 'total'),
        failure === undefined ? 'ok' : 'failed',
        failure?.class,
      ],
      ...[failure?.reason, row.flags.join(' '), rollout && JSON.stringify(rollout)],
      ...measures.map((name) => row.measures?.[name]),
    ];
    yield csvText([cells]);
  }
}

const FIELDS = ['label', 'run', 'domain', 'key', 'trajectory', 'turn', 'repeat', 'judgement'] as const;
const SCORED = ['total', 'score', 'status', 'class', 'reason', 'flags', 'rollout'] as const;
