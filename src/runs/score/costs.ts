// What a judged run cost, by row, domain and run: as the journals tell, else as the manifests do.

import { dirname, resolve } from 'node:path';
import { readCosts } from '../../bench/costs.js';
import { costsByDomain, type RunCosts, type Spending, type Spent, sumOf } from '../../costs.js';
import { isObject } from '../../json.js';
import type { Price } from '../../price.js';
import { rowId } from '../../row-id.js';
import type { Manifest } from '../../run/manifest.js';
import { readManifest } from '../../run/manifest-file.js';
import type { StoredJudgement } from '../../store/records.js';
import type { Domain, JudgedRow } from '../../types.js';
import { manifestSpending } from '../costs.js';
import { journalBeside, manifestBeside } from '../judged-path.js';
import type { RunPrices } from './prices.js';

/** A judged file that was read. */
interface JudgedRun {
  /** Absolute path of the judged file. */
  readonly source: string;
  readonly manifest: Manifest | undefined;
  readonly rows: readonly JudgedRow[];
}

interface CountedRun {
  /** Each row with what judging it took, and its prediction. */
  readonly judgements: readonly StoredJudgement[];
  readonly costs: RunCosts;
}

/**
 * Reads what a run cost. A prediction that was judged several times was made once, and its cost is counted once.
 * @throws UserError: 66 for a journal that is there and cannot be read, 65 for a manifest, 130 or 143 once `stop` is aborted.
 */
export async function countCosts(run: JudgedRun, prices: RunPrices, stop?: AbortSignal): Promise<CountedRun> {
  const { source, manifest, rows } = run;
  const journal = await predictionsJournal(run);
  const predicted = journal === undefined ? undefined : await readCosts(journal, prices.world_model, stop);
  const judged = await readCosts(journalBeside(source), prices.judge, stop);
  const judgements = rows.map((row) => {
    const { log, usd } = judged?.get(rowId(row.key, row.repeat, row.index)) ?? {};
    return { row, log, usd, prediction: predicted?.get(rowId(row.key, row.repeat)) };
  });
  const predictions = [...new Map(rows.map((row) => [rowId(row.key, row.repeat), row])).entries()];
  const worldModel =
    predicted === undefined
      ? manifestSpending('world_model', manifest?.predictions)
      : spendingOf(
          predictions.map(([id, { domain }]) => [domain, predicted.get(id)]),
          prices.world_model,
        );
  const judge =
    judged === undefined
      ? manifestSpending('judge', manifest)
      : spendingOf(
          judgements.map(({ row, log, usd }) => [row.domain, spentOf(log, usd)]),
          prices.judge,
        );
  return { judgements, costs: { ...(worldModel && { world_model: worldModel }), ...(judge && { judge }) } };
}

function spentOf(log: Spent['log'], usd: Spent['usd']): Spent {
  return { ...(log && { log }), ...(usd === undefined ? {} : { usd }) };
}

function spendingOf(rows: Iterable<readonly [Domain, Spent | undefined]>, price: Price | undefined): Spending {
  const domains = costsByDomain(rows);
  return { ...(price && { price }), total: sumOf(domains.values()), domains };
}

/** The journal of the predictions that were judged; undefined where nobody knows where it lies, or another run lies there by now. */
async function predictionsJournal({ source, manifest }: JudgedRun): Promise<string | undefined> {
  const { predictions } = manifest?.identity ?? {};
  if (!isObject(predictions) || typeof predictions.file !== 'string') return undefined;
  const file = resolve(dirname(source), predictions.file);
  // One that is damaged keeps nobody from scoring.
  const there = await readManifest(manifestBeside(file)).catch(() => undefined);
  return there?.startedAt === manifest?.predictions?.startedAt ? journalBeside(file) : undefined;
}
