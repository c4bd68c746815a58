// The cost of a judged run by row, domain and run, from its journals or else its manifests; and the prices of its models.

import { dirname, resolve } from 'node:path';
import { readCosts } from '../benchmark/costs.js';
import { journalBeside, manifestBeside } from '../benchmark/judged-path.js';
import {
  type Asked,
  costsByDomain,
  NO_CALL,
  type Price,
  type RowSpent,
  type RunCosts,
  type Spending,
  type Spent,
  sumOf,
} from '../core/costs.js';
import { asksWorldModel } from '../core/identity.js';
import { isObject } from '../core/json.js';
import { rowId, rowIdOf } from '../core/row-id.js';
import { placeIn } from '../core/scenario-row.js';
import { chainOf, type Domain, type Io, type JudgedRow } from '../core/types.js';
import { openPriceList, type PriceList } from '../model/prices/prices.js';
import { worldModelManifest } from '../run/made-with.js';
import { type Manifest, readManifest } from '../run/manifest.js';
import type { StoredJudgement } from '../store/runs.js';

/** A judged file that was read. */
interface JudgedRun {
  /** Absolute path of the judged file. */
  readonly source: string;
  readonly manifest: Partial<Manifest> | undefined;
  readonly rows: readonly JudgedRow[];
  /** Its costs as known without the journals. */
  readonly costs: RunCosts;
}

/**
 * Reads the costs of a run. A prediction that was judged several times was made once, so its cost counts once.
 * @throws UserError: 66 for a journal that exists but cannot be read, 130 or 143 once `stop` is aborted.
 */
export async function countCosts(run: JudgedRun, prices: RunPrices, stop?: AbortSignal) {
  const { source, rows, costs: told } = run;
  const journal = await predictionsJournal(run);
  const predicted = journal === undefined ? undefined : await readCosts(journal, prices.world_model, stop);
  const isScenarios = run.manifest?.kind === 'scenarios';
  const isJudged = !asksWorldModel(run.manifest?.kind);
  const judged = isJudged ? await readCosts(journalBeside(source), prices.judge, stop) : undefined;
  const judgements = rows.map((row): StoredJudgement => {
    const { log, usd } = judged?.get(rowId(row.key, row.repeat, row.index)) ?? {};
    return { row, log, usd, prediction: predicted?.get(rowId(row.key, row.repeat)) };
  });
  // Calls without a judged row. On scenarios: twins, and steps before the last of a chain; they belong to the domain of the samples at
  // their place. In a rollout: the turns between the judged ones of its chains.
  const placeOf = isScenarios ? placeIn : (id: string) => chainOf(id) ?? '';
  const domains = new Map(
    judgements.map(({ row }) => [isScenarios ? placeIn(row.key) : (row.rollout?.chain ?? ''), row.domain]),
  );
  if (!isScenarios) domains.delete('');
  const between = [...(predicted ?? [])].flatMap(([id, spent]) => {
    const domain = domains.get(placeOf(id));
    return domain === undefined ? [] : [[domain, spent] as const];
  });
  // Each prediction counts once, however often it was judged.
  const once = new Map(
    judgements.map(({ row, prediction }) => [rowId(row.key, row.repeat), [row.domain, prediction] as const]),
  );
  const asked = isScenarios ? between : [...once.values(), ...between];
  const took = judgements.map(({ row, log, usd }) => [row.domain, { log, usd }] as const);
  const costs = {
    ...told,
    ...(predicted && { world_model: spendingOf(asked, prices.world_model) }),
    ...(judged && { judge: spendingOf(took, prices.judge) }),
  };
  return { judgements, costs };
}

/**
 * The costs of a run and each of its rows, by the prices that it was asked or scored under.
 * @throws UserError as `countCosts`
 */
export async function readSpent(run: JudgedRun, stop?: AbortSignal) {
  const prices = { world_model: run.costs.world_model?.price, judge: run.costs.judge?.price };
  const { judgements, costs } = await countCosts(run, prices, stop);
  const sideOf = ({ log, usd }: Spent = {}) => ({ log, usd, ms: log?.ms });
  const spent = judgements.map(({ row, prediction, ...judgement }): [string, RowSpent] => [
    rowIdOf(row),
    { prediction: sideOf(prediction), judgement: sideOf(judgement) },
  ]);
  /** By record id. */
  return { costs, spent: new Map(spent) };
}

function spendingOf(rows: readonly (readonly [Domain, Spent | undefined])[], price: Price | undefined): Spending {
  const domains = costsByDomain(rows);
  return { price, total: sumOf(domains.values()), domains };
}

/** The journal of the run that asked the world model; undefined if its place is unknown, or now has another run. */
async function predictionsJournal({ source, manifest }: JudgedRun): Promise<string | undefined> {
  if (asksWorldModel(manifest?.kind)) return journalBeside(source);
  const { predictions } = manifest?.identity ?? {};
  if (!isObject(predictions) || typeof predictions.file !== 'string') return undefined;
  const file = resolve(dirname(source), predictions.file);
  // A damaged one must not prevent scoring.
  const there = await readManifest(manifestBeside(file)).catch(() => undefined);
  return there?.startedAt === manifest?.predictions?.startedAt ? journalBeside(file) : undefined;
}

/** The costs of world model and judge by the manifest of a judged run. */
export function manifestCosts(manifest: Partial<Manifest> | undefined): RunCosts {
  const worldModel = manifestSpending('world_model', worldModelManifest(manifest));
  const judge = manifestSpending('judge', manifest);
  return { ...(worldModel && { world_model: worldModel }), ...(judge && { judge }) };
}

/** The cost of asking by a manifest: by domain if it records them, else in total; undefined if it has none. */
function manifestSpending(who: Asked, manifest: Partial<Manifest> | undefined): Spending | undefined {
  if (manifest === undefined) return undefined;
  const { costs, tokens = {}, counts, price, identity } = manifest;
  // Baselines take no calls, and neither do text metrics.
  const asksNobody = who === 'judge' ? identity?.judge === undefined : identity?.baseline !== undefined;
  if (identity !== undefined && asksNobody) return { total: NO_CALL, domains: new Map() };
  if (costs === undefined) {
    const rows = (counts?.ok ?? 0) + (counts?.failed ?? 0);
    const total = { rows, unpriced: Math.max(1, rows), usage: tokens };
    return Object.keys(tokens).length === 0 ? undefined : { total, domains: new Map() };
  }
  const domains = new Map(
    Object.entries(costs).map(([domain, cost]) => [domain, { ...cost, unpriced: cost.unpriced ?? 0 }] as const),
  );
  return { price, total: sumOf(domains.values()), domains };
}

/** The prices of a run; unknown ones are absent. */
type RunPrices = Readonly<Partial<Record<Asked, Price | undefined>>>;

/**
 * The prices of world model and judge. Without a price file, a run keeps the price that it was asked under; if it had none, the
 * catalogue's price of the day on which it started applies.
 * @throws UserError (65, 66) for a price file that cannot be used
 */
export async function pricesOf(
  manifest: Partial<Manifest> | undefined,
  file: string | undefined,
  io: Pick<Io, 'cwd'>,
): Promise<RunPrices> {
  const asked = worldModelManifest(manifest);
  const sides = [
    { own: asked, model: asked?.identity?.model },
    { own: manifest, model: manifest?.identity?.judge },
  ];
  const isUnknown = sides.some(({ own, model }) => model !== undefined && own?.price === undefined);
  // Opening the catalogue takes longer than scoring a small run.
  const list = file === undefined && !isUnknown ? undefined : await openPriceList({ prices: file }, io);
  const [worldModel, judge] = sides.map(({ own, model }) => {
    const listed = own && list && listedPrice(list, own, model);
    return file === undefined ? (own?.price ?? listed) : (listed ?? own?.price);
  });
  return { world_model: worldModel, judge };
}

/** The list's price. A model that was served here goes by the name that it was served under. */
function listedPrice(list: PriceList, manifest: Partial<Manifest>, asked: unknown): Price | undefined {
  const { servedModels: [served, ...others] = [], endpoints: hosts = [], startedAt = '' } = manifest;
  const model = typeof asked === 'string' ? asked : served;
  const at = new Date(startedAt);
  if (asked === undefined || model === undefined || Number.isNaN(at.getTime())) return undefined;
  return list.priceOf({ model, servedModel: others.length === 0 ? served : undefined, hosts, at });
}
