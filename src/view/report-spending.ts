// What a reported run took: in all, by domain and by sample.

import { ASKED, type Asked, type RunCosts, type Spent } from '../core/costs.js';
import { inTableOrder } from '../core/domains.js';
import { rowId } from '../core/row-id.js';
import type { Domain, Io } from '../core/types.js';
import { countCosts } from '../results/costs.js';
import type { ReadRun } from '../results/read-run.js';
import type { ReportSpending, SpendingLine } from './contents.js';
import { spentText } from './spending.js';

/** What a run took. */
interface ReadSpending {
  readonly spending: readonly ReportSpending[];
  /** What a sample took, by record id: a line for its prediction, and one for its judgement. */
  linesOf(id: string): readonly string[];
}

/** Reads what a run took, by the prices that it was scored by. @throws UserError: 66 for a journal that cannot be read, 130, 143. */
export async function readSpending(run: ReadRun, { stop }: Pick<Io, 'stop'>): Promise<ReadSpending> {
  const prices = { world_model: run.costs.world_model?.price, judge: run.costs.judge?.price };
  const { judgements, costs, spent } = await countCosts(run, prices, stop);
  const byId = new Map(judgements.map((one) => [rowId(one.row.key, one.row.repeat, one.row.index), one]));
  return {
    spending: ASKED.flatMap((asked) => spendingOf(asked, costs, spent[asked])),
    linesOf(id) {
      const found = byId.get(id);
      const lines = [spentText('prediction', found?.prediction), spentText('judgement', found)];
      return lines.filter((line) => line !== undefined);
    },
  };
}

/** None where nobody was asked, or nothing is known. */
function spendingOf(
  asked: Asked,
  costs: RunCosts,
  rows: Iterable<readonly [Domain, Spent | undefined]>,
): ReportSpending[] {
  const spending = costs[asked];
  if (spending === undefined || (spending.total.rows === 0 && spending.total.unpriced === 0)) return [];
  const { price, total, domains } = spending;
  const calls = callsIn(rows);
  const ordered = [...domains].sort(([a], [b]) => inTableOrder(a, b));
  const lines = ordered.map(([domain, cost]) => [domain, { cost, ...calls.get(domain) }] as const);
  return [{ asked, price, domains: new Map(lines), total: { cost: total, ...sumOfCalls(calls.values()) } }];
}

type Calls = Required<Pick<SpendingLine, 'calls' | 'seconds'>>;

function callsIn(rows: Iterable<readonly [Domain, Spent | undefined]>): ReadonlyMap<Domain, Calls> {
  const found = new Map<Domain, Calls>();
  for (const [domain, spent] of rows) {
    if (spent?.log === undefined) continue;
    const { attempts, ms } = spent.log;
    const { calls, seconds } = found.get(domain) ?? { calls: 0, seconds: 0 };
    found.set(domain, { calls: calls + attempts, seconds: seconds + ms / 1000 });
  }
  return found;
}

function sumOfCalls(each: Iterable<Calls>): Partial<Calls> {
  const all = [...each];
  if (all.length === 0) return {};
  return {
    calls: all.reduce((sum, { calls }) => sum + calls, 0),
    seconds: all.reduce((sum, { seconds }) => sum + seconds, 0),
  };
}
