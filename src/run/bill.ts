// `--dry-run`: what is still to be asked of a stage, and what that is estimated to take, by what the user, earlier runs and servers say.
// Nothing is asked but what a server says of its model, and nothing is written.

import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { costOf, type Price } from '../core/costs.js';
import { inTableOrder } from '../core/domains.js';
import { EXIT, type ExitCode, inputMissing, present, throwIfStopped, UserError } from '../core/errors.js';
import { counted } from '../core/figures.js';
import { groupBy } from '../core/groups.js';
import { asksWorldModel } from '../core/identity.js';
import { CHARS_A_TOKEN, charactersOf, type Domain, type Io, type TextSink, type Usage } from '../core/types.js';
import { serverFacts } from '../model/backend.js';
import type { Bill, BillDocument, Charges, EarlierRuns, Estimated, ServerFacts, TimeBasis } from '../model/bill.js';
import { fitNotice, leastRoom, openContextWatch, type SizedRow } from '../model/context.js';
import { openSample, openSizes, openTokenizer } from '../model/tokens/tokenizer.js';
import { shownPath } from '../settings/shown-path.js';
import { billText } from './bill-text.js';
import { reachedIn } from './budget.js';
import { type DomainCost, type Manifest, readManifest } from './manifest.js';
import type { Run } from './run.js';
import { isDone, type Stage, type StageJob } from './stage-contract.js';

/** Output tokens of a reply that nobody measured and the data does not hold: a verdict with its facts, without thinking. */
const GUESSED_REPLY = 600;
/** Below this, calls that are made again are lost in the estimate. */
const SOME_AGAIN = 1.01;
const PROGRESS_MS = 5_000;

/**
 * Prints what asking the stage would take. Exit code 0, whatever it costs.
 * @throws UserError: what reading rows and runs throws, 130 or 143 once the user has interrupted.
 */
export async function printBill<J extends StageJob>(stage: Stage<J>): Promise<ExitCode> {
  const { io, settings } = stage;
  const bill = await chargedBill(stage);
  io.stdout.write(settings.json ? `${JSON.stringify(bill.document)}\n` : billText(bill, lookOf(stage, io.stdout)));
  return EXIT.done;
}

/** Shows the same on stderr, before the stage is asked; nothing where nothing is left to ask, or the user wants no progress. */
export async function showBill<J extends StageJob>(stage: Stage<J>): Promise<void> {
  const { stderr } = stage.io;
  if (stage.settings.quiet) return;
  const bill = await chargedBill(stage);
  if (bill.document.total.rows > 0) stderr.write(`${billText(bill, lookOf(stage, stderr), 'ahead')}\n`);
}

function lookOf({ settings: { color } }: Pick<Stage<StageJob>, 'settings'>, { columns, isTTY }: TextSink) {
  return { columns, color: color && isTTY };
}

/**
 * The bill of a stage: every request that is still to be made, sized in the order of asking. Rows are read as they would be asked, and
 * none is kept.
 * @throws UserError: 65 where a row cannot be read any more, 66 for named runs that are none, 130 or 143 once the user has interrupted.
 */
export async function chargedBill<J extends StageJob>(stage: Stage<J>): Promise<Bill> {
  const { io, run, settings, target, truth } = stage;
  const { tokenizer: file, maxTokens, quiet } = settings;
  const { price } = stage.manifest;
  const servers = await serverFacts(target.named);
  const tokenizer = file === undefined ? undefined : await openTokenizer(resolve(io.cwd, file), file);
  const measured = await measuredBy(settings.estimateFrom, run, io);
  const waiting = stage.order.filter((job) => !isDone(stage, job));
  const asked = waiting.filter((job) => stage.asks(job));
  /** That of the row which is sized. */
  let domain = '';
  const count = tokenizer === undefined ? ({ length }: string) => length : openSample(tokenizer.count, () => domain);
  const sizeOf = openSizes(count);
  const charges: (Charges & { readonly domain: Domain })[] = [];
  const sized: SizedRow[] = [];
  let toldAt = performance.now();
  for (const job of asked) {
    throwIfStopped(io.stop);
    domain = job.domain;
    const questions = await stage.questions(job);
    const ratio = (measured.charactersPerToken(domain) ?? measured.charactersPerToken())?.ratio ?? CHARS_A_TOKEN;
    const units = tokenizer === undefined ? ratio : 1;
    const output = measured.output(domain) ?? measured.output();
    const reply =
      output !== undefined
        ? output.perRow / questions.length
        : truth === undefined
          ? GUESSED_REPLY
          : count(await truth(job)) / units;
    // Runs with a larger budget, or with a server that counts nonsense, may have measured more.
    const output_tokens = { expected: Math.min(reply, maxTokens), at_least: 0, at_most: maxTokens };
    const calls = questions.map((question) => {
      const { tokens, sharedTokens } = sizeOf(question);
      const sizes = { prompt_tokens: tokens / units, cached_tokens: sharedTokens / units };
      return { characters: charactersOf(question), ...sizes, output_tokens };
    });
    const each = calls.map((call) => chargesOf(call, price));
    charges.push({ ...sumOf(each, price), rows: 1, domain });
    const tokens = Math.ceil(Math.max(...calls.map((call) => call.prompt_tokens)));
    const found = stage.placeOf(job);
    if (found !== undefined) sized.push({ place: found.place, domain, tokens });
    if (quiet || performance.now() - toldAt < PROGRESS_MS) continue;
    toldAt = performance.now();
    io.stderr.write(`bill: ${charges.length} of ${counted(asked.length, 'row')} read\n`);
  }
  const domains = [...groupBy(charges, (row) => row.domain)]
    .sort(([a], [b]) => inTableOrder(a, b))
    .map(([name, rows]) => ({ domain: name, ...sumOf(rows, price) }));
  const total = sumOf(domains, price);
  const tooLong = overlong(sized, servers, settings);
  const cache = measuredCache(total, measured);
  const ratio = measured.charactersPerToken();
  const document: BillDocument = {
    schema: 'awb.bill/1',
    kind: run.kind,
    model: target.model,
    hosts: stage.manifest.endpoints,
    rows: {
      chosen: stage.order.length,
      done: stage.order.length - waiting.length,
      without_call: waiting.length - asked.length,
      absent: Object.values(stage.absent).reduce((sum, rows) => sum + rows, 0),
      to_ask: total.rows,
    },
    domains: domains.map(rounded),
    total: rounded(total),
    tokens_by:
      file !== undefined
        ? { by: 'tokenizer', file }
        : ratio === undefined
          ? { by: 'guess', characters_per_token: CHARS_A_TOKEN }
          : { by: 'measured', characters_per_token: ratio.ratio, calls: ratio.calls, ...measured.from },
    output_by: outputBasis(truth !== undefined, measured, domains),
    max_tokens: maxTokens,
    price: price ?? null,
    time: timeOf(total, { ...settings, measured: measured.callsPerMinute() }, measured.from),
    measured_cache: cache,
    asked_again: asksWorldModel(run.kind) ? null : askedAgain(total, measured),
    budget: budgetOf(total, cache?.usd ?? total.usd?.expected, stage),
    servers: servers.map(({ host, model = null, contextTokens: context_tokens = null }) => {
      return { host, model, context_tokens };
    }),
    overlong: tooLong?.rows ?? [],
    // What earlier sessions were told is known, and nothing was repaired.
    notes: [
      ...run.notices.filter((notice) => notice !== run.journal.repaired && !run.stored?.notices.includes(notice)),
      ...contextNotes(servers, settings),
    ],
  };
  return { document, asksAgent: stage.asksAgent === true, overlong: tooLong };
}

type Budget = Parameters<typeof leastRoom>[1];

/** What the run would say, or end with, when it reads the context lengths. */
function contextNotes(servers: readonly ServerFacts[], { maxTokens, fitMaxTokens: fits }: Budget): string[] {
  const notes: string[] = [];
  const watch = openContextWatch({ maxTokens, fits, onNotice: (text) => notes.push(text) });
  for (const { host, contextTokens, refusesBudgets = false } of servers) {
    try {
      if (contextTokens !== undefined) watch.described(host, contextTokens, !refusesBudgets);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      notes.push(error.message);
    }
  }
  return notes;
}

/** The rows that are too long for the smallest context that a server tells, and what is said of them. */
function overlong(sized: readonly SizedRow[], servers: readonly ServerFacts[], { maxTokens, fitMaxTokens }: Budget) {
  const budget = { maxTokens, fitMaxTokens };
  const contexts = servers.flatMap(({ host, contextTokens: tokens, refusesBudgets = false }) =>
    tokens === undefined ? [] : [{ host, tokens, refusesBudgets }],
  );
  const room = leastRoom(contexts, budget);
  // Where no row at all can fit, that is said in other words.
  if (room === undefined || room.tokens <= 0) return undefined;
  const rows = sized.filter(({ tokens }) => tokens > room.tokens).sort((a, b) => b.tokens - a.tokens);
  const notice = fitNotice(rows, room, budget);
  return notice && { ...notice, rows };
}

function outputBasis(
  hasTruth: boolean,
  measured: Measured,
  domains: readonly { readonly domain: Domain }[],
): BillDocument['output_by'] {
  const output = measured.output();
  if (output === undefined) return hasTruth ? { by: 'truth' } : { by: 'guess', tokens_per_call: GUESSED_REPLY };
  const guessed = domains.map(({ domain }) => domain).filter((domain) => measured.output(domain) === undefined);
  return { by: 'measured', rows: output.rows, ...measured.from, guessed_domains: guessed };
}

/** The cost at the share that was measured lies between those without a cache and with an ideal one. */
function measuredCache(total: Charges, measured: Measured): BillDocument['measured_cache'] {
  const share = measured.cachedShare();
  if (share === undefined) return null;
  const { prompt_tokens, cached_tokens, usd: plain, usd_cached: cached } = total;
  if (plain === null || cached === null || cached_tokens === 0) return { share, usd: null, ...measured.from };
  const saved = plain.expected - cached.expected;
  return { share, usd: plain.expected - (saved * share * prompt_tokens) / cached_tokens, ...measured.from };
}

/** The output that was measured holds that of further calls, so their prompts alone are added. */
function askedAgain({ rows, calls, prompt_tokens, usd }: Charges, measured: Measured): BillDocument['asked_again'] {
  const perRow = measured.callsPerRow();
  const times = perRow === undefined ? 1 : (perRow * rows) / calls;
  // Without rows it is no number.
  if (!(times >= SOME_AGAIN)) return null;
  return {
    times,
    calls: Math.round(times * calls),
    prompt_tokens: Math.round(times * prompt_tokens),
    usd: usd && usd.expected + (times - 1) * usd.at_least,
    ...measured.from,
  };
}

/** How far what earlier sessions have left of the budget goes; null where none is given, or nobody knows what the run costs in its unit. */
function budgetOf(
  { prompt_tokens, output_tokens }: Charges,
  dollars: number | undefined,
  { settings, run: { ledger } }: Pick<Stage<StageJob>, 'settings' | 'run'>,
): BillDocument['budget'] {
  const shareOf = (budget: number | undefined, spent: number | undefined, need: number | undefined) => {
    if (budget === undefined || spent === undefined || need === undefined) return null;
    return { budget, spent, covers: need === 0 ? 1 : Math.min(1, Math.max(0, budget - spent) / need) };
  };
  const usd = shareOf(settings.budgetUsd, ledger.usd, dollars);
  const tokens = shareOf(settings.budgetTokens, ledger.tokens, prompt_tokens + output_tokens.expected);
  return usd === null && tokens === null ? null : { is_spent: reachedIn(ledger, settings) !== undefined, usd, tokens };
}

/** A call that is to be made. Tokens are not rounded. */
type Call = Pick<Charges, 'characters' | 'prompt_tokens' | 'cached_tokens' | 'output_tokens'>;

/** What a call takes; it is priced by itself, since a price may depend on the length of a prompt. */
export function chargesOf(call: Call, price: Price | undefined): Charges {
  const { prompt_tokens: promptTokens, cached_tokens: cachedTokens, output_tokens: output } = call;
  const costed = (usage: Readonly<Usage>): Estimated | null => {
    if (price === undefined) return null;
    const cost = (completionTokens: number) => present(costOf({ ...usage, completionTokens }, price));
    const atMost = output.at_most === null ? null : cost(output.at_most);
    return { expected: cost(output.expected), at_least: cost(output.at_least), at_most: atMost };
  };
  // What a cache serves later went into it before.
  const writtenTokens = promptTokens - cachedTokens;
  const usd_cached = costed({ promptTokens, cachedTokens, writtenTokens });
  return { rows: 0, calls: 1, ...call, usd: costed({ promptTokens }), usd_cached };
}

/** The sums of some rows' calls. */
export function sumOf(all: readonly Charges[], price: Price | undefined): Charges {
  const nothing = { expected: 0, at_least: 0, at_most: 0 };
  const usd = price === undefined ? null : nothing;
  const none = { rows: 0, calls: 0, characters: 0, prompt_tokens: 0, cached_tokens: 0, output_tokens: nothing };
  const start: Charges = { ...none, usd, usd_cached: usd };
  return all.reduce(
    (one, other) => ({
      rows: one.rows + other.rows,
      calls: one.calls + other.calls,
      characters: one.characters + other.characters,
      prompt_tokens: one.prompt_tokens + other.prompt_tokens,
      cached_tokens: one.cached_tokens + other.cached_tokens,
      output_tokens: bothEstimates(one.output_tokens, other.output_tokens),
      usd: one.usd && other.usd && bothEstimates(one.usd, other.usd),
      usd_cached: one.usd_cached && other.usd_cached && bothEstimates(one.usd_cached, other.usd_cached),
    }),
    start,
  );
}

function bothEstimates(one: Estimated, other: Estimated): Estimated {
  const isOpen = one.at_most === null || other.at_most === null;
  return {
    expected: one.expected + other.expected,
    at_least: one.at_least + other.at_least,
    at_most: isOpen ? null : (one.at_most ?? 0) + (other.at_most ?? 0),
  };
}

/** With whole tokens, as they are shown. */
function rounded<C extends Charges>(charges: C): C {
  const { prompt_tokens, cached_tokens, output_tokens } = charges;
  return {
    ...charges,
    prompt_tokens: Math.round(prompt_tokens),
    cached_tokens: Math.round(cached_tokens),
    output_tokens: { ...output_tokens, expected: Math.round(output_tokens.expected) },
  };
}

/**
 * The time that whatever is slowest takes; null where nothing is known. Limits alone give the least time.
 * @param speed each a minute, where it is known: calls, as the user says and as earlier runs made them, and the most calls and tokens that
 * the endpoint takes
 */
export function timeOf(
  { calls, prompt_tokens, output_tokens }: Charges,
  speed: { readonly [by in TimeBasis['by']]?: number | undefined },
  runs: EarlierRuns,
): TimeBasis | null {
  const isPaced = speed.rate !== undefined || speed.measured !== undefined;
  const names = ['rate', 'measured', 'rpm', 'tpm'] as const;
  const found = names.flatMap((by): TimeBasis[] => {
    const perMinute = by === 'measured' && speed.rate !== undefined ? undefined : speed[by];
    if (perMinute === undefined || perMinute <= 0) return [];
    const seconds = (60 * (by === 'tpm' ? prompt_tokens + output_tokens.expected : calls)) / perMinute;
    return [{ seconds, at_least: !isPaced, by, per_minute: perMinute, ...(by === 'measured' && runs) }];
  });
  return found.sort((a, b) => b.seconds - a.seconds)[0] ?? null;
}

/** Servers that report a ratio beyond these count something else than tokens. */
const [LEAST_CHARACTERS, MOST_CHARACTERS] = [0.5, 50];

/** A manifest, and its path as people are shown it. */
interface Found {
  readonly name: string;
  /** What a file lacks is absent. */
  readonly manifest: Partial<Manifest> & Pick<Manifest, 'kind' | 'identity'>;
}

/** Runs of one kind, taken together. What none of them measured is undefined. */
export class Measured {
  readonly from: EarlierRuns;

  constructor(private readonly found: readonly Found[]) {
    const models = found.map(({ manifest: { kind, identity, servedModels } }) => {
      const asked = identity[asksWorldModel(kind) ? 'model' : 'judge'];
      return typeof asked === 'string' ? asked : (servedModels?.[0] ?? 'local model');
    });
    this.from = { runs: found.map(({ name }) => name), models: [...new Set(models)] };
  }

  /** Of a domain's prompts, or of all. */
  charactersPerToken(domain?: Domain): { readonly ratio: number; readonly calls: number } | undefined {
    const counts = this.#costs(domain).flatMap(({ counted }) => counted ?? []);
    const ratio = sum(counts, ({ chars }) => chars) / sum(counts, ({ promptTokens }) => promptTokens);
    if (!(ratio >= LEAST_CHARACTERS && ratio <= MOST_CHARACTERS)) return undefined;
    return { ratio, calls: sum(counts, ({ rows }) => rows) };
  }

  /** Tokens of a row's output in a domain, or in all: thinking and further tries included. */
  output(domain?: Domain): { readonly perRow: number; readonly rows: number } | undefined {
    const counts = this.#costs(domain).filter(({ usage }) => usage.completionTokens !== undefined);
    const rows = sum(counts, (cost) => cost.rows);
    return rows === 0 ? undefined : { rows, perRow: sum(counts, ({ usage }) => usage.completionTokens ?? 0) / rows };
  }

  /** The share of prompts that servers had in their caches, 0 to 1. */
  cachedShare(): number | undefined {
    const told = this.#costs().filter(({ usage }) => usage.cachedTokens !== undefined);
    const share = sum(told, ({ usage }) => usage.cachedTokens ?? 0) / sum(told, ({ usage }) => usage.promptTokens ?? 0);
    return share >= 0 ? Math.min(1, share) : undefined;
  }

  callsPerMinute(): number | undefined {
    const { calls, seconds } = this.#pace();
    return calls > 0 && seconds > 0 ? (60 * calls) / seconds : undefined;
  }

  /** Those that had to be made again are among them. Where rows took no call, it is less than what the others took. */
  callsPerRow(): number | undefined {
    const rows = sum(this.found, ({ manifest: { counts } }) => (counts?.ok ?? 0) + (counts?.failed ?? 0));
    const { calls } = this.#pace();
    return calls > 0 && rows > 0 ? calls / rows : undefined;
  }

  #costs(domain?: Domain): DomainCost[] {
    const all = this.found.map(({ manifest: { costs = {} } }) => costs);
    return all.flatMap((costs) => (domain === undefined ? Object.values(costs) : (costs[domain] ?? [])));
  }

  #pace() {
    const paces = this.found.flatMap(({ manifest: { pace } }) => pace ?? []);
    return { calls: sum(paces, ({ calls }) => calls), seconds: sum(paces, ({ seconds }) => seconds) };
  }
}

/**
 * What the named runs took, else what the run's own sessions did so far.
 * @param named folders, judged files, predictions files or manifests
 * @throws UserError (66) where what the user named holds no run of this kind
 */
async function measuredBy(
  named: readonly string[],
  { kind, stored, manifestPath }: Run,
  io: Pick<Io, 'cwd'>,
): Promise<Measured> {
  if (named.length === 0) {
    return new Measured(stored === undefined ? [] : [{ name: shownPath(manifestPath, io), manifest: stored }]);
  }
  const found = new Map<string, Found>();
  for (const one of named) {
    let isUsable = false;
    for (const path of await manifestsAt(resolve(io.cwd, one))) {
      const read = await readManifest(path).catch(() => undefined);
      // A judged file's manifest holds that of its predictions, and a calibration asks a judge as a judging does.
      const manifest = [read, read?.predictions].find(
        (each) => each && asksWorldModel(each.kind) === asksWorldModel(kind),
      );
      if (manifest === undefined) continue;
      isUsable = true;
      // That of predictions may lie beside the judged file, too.
      const id = `${manifest.fingerprint} ${manifest.startedAt}`;
      if (!found.has(id)) found.set(id, { name: shownPath(path, io), manifest });
    }
    if (isUsable) continue;
    throw inputMissing(
      `--estimate-from: ${one} holds no manifest of awb ${kind}; name a run's folder or one of its files`,
    );
  }
  return new Measured([...found.values()]);
}

async function manifestsAt(path: string): Promise<string[]> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
  if (!isFolder) return [path.replace(/(\.journal)?\.jsonl$/, '.manifest.json')];
  const manifests = /^(predictions|judged(\..*)?|calibration|likelihood)\.manifest\.json$/;
  const names = (await readdir(path)).filter((name) => manifests.test(name)).sort();
  return names.map((name) => join(path, name));
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
