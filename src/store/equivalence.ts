// Decision equivalence in the SQLite file.

import { domainsOfMean, inTableOrder } from '../domains.js';
import type { Equivalence, EquivalenceCard } from '../equivalence.js';
import { DamagedValue, insert, type Row } from './row.js';
import type { Sqlite } from './sqlite.js';

/** The domain of the row that is of the mean over domains. */
const OVERALL = '';
const COLUMNS = ['predicted', 'ceiling', 'floor', 'n', 'clusters', 'gap_low', 'gap_high', 'value', 'low', 'high'];

/** Writes that of a run, which has none in the file. */
export function saveEquivalence(database: Sqlite, runId: number, card: EquivalenceCard | undefined): void {
  if (card === undefined) return;
  const row = insert(database, 'decision_equivalence', ['run_id', 'domain', ...COLUMNS, 'why_none']);
  for (const { domain, ...own } of [...card.domains, { ...card.overall, domain: OVERALL }]) {
    const { predicted, ceiling, floor, rows: n, clusters, gap, found } = own;
    const why = typeof found === 'string' ? found : null;
    const { value = null, interval } = typeof found === 'string' ? {} : found;
    row.run({
      ...{ run_id: runId, domain, predicted, ceiling, floor, n, clusters },
      ...{ gap_low: gap?.low ?? null, gap_high: gap?.high ?? null },
      ...{ value, low: interval?.low ?? null, high: interval?.high ?? null, why_none: why },
    });
  }
}

/** Reads it from a run's rows; undefined where it has none. @throws DamagedValue */
export function equivalenceIn(rows: readonly Row[]): EquivalenceCard | undefined {
  const overall = rows.find((row) => row.text('domain') === OVERALL);
  if (overall === undefined) return undefined;
  const domains = rows
    .filter((row) => row !== overall)
    .map((row) => ({ domain: row.text('domain'), ...partOf(row) }))
    .sort((a, b) => inTableOrder(a.domain, b.domain));
  const macroOf = domainsOfMean(domains.map(({ domain }) => domain)).length;
  return { domains, overall: partOf(overall), macroOf };
}

function partOf(row: Row): Equivalence {
  const gap = intervalIn(row, 'gap_low', 'gap_high');
  return {
    predicted: row.number('predicted'),
    ceiling: row.number('ceiling'),
    floor: row.number('floor'),
    rows: row.number('n'),
    clusters: row.number('clusters'),
    ...(gap === undefined ? {} : { gap }),
    found: foundIn(row),
  };
}

function foundIn(row: Row): Equivalence['found'] {
  const [value, why] = [row.numberIn('value'), row.textIn('why_none')];
  if (value === undefined) {
    if (why === 'few' || why === 'does not look') return why;
    throw new DamagedValue('why_none');
  }
  const interval = intervalIn(row, 'low', 'high');
  return { value, ...(interval === undefined ? {} : { interval }) };
}

function intervalIn(row: Row, from: string, to: string) {
  const [low, high] = [row.numberIn(from), row.numberIn(to)];
  return low === undefined || high === undefined ? undefined : { low, high };
}
