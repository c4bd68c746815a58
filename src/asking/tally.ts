// What a run has come to: rows chosen, done and failed, and the tokens that they cost.

import { present } from '../present.js';
import { costOf } from '../price.js';
import type { Counts, DomainCost, Manifest } from '../run/manifest.js';
import type { Domain, Usage } from '../types.js';
import { addUsage } from '../usage.js';
import { type Stage, type StageJob, summaryOf } from './stage-contract.js';

/** Rows by domain, each once however often it is judged, those that cannot be asked included: the denominator of coverage. */
export function chosenOf<J extends StageJob>({ rows, absent }: Stage<J>): Record<string, number> {
  const chosen: Record<string, number> = {};
  for (const { domain, isFurther } of rows) {
    if (!isFurther) chosen[domain] = (chosen[domain] ?? 0) + 1;
  }
  for (const [domain, count] of Object.entries(absent)) chosen[domain] = (chosen[domain] ?? 0) + count;
  return chosen;
}

/** Totals come from the rows themselves, every time, so that no interruption can make them drift. */
export function countsOf<J extends StageJob>(stage: Stage<J>): Counts {
  const failures: Record<string, number> = {};
  const flags: Record<string, number> = {};
  let ok = 0;
  let failed = 0;
  for (const job of stage.rows) {
    const summary = summaryOf(stage, job);
    if (summary === undefined) continue;
    if (summary.status === 'ok') ok++;
    else {
      failed++;
      const { class: failure = 'unknown' } = summary;
      failures[failure] = (failures[failure] ?? 0) + 1;
    }
    for (const flag of summary.flags) flags[flag] = (flags[flag] ?? 0) + 1;
  }
  const absent = Object.values(stage.absent).reduce((sum, count) => sum + count, 0);
  const notDone = stage.rows.length - ok - failed;
  return { chosen: stage.rows.length + absent, ok, failed, notDone, absent, failures, flags };
}

/** For each class of failure the reason of its first row. */
export function reasonsOf<J extends StageJob>(stage: Stage<J>): Record<string, string> {
  const reasons: Record<string, string> = {};
  for (const job of stage.rows) {
    const { class: failure, reason } = summaryOf(stage, job) ?? {};
    if (failure !== undefined && reason !== undefined) reasons[failure] ??= reason;
  }
  return reasons;
}

/** The sum of what the rows' records cost; a kind of token that no server reported is absent. */
export function tokensOf<J extends StageJob>(stage: Stage<J>): Usage {
  const total: Usage = {};
  for (const job of stage.rows) addUsage(total, summaryOf(stage, job)?.usage);
  return total;
}

/** What the rows' records took, by domain. A record that needed no call is none of them. */
export function costsOf<J extends StageJob>(stage: Stage<J>): NonNullable<Manifest['costs']> {
  const costs: Record<Domain, Mutable<DomainCost>> = {};
  const { price } = stage.manifest;
  for (const job of stage.rows) {
    const summary = summaryOf(stage, job);
    if (summary === undefined || summary.attempts === 0) continue;
    const { usage, chars } = summary;
    costs[job.domain] ??= { rows: 0, usage: {} };
    const cost = present(costs[job.domain]);
    if (Object.keys(usage).length > 0) cost.rows++;
    addUsage(cost.usage, usage);
    const usd = price && costOf(usage, price);
    if (usd === undefined) cost.unpriced = (cost.unpriced ?? 0) + 1;
    else cost.usd = (cost.usd ?? 0) + usd;
    if (chars === undefined || usage.promptTokens === undefined) continue;
    const before = cost.counted ?? { rows: 0, chars: 0, promptTokens: 0 };
    cost.counted = {
      rows: before.rows + 1,
      chars: before.chars + chars,
      promptTokens: before.promptTokens + usage.promptTokens,
    };
  }
  return costs;
}

type Mutable<T> = { -readonly [Name in keyof T]: T[Name] };
