// The scores of a run as CSV, a line for each figure.

import { csvText } from '../formats/csv.js';
import type { NamedFigure } from './figures.js';
import type { RunNames } from './rows-csv.js';

const FIELDS = ['label', 'run', 'domain', 'kind', 'figure', 'value', 'low', 'high', 'se', 'df', 'rows', 'trajectories'];

export function scoresCsv(figures: readonly NamedFigure[], { label, id }: RunNames): string {
  const lines = figures.map(({ domain, kind, figure, estimate }) => {
    const { value, low, high, se, df, rows, clusters } = estimate;
    return [label, id, domain, kind, figure, value, low, high, se, df, rows, clusters];
  });
  return csvText([FIELDS, ...lines]);
}
