// `--dry-run`: what is still to be asked of a stage, and what that is estimated to take, by what the user, earlier runs and servers say.

import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { inTableOrder } from '../core/domains.js';
import { EXIT, type ExitCode, throwIfStopped, UserError } from '../core/errors.js';
import { counted } from '../core/figures.js';
import { present } from '../core/present.js';
import { costOf, type Price } from '../core/price.js';
import { CHARS_A_TOKEN, charactersOf } from '../core/question.js';
import { asksWorldModel } from '../core/run-kind.js';
import type { Domain, Io, Usage } from '../core/types.js';
import { serverFacts } from '../model/backend.js';
import type {
  AskedAgain,
  Bill,
  BillDocument,
  BudgetShare,
  Charges,
  EarlierRuns,
  Estimated,
  OutputBasis,
  ServerFacts,
  TimeBasis,
  TokenBasis,
} from '../model/bill.js';
import { fitNotice, leastRoom, openContextWatch, type SizedRow } from '../model/context.js';
import { openSample, openSizes, openTokenizer } from '../model/tokens/tokenizer.js';
import { shownPath } from '../settings/shown-path.js';
import { billText } from './bill-text.js';
import { reachedIn } from './budget.js';
import type { Ledger } from './ledger.js';
import { type DomainCost, type Manifest, readManifest } from './manifest.js';
import type { BudgetSettings } from './options.js';
import type { Run } from './run.js';
import { isDone, type Stage, type StageJob } from './stage-contract.js';

/** Output tokens of a reply that nobody measured and the data does not hold: a verdict with its facts, without thinking. */
const GUESSED_REPLY = 600;
/** Below this, calls that are made again are lost in the estimate. */
const SOME_AGAIN = 1.01;

/** What the figures come from. */
interface BillSources {
  readonly measured: Measured;
  readonly tokenizer?: { readonly file: string; count(text: string): number } | undefined;
  readonly servers: readonly ServerFacts[];
  readonly notes: readonly string[];
  /** Told after each row. */
  readonly onRow?: ((done: number, of: number) => void) | undefined;
}

/**
 * The bill of a stage. Rows are read as they would be asked, and none is kept.
 * @throws UserError: 65 where a row cannot be read any more, 130 or 143 once the user has interrupted.
 */
async function billOf<J extends StageJob>(stage: Stage<J>, sources: BillSources): Promise<Bill> {
  const { measured, servers } = sources;
  const { settings } = stage;
  const { maxTokens, fitMaxTokens } = settings;
  const { price } = stage.manifest;
  const waiting = [...stage.order].filter((job) => !isDone(stage, job));
  const asked = waiting.filter((job) => stage.asks(job));
  const callsOf = openCalls(stage, sources, maxTokens);
  const charges = new Map<Domain, Charges[]>();
  const sized: SizedRow[] = [];
  for (const [place, job] of asked.entries()) {
    throwIfStopped(stage.io.stop);
    const calls = await callsOf(job);
    const each = calls.map((call) => chargesOf(call, price));
    const ofDomain = charges.get(job.domain) ?? [];
    charges.set(job.domain, ofDomain);
    ofDomain.push({ ...sumOf(each, price), rows: 1 });
    const found = stage.placeOf?.(job);
    const tokens = Math.ceil(Math.max(...calls.map((call) => call.prompt_tokens)));
    if (found !== undefined) sized.push({ place: found.place, domain: job.domain, tokens });
    sources.onRow?.(place + 1, asked.length);
  }
  const domains = [...charges]
    .sort(([a], [b]) => inTableOrder(a, b))
    .map(([domain, rows]) => ({ domain, ...sumOf(rows, price) }));
  const total = sumOf(domains, price);
  const tooLong = overlong(sized, servers, { maxTokens, fitMaxTokens });
  const cache = measuredCache(total, measured);
  const document: BillDocument = {
    schema: 'awb.bill/1',
    kind: stage.run.kind,
    model: stage.target.model,
    hosts: stage.manifest.endpoints,
    rows: {
      chosen: stage.order.length,
      done: stage.order.length - waiting.length,
      without_call: waiting.length - asked.length,
      absent: Object.values(stage.absent).reduce((sum, count) => sum + count, 0),
      to_ask: total.rows,
    },
    domains: domains.map(rounded),
    total: rounded(total),
    tokens_by: tokenBasis(sources),
    output_by: outputBasis(stage, measured, domains),
    max_tokens: maxTokens,
    price: price ?? null,
    time: timeOf(total, { ...settings, measured: measured.callsPerMinute() }, measured.from),
    measured_cache: cache,
    asked_again: asksWorldModel(stage.run.kind) ? null : askedAgain(total, measured),
    budget: budgetOf(total, cache?.usd ?? total.usd?.expected, stage.run.ledger, settings),
    servers: servers.map(({ host, model = null, contextTokens = null }) => ({
      host,
      model,
      context_tokens: contextTokens,
    })),
    overlong: tooLong?.rows ?? [],
    notes: sources.notes,
  };
  return {
    document,
    asksAgent: stage.asksAgent === true,
    overlong: tooLong,
  };
}

/** Tells the calls of one row after the other, in the order in which they would be asked. */
function openCalls<J extends StageJob>(
  stage: Stage<J>,
  { measured, tokenizer }: BillSources,
  maxTokens: number,
): (job: J) => Promise<Call[]> {
  let domain = '';
  const count = tokenizer === undefined ? ({ length }: string) => length : openSample(tokenizer.count, () => domain);
  const sizeOf = openSizes(count);
  const unitsPerToken = () =>
    tokenizer === undefined
      ? ((measured.charactersPerToken(domain) ?? measured.charactersPerToken())?.ratio ?? CHARS_A_TOKEN)
      : 1;
  const replyOf = async (job: J, calls: number) => {
    const output = measured.output(job.domain) ?? measured.output();
    if (output !== undefined) return output.perRow / calls;
    const truth = await stage.truth?.(job);
    if (truth === undefined) return GUESSED_REPLY;
    return count(truth) / unitsPerToken();
  };
  return async (job) => {
    domain = job.domain;
    const questions = await stage.questions(job);
    const reply = await replyOf(job, questions.length);
    // Runs with a larger budget, or with a server that counts nonsense, may have measured more.
    const expected = Math.min(reply, maxTokens);
    const output = { expected, at_least: 0, at_most: maxTokens };
    const units = unitsPerToken();
    return questions.map((question) => {
      const { tokens, sharedTokens } = sizeOf(question);
      const sizes = { prompt_tokens: tokens / units, cached_tokens: sharedTokens / units };
      return { characters: charactersOf(question), ...sizes, output_tokens: output };
    });
  };
}

function tokenBasis({ measured, tokenizer }: BillSources): TokenBasis {
  if (tokenizer !== undefined) return { by: 'tokenizer', file: tokenizer.file };
  const known = measured.charactersPerToken();
  return known === undefined
    ? { by: 'guess', characters_per_token: CHARS_A_TOKEN }
    : { by: 'measured', characters_per_token: known.ratio, calls: known.calls, ...measured.from };
}

function outputBasis<J extends StageJob>(
  { truth }: Stage<J>,
  measured: Measured,
  domains: readonly { readonly domain: Domain }[],
): OutputBasis {
  const output = measured.output();
  if (output === undefined) {
    return truth === undefined ? { by: 'guess', tokens_per_call: GUESSED_REPLY } : { by: 'truth' };
  }
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
function askedAgain({ rows, calls, prompt_tokens, usd }: Charges, measured: Measured): AskedAgain | null {
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

/** The rows that are too long for the smallest context that a server tells, and what is said of them. */
function overlong(
  sized: readonly SizedRow[],
  servers: readonly ServerFacts[],
  budget: Parameters<typeof leastRoom>[1],
) {
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

/** How far what earlier sessions have left of the budget goes; null where none is given, or nobody knows what the run costs in its unit. */
function budgetOf(
  { prompt_tokens, output_tokens }: Charges,
  usd: number | undefined,
  ledger: Ledger,
  settings: BudgetSettings,
): BillDocument['budget'] {
  const shareOf = (budget: number | undefined, spent: number | undefined, need: number | undefined) => {
    if (budget === undefined || spent === undefined || need === undefined) return null;
    const covers = need === 0 ? 1 : Math.min(1, Math.max(0, budget - spent) / need);
    return { budget, spent, covers } satisfies BudgetShare;
  };
  const shares = {
    usd: shareOf(settings.budgetUsd, ledger.usd, usd),
    tokens: shareOf(settings.budgetTokens, ledger.tokens, prompt_tokens + output_tokens.expected),
  };
  if (shares.usd === null && shares.tokens === null) return null;
  return { is_spent: reachedIn(ledger, settings) !== undefined, ...shares };
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
  return {
    ...{ rows: 0, calls: 1, ...call },
    usd: costed({ promptTokens }),
    usd_cached: costed({ promptTokens, cachedTokens, writtenTokens }),
  };
}

/** The sums of some rows' calls. */
export function sumOf(all: readonly Charges[], price: Price | undefined): Charges {
  const sum = (of: (charges: Charges) => number) => all.reduce((total, charges) => total + of(charges), 0);
  const sumOfEstimates = (of: (charges: Charges) => Estimated): Estimated => ({
    expected: sum((charges) => of(charges).expected),
    at_least: sum((charges) => of(charges).at_least),
    at_most: all.some((charges) => of(charges).at_most === null) ? null : sum((charges) => of(charges).at_most ?? 0),
  });
  return {
    rows: sum(({ rows }) => rows),
    calls: sum(({ calls }) => calls),
    characters: sum(({ characters }) => characters),
    prompt_tokens: sum((charges) => charges.prompt_tokens),
    cached_tokens: sum((charges) => charges.cached_tokens),
    output_tokens: sumOfEstimates((charges) => charges.output_tokens),
    usd: price === undefined ? null : sumOfEstimates(({ usd }) => present(usd ?? undefined)),
    usd_cached: price === undefined ? null : sumOfEstimates((charges) => present(charges.usd_cached ?? undefined)),
  };
}

/** With whole tokens, as they are shown. */
function rounded<C extends Charges>(charges: C): C {
  const { expected, at_least, at_most } = charges.output_tokens;
  return {
    ...charges,
    prompt_tokens: Math.round(charges.prompt_tokens),
    cached_tokens: Math.round(charges.cached_tokens),
    output_tokens: { expected: Math.round(expected), at_least, at_most },
  };
}

/** What is known of the speed, each a minute; a limit of 0 is none. */
interface Speed {
  /** Calls, as the user says. */
  readonly rate?: number | undefined;
  /** Calls, as earlier runs made them. */
  readonly measured?: number | undefined;
  /** The most calls and tokens that the endpoint takes. */
  readonly rpm?: number | undefined;
  readonly tpm?: number | undefined;
}

/** The time that whatever is slowest takes; null where nothing is known. Limits alone give the least time. */
export function timeOf(
  { calls, prompt_tokens, output_tokens }: Charges,
  { rate, measured, rpm, tpm }: Speed,
  runs: EarlierRuns,
): TimeBasis | null {
  const pace = rate ?? measured;
  const at = (by: TimeBasis['by'], count: number, perMinute: number | undefined): TimeBasis[] => {
    if (perMinute === undefined || perMinute <= 0) return [];
    const seconds = (60 * count) / perMinute;
    return [{ seconds, at_least: pace === undefined, by, per_minute: perMinute, ...(by === 'measured' && runs) }];
  };
  const found = [
    ...at(rate === undefined ? 'measured' : 'rate', calls, pace),
    ...at('rpm', calls, rpm),
    ...at('tpm', prompt_tokens + output_tokens.expected, tpm),
  ];
  return found.sort((a, b) => b.seconds - a.seconds)[0] ?? null;
}

const PROGRESS_MS = 5_000;

/**
 * Prints what asking the stage would take. Exit code 0, whatever it costs.
 * @throws UserError: what reading rows and runs throws, 130 or 143 once the user has interrupted.
 */
export async function printBill<J extends StageJob>(stage: Stage<J>): Promise<ExitCode> {
  const { io, settings } = stage;
  const bill = await chargedBill(stage);
  const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY };
  io.stdout.write(settings.json ? `${JSON.stringify(bill.document)}\n` : billText(bill, look));
  return EXIT.done;
}

/** Shows the same on stderr, before the stage is asked; nothing where nothing is left to ask, or the user wants no progress. */
export async function showBill<J extends StageJob>(stage: Stage<J>): Promise<void> {
  const { settings } = stage;
  if (settings.quiet) return;
  const { stderr } = stage.io;
  const bill = await chargedBill(stage);
  const look = { columns: stderr.columns, color: settings.color && stderr.isTTY };
  if (bill.document.total.rows > 0) stderr.write(`${billText(bill, look, 'ahead')}\n`);
}

/** The bill of a stage, from what the user, earlier runs and servers say. */
export async function chargedBill<J extends StageJob>(stage: Stage<J>): Promise<Bill> {
  const { io, run, target, settings } = stage;
  const { tokenizer: file, maxTokens, fitMaxTokens } = settings;
  const servers = await serverFacts(target.named);
  return billOf(stage, {
    tokenizer: file === undefined ? undefined : { file, ...(await openTokenizer(resolve(io.cwd, file), file)) },
    measured: await measuredBy(settings.estimateFrom, run, io),
    servers,
    notes: [...newNotices(run), ...contextNotes(servers, maxTokens, fitMaxTokens)],
    onRow: settings.quiet ? undefined : progressTo(io.stderr),
  });
}

/** What earlier sessions were told is known, and nothing was repaired. */
function newNotices({ notices, stored, journal }: Run): string[] {
  return notices.filter((notice) => notice !== journal.repaired && !stored?.notices.includes(notice));
}

/** What the run would say, or end with, when it reads the context lengths. */
function contextNotes(servers: readonly ServerFacts[], maxTokens: number, fits: boolean): string[] {
  const notes: string[] = [];
  const watch = openContextWatch({ maxTokens, fits, onNotice: (text) => notes.push(text) });
  for (const { host, contextTokens, refusesBudgets = false } of servers) {
    if (contextTokens === undefined) continue;
    try {
      watch.described(host, contextTokens, !refusesBudgets);
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      notes.push(error.message);
    }
  }
  return notes;
}

function progressTo(stderr: { write(text: string): void }): (done: number, of: number) => void {
  let last = performance.now();
  return (done, of) => {
    if (performance.now() - last < PROGRESS_MS) return;
    last = performance.now();
    stderr.write(`bill: ${done} of ${counted(of, 'row')} read\n`);
  };
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
    const counted = this.#costs(domain).flatMap(({ counted }) => counted ?? []);
    const ratio = sum(counted, ({ chars }) => chars) / sum(counted, ({ promptTokens }) => promptTokens);
    if (!(ratio >= LEAST_CHARACTERS && ratio <= MOST_CHARACTERS)) return undefined;
    return { ratio, calls: sum(counted, ({ rows }) => rows) };
  }

  /** Tokens of a row's output in a domain, or in all: thinking and further tries included. */
  output(domain?: Domain): { readonly perRow: number; readonly rows: number } | undefined {
    const counted = this.#costs(domain).filter(({ usage }) => usage.completionTokens !== undefined);
    const rows = sum(counted, ({ rows }) => rows);
    return rows === 0 ? undefined : { rows, perRow: sum(counted, ({ usage }) => usage.completionTokens ?? 0) / rows };
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
  run: Pick<Run, 'kind' | 'stored' | 'manifestPath'>,
  io: Pick<Io, 'cwd'>,
): Promise<Measured> {
  const own = run.stored === undefined ? [] : [{ name: shownPath(run.manifestPath, io), manifest: run.stored }];
  if (named.length === 0) return new Measured(own);
  const found = new Map<string, Found>();
  for (const one of named) {
    const paths = await manifestsAt(resolve(io.cwd, one));
    const runs = await Promise.all(paths.map((path) => runAt(path, run.kind, io)));
    const usable = runs.filter((run) => run !== undefined);
    if (usable.length === 0) {
      throw new UserError(
        `--estimate-from: ${one} holds no manifest of awb ${run.kind}; name a run's folder or one of its files`,
        EXIT.inputMissing,
      );
    }
    // A judged file's manifest holds that of its predictions, which may lie beside it.
    for (const run of usable) {
      const id = `${run.manifest.fingerprint} ${run.manifest.startedAt}`;
      if (!found.has(id)) found.set(id, run);
    }
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

/** The manifest of a run of the kind: a judged file's holds that of its predictions, and a calibration asks a judge as a judging does. */
async function runAt(path: string, kind: Run['kind'], io: Pick<Io, 'cwd'>): Promise<Found | undefined> {
  const manifest = await readManifest(path).catch(() => undefined);
  const found = [manifest, manifest?.predictions].find(
    (one) => one !== undefined && asksWorldModel(one.kind) === asksWorldModel(kind),
  );
  return found && { name: shownPath(path, io), manifest: found };
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
