// The tables of the SQLite file back into runs. A value of another type than was stored is damage, and nothing is made of it.

import { ASKED, type RunCosts, type Spending } from '../costs.js';
import { inTableOrder } from '../domains.js';
import { isPrice } from '../price.js';
import { rowId } from '../row-id.js';
import type { DomainScore, Estimate, JudgedRow, ScoreCard } from '../types.js';
import { costIn, JUDGEMENT_KEY, judgedRowOf, READ_COLUMNS } from './columns.js';
import { equivalenceIn } from './equivalence.js';
import type { RunRecord, StoredRun } from './records.js';
import { DamagedValue, type Row, rowsOf, rowsOfRun } from './row.js';
import type { Sqlite } from './sqlite.js';

/** Every run with its scores, in the order of their ids. @throws DamagedValue */
export function readRuns(database: Sqlite): StoredRun[] {
  // One transaction, so that a run replaced meanwhile is read whole.
  return database.reading(() => {
    const runs = rowsOf(database, 'SELECT * FROM runs ORDER BY id');
    const counts = byRun(database, 'domain_counts');
    const scores = byRun(database, 'domain_scores');
    const overall = byRun(database, 'overall_scores');
    const costs = byRun(database, 'run_costs');
    const domainCosts = byRun(database, 'domain_costs');
    const equivalences = byRun(database, 'decision_equivalence');
    return runs.map((run) => {
      const id = run.number('id');
      const of = (rows: ReadonlyMap<number, Row[]>) => rows.get(id) ?? [];
      const card = cardOf(run, of(counts), of(scores), of(overall));
      const equivalence = equivalenceIn(of(equivalences));
      return { ...recordOf(run), costs: costsOf(of(costs), of(domainCosts)), equivalence, id, card };
    });
  });
}

/** A run's judged rows by key, repeat and index; none for an id that is not there. @throws DamagedValue */
export function readJudgements(database: Sqlite, runId: number): JudgedRow[] {
  return database.reading(() => {
    const measures = new Map<string, Record<string, number>>();
    for (const row of rowsOfRun(database, 'measures', MEASURE_COLUMNS, [...JUDGEMENT_KEY, 'name'], runId)) {
      const id = idOf(row);
      const own = measures.get(id) ?? {};
      own[row.text('name')] = row.number('value');
      measures.set(id, own);
    }
    const judged: JudgedRow[] = [];
    for (const row of rowsOfRun(database, 'judgements', Object.keys(READ_COLUMNS), JUDGEMENT_KEY, runId)) {
      judged.push(judgedRowOf(row, measures.get(idOf(row))));
    }
    return judged;
  });
}

const MEASURE_COLUMNS = [...JUDGEMENT_KEY, 'name', 'value'];

function idOf(row: Row): string {
  return rowId(row.text('key'), row.number('repeat'), row.number('judgement_index'));
}

function byRun(database: Sqlite, table: string): ReadonlyMap<number, Row[]> {
  const found = new Map<number, Row[]>();
  for (const row of rowsOf(database, `SELECT * FROM ${table}`)) {
    const id = row.number('run_id');
    const rows = found.get(id);
    if (rows === undefined) found.set(id, [row]);
    else rows.push(row);
  }
  return found;
}

function recordOf(run: Row): RunRecord {
  return {
    identity: run.text('identity'),
    label: run.textIn('label'),
    kind: run.text('kind'),
    source: run.text('source'),
    sourceSha256: run.text('source_sha256'),
    worldModel: run.textIn('world_model'),
    judgeModel: run.textIn('judge_model'),
    rubricPack: run.textIn('rubric_pack'),
    rubricFingerprint: run.textIn('rubric_fingerprint'),
    protocol: run.textIn('protocol'),
    meta: run.object('meta', isAnything),
    manifest: run.textIn('manifest'),
    startedAt: run.textIn('started_at'),
    endedAt: run.textIn('ended_at'),
    scoredAt: run.text('scored_at'),
    toolVersion: run.text('tool_version'),
  };
}

/** Undefined where nothing is known of anybody. */
function costsOf(totals: readonly Row[], domains: readonly Row[]): RunCosts | undefined {
  if (totals.length === 0) return undefined;
  return Object.fromEntries(
    ASKED.flatMap((asked) => {
      const isOwn = (row: Row) => row.text('asked') === asked;
      const total = totals.find(isOwn);
      return total === undefined ? [] : [[asked, spendingOf(total, domains.filter(isOwn))]];
    }),
  );
}

function spendingOf(total: Row, domains: readonly Row[]): Spending {
  const price = total.textIn('price') === undefined ? undefined : total.object('price', isAnything);
  if (price !== undefined && !isPrice(price)) throw new DamagedValue('price');
  const costs = domains.map((row) => [row.text('domain'), costIn(row)] as const);
  const ordered = costs.sort(([a], [b]) => inTableOrder(a, b));
  return { ...(price && { price }), total: costIn(total), domains: new Map(ordered) };
}

function isAnything(_value: unknown): _value is unknown {
  return true;
}

function isNumber(value: unknown): value is number {
  return typeof value === 'number';
}

function cardOf(run: Row, counts: readonly Row[], scores: readonly Row[], overall: readonly Row[]): ScoreCard {
  return {
    domains: counts.map((count) => domainScoreOf(count, scores)).sort((a, b) => inTableOrder(a.domain, b.domain)),
    overall: estimatesOf(overall, 'official'),
    macroOf: run.number('macro_of'),
    overallMicro: estimatesOf(overall, 'micro'),
    overallWithFailures: estimatesOf(overall, 'with_failures'),
    overallMeasures: estimatesOf(overall, 'measure'),
    chosen: run.number('chosen'),
    valid: run.number('valid'),
    failed: run.number('failed'),
    coverage: run.number('coverage'),
  };
}

function domainScoreOf(count: Row, scores: readonly Row[]): DomainScore {
  const domain = count.text('domain');
  const own = scores.filter((score) => score.text('domain') === domain);
  return {
    domain,
    chosen: count.number('chosen'),
    valid: count.number('valid'),
    failed: count.number('failed'),
    failures: count.object('failures', isNumber),
    coverage: count.number('coverage'),
    scores: estimatesOf(own, 'official'),
    withFailures: estimatesOf(own, 'with_failures'),
    measures: estimatesOf(own, 'measure'),
    flags: count.object('flags', isNumber),
  };
}

function estimatesOf(rows: readonly Row[], kind: string): Record<string, Estimate> {
  const own = rows.filter((row) => row.text('kind') === kind);
  return Object.fromEntries(own.map((row) => [row.text('dimension'), estimateOf(row)]));
}

function estimateOf(row: Row): Estimate {
  const [se, df, low, high] = [row.numberIn('se'), row.numberIn('df'), row.numberIn('low'), row.numberIn('high')];
  return {
    value: row.number('value'),
    rows: row.number('n'),
    clusters: row.number('clusters'),
    ...(se === undefined ? {} : { se }),
    ...(df === undefined ? {} : { df }),
    ...(low === undefined ? {} : { low }),
    ...(high === undefined ? {} : { high }),
  };
}
