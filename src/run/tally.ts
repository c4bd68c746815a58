// What a run has come to: rows chosen, done and failed, and the tokens that they cost.

import { CostSums, usdOfBoth } from '../core/costs.js';
import { costOf, type Price } from '../core/price.js';
import type { Domain, Usage } from '../core/types.js';
import { addUsage, countsIn } from '../core/usage.js';
import type { Counts, DomainCost, Manifest } from './manifest.js';
import type { RowSummary } from './run.js';
import { type StageJob, type StageOutput, summaryOf } from './stage-contract.js';

export interface Tally {
  /** Rows by domain, each once however often it is judged, those that cannot be asked included: the denominator of coverage. */
  readonly chosen: Manifest['chosen'];
  readonly counts: Counts;
  /** All that is to have a record, by domain: rows times repeats and judgements, and what else has to be asked before them. */
  readonly totals: Readonly<Record<Domain, number>>;
  /** The sum of what the rows' latest records cost; a kind of token that no server reported is absent. */
  readonly tokens: Usage;
  /** What the rows took, by domain: all of their records. */
  readonly costs: NonNullable<Manifest['costs']>;
  /** For each class of failure the reason of its first row. */
  readonly reasons: Readonly<Record<string, string>>;
  /** Whether no row need be asked again. */
  readonly isDone: boolean;
}

/** Totals come from the rows themselves, every time, so that no interruption can make them drift. Each row is looked up once. */
export function tallyOf<J extends StageJob>(stage: StageOutput<J>): Tally {
  const { rows, between = [], absent } = stage;
  const { price } = stage.manifest;
  const chosen: Record<Domain, number> = {};
  const totals: Record<Domain, number> = {};
  const failures: Record<string, number> = {};
  const flags: Record<string, number> = {};
  const reasons: Record<string, string> = {};
  const tokens: Usage = {};
  const costs = new Costs();
  let [ok, failed, isDone] = [0, 0, true];
  for (const [place, job] of [...rows, ...between].entries()) {
    const isRow = place < rows.length;
    if (isRow && !job.isFurther) add(chosen, job.domain, 1);
    add(totals, job.domain, 1);
    const summary = summaryOf(stage, job);
    if (isRow) isDone &&= summary !== undefined && stage.isDone(job, summary);
    if (summary === undefined) continue;
    addUsage(tokens, summary.usage);
    costs.add(job.domain, summary, price);
    if (!isRow) continue;
    for (const flag of summary.flags) add(flags, flag, 1);
    if (summary.status === 'ok') ok++;
    else {
      const { class: failure = 'unknown', reason } = summary;
      failed++;
      add(failures, failure, 1);
      if (reason !== undefined) reasons[failure] ??= reason;
    }
  }
  let unusable = 0;
  for (const [domain, count] of Object.entries(absent)) {
    add(chosen, domain, count);
    unusable += count;
  }
  const notDone = rows.length - ok - failed;
  const counts = { chosen: rows.length + unusable, ok, failed, notDone, absent: unusable, failures, flags };
  return { chosen, counts, totals, tokens, costs: costs.domains, reasons, isDone };
}

/** What the rows of each domain took, and what their records of one call tell of characters. */
class Costs {
  readonly #sums = new CostSums();
  readonly #counted = new Map<Domain, NonNullable<DomainCost['counted']>>();

  add(domain: Domain, summary: RowSummary, price: Price | undefined): void {
    this.#sums.add(domain, spentOn(summary, price));
    const { chars, usage } = summary;
    if (chars === undefined || usage.promptTokens === undefined) return;
    const before = this.#counted.get(domain) ?? { rows: 0, chars: 0, promptTokens: 0 };
    this.#counted.set(domain, {
      rows: before.rows + 1,
      chars: before.chars + chars,
      promptTokens: before.promptTokens + usage.promptTokens,
    });
  }

  get domains(): Tally['costs'] {
    const domains: Record<Domain, DomainCost> = {};
    for (const [domain, { unpriced, ...cost }] of this.#sums.domains) {
      const counted = this.#counted.get(domain);
      domains[domain] = { ...cost, ...(unpriced > 0 && { unpriced }), ...(counted && { counted }) };
    }
    return domains;
  }
}

/** What a row's records took, each priced by its own calls. One that needed no call took nothing. */
function spentOn({ attempts, usage, calls, earlier = [] }: RowSummary, price: Price | undefined) {
  const taken = attempts === 0 ? earlier : [...earlier, { usage, calls }];
  if (taken.length === 0) return { usd: 0 };
  const log = { usage: {} };
  let usd: number | undefined;
  for (const record of taken) {
    const counts = countsIn(record.usage);
    addUsage(log.usage, counts);
    usd = usdOfBoth(usd, price && costOf(counts, price, record.calls));
  }
  return { log, ...(usd === undefined ? {} : { usd }) };
}

function add(counts: Record<string, number>, name: string, more: number): void {
  counts[name] = (counts[name] ?? 0) + more;
}
