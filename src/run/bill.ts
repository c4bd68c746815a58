// The bill: what is left to ask of a stage, and its estimated cost, based on what the user says, earlier runs and servers. The only request
// made is for a server's facts about its model; nothing is written.

import { readdir, stat } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { costOf, type Price } from '../core/costs.js';
import { inDomains } from '../core/domains.js';
import { inputMissing, present, throwIfStopped, UserError } from '../core/errors.js';
import { recordOf, sum } from '../core/groups.js';
import { asksWorldModel } from '../core/identity.js';
import { shownPath } from '../core/printable.js';
import { CHARS_A_TOKEN, charactersOf, type Domain, type Io, type Usage } from '../core/types.js';
import { type ServerFacts, serverFacts } from '../model/backend.js';
import { fitNotice, leastRoom, openContextWatch, type SizedRow } from '../model/context.js';
import { openSample, openSizes, openTokenizer } from '../model/tokens/tokenizer.js';
import { reachedIn } from './budget.js';
import { type Manifest, readManifest } from './manifest.js';
import type { Run } from './run.js';
import { isDone, type Stage, type StageJob } from './stage-contract.js';

const BOUNDS = ['expected', 'at_least', 'at_most'] as const;
/** An estimate with its bounds. */
export type Estimated = Readonly<Record<(typeof BOUNDS)[number], number>>;

/** The cost of asking some rows. */
export interface Charges {
  /** Rows (times repeats, or judgements) for which a model must be asked. */
  readonly rows: number;
  readonly calls: number;
  /** UTF-16 units of all messages. */
  readonly characters: number;
  readonly prompt_tokens: number;
  /** Prompt tokens in the prefix shared with the previous prompt, which a prefix cache can serve. */
  readonly cached_tokens: number;
  /** Including thinking. */
  readonly output_tokens: Estimated;
  /** US dollars without and with that cache; null if the price is unknown. */
  readonly usd: Estimated | null;
  readonly usd_cached: Estimated | null;
}

/** The document that --dry-run --json prints, and what is added when people read it. */
export type Bill = Awaited<ReturnType<typeof chargedBill>>;
/** Unknown values are null. Tokens are whole numbers; dollars are not rounded. */
export type BillDocument = Bill['document'];

/** Output tokens of a reply that was not measured and is not in the data: a verdict with its facts, without thinking. */
const GUESSED_REPLY = 600;
/** Below this ratio, repeated calls are lost in the noise of the estimate. */
const SOME_AGAIN = 1.01;

/**
 * The bill of a stage: every request that is still to be made, sized in the order of asking. Rows are read as for asking, and none is kept
 * in memory.
 * @throws UserError: 65 if a row can no longer be read, 66 if a named run is not one, 130 or 143 once the user has interrupted.
 */
export async function chargedBill<J extends StageJob>(stage: Stage<J>) {
  const { io, run, settings, target, truth } = stage;
  const { tokenizer: file, maxTokens } = settings;
  const { price } = stage.manifest;
  const tokenizer = file === undefined ? undefined : await openTokenizer(resolve(io.cwd, file), file);
  const servers = await serverFacts(target.named);
  const measured = await measuredBy(settings.estimateFrom, run, io);
  const waiting = stage.order.filter((job) => !isDone(stage, job));
  const asked = waiting.filter((job) => stage.asks(job));
  /** The domain of the row being sized. */
  let domain = '';
  const count = tokenizer === undefined ? ({ length }: string) => length : openSample(tokenizer.count, () => domain);
  const sizeOf = openSizes(count);
  const charges: (Charges & { readonly domain: Domain })[] = [];
  const sized: SizedRow[] = [];
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
    // Runs with a larger budget, or a server that miscounts, may have measured more.
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
  }
  const domains = inDomains(charges).map(([name, rows]) => ({ domain: name, ...sumOf(rows, price) }));
  const total = sumOf(domains, price);
  const tooLong = overlong(sized, servers, settings);
  const cache = measuredCache(total, measured);
  const ratio = measured.charactersPerToken();
  const document = {
    schema: 'awb.cost-estimate/1',
    kind: run.kind,
    model: target.model,
    hosts: stage.manifest.endpoints,
    /** Absent rows cannot be asked. */
    rows: {
      chosen: stage.order.length,
      done: stage.order.length - waiting.length,
      without_call: waiting.length - asked.length,
      absent: Object.values(stage.absent).reduce((sum, rows) => sum + rows, 0),
      to_ask: total.rows,
    },
    domains: domains.map(rounded),
    total: rounded(total),
    /** How tokens are counted. */
    tokens_by:
      file !== undefined
        ? { by: 'tokenizer' as const, file }
        : ratio === undefined
          ? { by: 'guess' as const, characters_per_token: CHARS_A_TOKEN }
          : { by: 'measured' as const, characters_per_token: ratio.ratio, calls: ratio.calls, ...measured.from },
    output_by: outputBasis(truth !== undefined, measured, domains),
    max_tokens: maxTokens,
    price: price ?? null,
    time: timeOf(total, { ...settings, measured: measured.callsPerMinute }, measured.from),
    measured_cache: cache,
    asked_again: asksWorldModel(run.kind) ? null : askedAgain(total, measured),
    budget: budgetOf(total, cache?.usd ?? total.usd?.expected, stage),
    /** What servers report about the model. */
    servers: servers.map(({ host, model = null, contextTokens: context_tokens = null }) => {
      return { host, model, context_tokens };
    }),
    /** Rows that are too long for the smallest context that a server reports, longest first. */
    overlong: tooLong?.rows ?? [],
    // The user has already seen the notices of earlier sessions, and a dry run repairs nothing.
    notes: [
      ...run.notices.filter((notice) => notice !== run.journal.repaired && !run.stored?.notices.includes(notice)),
      ...contextNotes(servers, settings),
    ],
  };
  // Whether predictions go to an agent instead of a judge.
  return { document, asksAgent: stage.asksAgent === true, overlong: tooLong };
}

type Budget = Parameters<typeof leastRoom>[1];

/** What the run would say, or fail with, when it reads the context lengths. */
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

/** The rows that are too long for the smallest context that a server reports, and the notice about them. */
function overlong(sized: readonly SizedRow[], servers: readonly ServerFacts[], budget: Budget) {
  const contexts = servers.flatMap(({ host, contextTokens: tokens, refusesBudgets = false }) =>
    tokens === undefined ? [] : [{ host, tokens, refusesBudgets }],
  );
  const room = leastRoom(contexts, budget);
  // If no row fits, the notes say so instead.
  if (room === undefined || room.tokens <= 0) return undefined;
  const rows = sized.filter(({ tokens }) => tokens > room.tokens).sort((a, b) => b.tokens - a.tokens);
  const notice = fitNotice(rows, room, budget);
  return notice && { ...notice, rows };
}

/** What the output estimate is based on; domains that were not measured use the mean of the others. */
function outputBasis(hasTruth: boolean, measured: Measured, domains: readonly { readonly domain: Domain }[]) {
  const output = measured.output();
  if (output !== undefined) {
    const guessed = domains.map(({ domain }) => domain).filter((domain) => measured.output(domain) === undefined);
    return { by: 'measured' as const, rows: output.rows, ...measured.from, guessed_domains: guessed };
  }
  return hasTruth ? { by: 'truth' as const } : { by: 'guess' as const, tokens_per_call: GUESSED_REPLY };
}

/**
 * The share of prompt tokens, 0 to 1, that servers of earlier runs served from their caches, and the cost of this run at that share:
 * between the cost without a cache and with an ideal one.
 */
function measuredCache({ prompt_tokens, cached_tokens, usd, usd_cached }: Charges, { cachedShare, from }: Measured) {
  if (cachedShare === undefined) return null;
  const saved = usd && usd_cached && cached_tokens > 0 ? usd.expected - usd_cached.expected : null;
  const cost = usd && saved !== null ? usd.expected - (saved * cachedShare * prompt_tokens) / cached_tokens : null;
  return { share: cachedShare, usd: cost, ...from };
}

/**
 * The bill if as many calls are repeated as in earlier runs: for unreadable verdicts, and for rows that failed or changed. The measured
 * output already includes repeated calls, so only their prompts are added.
 */
function askedAgain({ rows, calls, prompt_tokens, usd }: Charges, { callsPerRow, from }: Measured) {
  const times = callsPerRow === undefined ? 1 : (callsPerRow * rows) / calls;
  // Without rows, `times` is NaN.
  if (!(times >= SOME_AGAIN)) return null;
  return {
    times,
    calls: Math.round(times * calls),
    prompt_tokens: Math.round(times * prompt_tokens),
    usd: usd && usd.expected + (times - 1) * usd.at_least,
    ...from,
  };
}

/**
 * What earlier sessions have spent of the budget, and the share of the bill that the rest covers, 0 to 1; null without a budget, or if the
 * cost is unknown in the budget's unit. `is_spent` if the run would stop at once.
 */
function budgetOf(
  { prompt_tokens, output_tokens }: Charges,
  dollars: number | undefined,
  { settings, run: { ledger } }: Pick<Stage<StageJob>, 'settings' | 'run'>,
) {
  const shareOf = (budget: number | undefined, spent: number | undefined, need: number | undefined) => {
    if (budget === undefined || spent === undefined || need === undefined) return null;
    return { budget, spent, covers: need === 0 ? 1 : Math.min(1, Math.max(0, budget - spent) / need) };
  };
  const usd = shareOf(settings.budgetUsd, ledger.usd, dollars);
  const tokens = shareOf(settings.budgetTokens, ledger.tokens, prompt_tokens + output_tokens.expected);
  return usd === null && tokens === null ? null : { is_spent: reachedIn(ledger, settings) !== undefined, usd, tokens };
}

/** The unrounded cost of a call, given its sizes. Each call is priced on its own, since a price may depend on the prompt's length. */
export function chargesOf(
  call: Pick<Charges, 'characters' | 'prompt_tokens' | 'cached_tokens' | 'output_tokens'>,
  price: Price | undefined,
): Charges {
  const { prompt_tokens: promptTokens, cached_tokens: cachedTokens, output_tokens: output } = call;
  const costed = (usage: Readonly<Usage>) => {
    if (price === undefined) return null;
    return recordOf(BOUNDS, (bound) => present(costOf({ ...usage, completionTokens: output[bound] }, price)));
  };
  // What a cache serves later must be written to it first.
  const writtenTokens = promptTokens - cachedTokens;
  const usd_cached = costed({ promptTokens, cachedTokens, writtenTokens });
  return { rows: 0, calls: 1, ...call, usd: costed({ promptTokens }), usd_cached };
}

/** The sums of some rows' calls. */
export function sumOf(all: readonly Charges[], price: Price | undefined): Charges {
  const sumsOf = (of: (charges: Charges) => Estimated | null) =>
    recordOf(BOUNDS, (bound) => sum(all, (each) => of(each)?.[bound] ?? 0));
  const sizes = ['rows', 'calls', 'characters', 'prompt_tokens', 'cached_tokens'] as const;
  return {
    ...recordOf(sizes, (size) => sum(all, (each) => each[size])),
    output_tokens: sumsOf(({ output_tokens }) => output_tokens),
    usd: price === undefined ? null : sumsOf(({ usd }) => usd),
    usd_cached: price === undefined ? null : sumsOf(({ usd_cached }) => usd_cached),
  };
}

/** Rounds tokens to whole numbers for display. */
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
 * The time that the slowest limit takes; null if none is known. With rate limits only, it is a lower bound.
 * @param speed per minute, where known: calls, as given by the user and as measured by earlier runs, and the most calls and tokens that the
 * endpoint accepts
 */
export function timeOf(
  { calls, prompt_tokens, output_tokens }: Charges,
  speed: { readonly [by in (typeof SPEEDS)[number]]?: number | undefined },
  runs: Measured['from'],
) {
  const isPaced = speed.rate !== undefined || speed.measured !== undefined;
  const found = SPEEDS.flatMap((by) => {
    const perMinute = by === 'measured' && speed.rate !== undefined ? undefined : speed[by];
    if (perMinute === undefined || perMinute <= 0) return [];
    const seconds = (60 * (by === 'tpm' ? prompt_tokens + output_tokens.expected : calls)) / perMinute;
    const from: Partial<Measured['from']> = by === 'measured' ? runs : {};
    return [{ seconds, at_least: !isPaced, by, per_minute: perMinute, ...from }];
  });
  return found.sort((a, b) => b.seconds - a.seconds)[0] ?? null;
}

const SPEEDS = ['rate', 'measured', 'rpm', 'tpm'] as const;

/** A server that reports a ratio outside these bounds counts something other than tokens. */
const [LEAST_CHARACTERS, MOST_CHARACTERS] = [0.5, 50];

/** A manifest, and its path as shown to people. */
interface Found {
  readonly name: string;
  /** Fields missing from the file are absent. */
  readonly manifest: Partial<Manifest> & Pick<Manifest, 'kind' | 'identity'>;
}

type Measured = ReturnType<typeof measuredIn>;

/** The combined measurements of runs of one kind; what none of them measured is undefined. */
export function measuredIn(found: readonly Found[]) {
  const manifests = found.map(({ manifest }) => manifest);
  const models = manifests.map(({ kind, identity, servedModels }) => {
    const asked = identity[asksWorldModel(kind) ? 'model' : 'judge'];
    return typeof asked === 'string' ? asked : (servedModels?.[0] ?? 'local model');
  });
  const costsOf = (domain?: Domain) =>
    manifests.flatMap(({ costs = {} }) => (domain === undefined ? Object.values(costs) : (costs[domain] ?? [])));
  const told = costsOf().filter(({ usage }) => usage.cachedTokens !== undefined);
  const share = sum(told, ({ usage }) => usage.cachedTokens ?? 0) / sum(told, ({ usage }) => usage.promptTokens ?? 0);
  const paces = manifests.flatMap(({ pace }) => pace ?? []);
  const [calls, seconds] = [sum(paces, (pace) => pace.calls), sum(paces, (pace) => pace.seconds)];
  const rows = sum(manifests, ({ counts }) => (counts?.ok ?? 0) + (counts?.failed ?? 0));
  return {
    /** The manifests of the earlier runs, and the models that they asked. */
    from: { runs: found.map(({ name }) => name), models: [...new Set(models)] },
    /** For a domain's prompts, or for all. */
    charactersPerToken(domain?: Domain) {
      const counts = costsOf(domain).flatMap(({ counted }) => counted ?? []);
      const ratio = sum(counts, ({ chars }) => chars) / sum(counts, ({ promptTokens }) => promptTokens);
      if (!(ratio >= LEAST_CHARACTERS && ratio <= MOST_CHARACTERS)) return undefined;
      return { ratio, calls: sum(counts, (count) => count.rows) };
    },
    /** Output tokens per row in a domain, or in all, including thinking and further tries. */
    output(domain?: Domain) {
      const counts = costsOf(domain).filter(({ usage }) => usage.completionTokens !== undefined);
      const rows = sum(counts, (cost) => cost.rows);
      return rows === 0 ? undefined : { rows, perRow: sum(counts, ({ usage }) => usage.completionTokens ?? 0) / rows };
    },
    /** The share of prompt tokens that servers served from their caches, 0 to 1. */
    cachedShare: share >= 0 ? Math.min(1, share) : undefined,
    callsPerMinute: calls > 0 && seconds > 0 ? (60 * calls) / seconds : undefined,
    /** Includes repeated calls. If some rows took no call, it is less than the other rows took. */
    callsPerRow: calls > 0 && rows > 0 ? calls / rows : undefined,
  };
}

/**
 * What the named runs took, or else what the run's own sessions have taken so far.
 * @param named folders, judged files, predictions files or manifests
 * @throws UserError (66) if a named path holds no run of this kind
 */
async function measuredBy(named: readonly string[], { kind, stored, manifestPath }: Run, io: Pick<Io, 'cwd'>) {
  if (named.length === 0) {
    return measuredIn(stored === undefined ? [] : [{ name: shownPath(manifestPath, io), manifest: stored }]);
  }
  const found = new Map<string, Found>();
  for (const one of named) {
    let isUsable = false;
    for (const path of await manifestsAt(resolve(io.cwd, one))) {
      const read = await readManifest(path).catch(() => undefined);
      // A judged file's manifest contains the manifest of its predictions. A calibration asks a judge in the same way as a judging.
      const manifest = [read, read?.predictions].find(
        (each) => each && asksWorldModel(each.kind) === asksWorldModel(kind),
      );
      if (manifest === undefined) continue;
      isUsable = true;
      // The manifest of the predictions may also lie next to the judged file.
      const id = `${manifest.fingerprint} ${manifest.startedAt}`;
      if (!found.has(id)) found.set(id, { name: shownPath(path, io), manifest });
    }
    if (isUsable) continue;
    throw inputMissing(
      `--estimate-from: ${one} has no manifest of awb ${kind}; name a run's folder or one of its files`,
    );
  }
  return measuredIn([...found.values()]);
}

async function manifestsAt(path: string): Promise<string[]> {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
  if (!isFolder) return [path.replace(/(\.journal)?\.jsonl$/, '.manifest.json')];
  const manifests = /^(predictions|judged(\..*)?|calibration|likelihood)\.manifest\.json$/;
  const names = (await readdir(path)).filter((name) => manifests.test(name)).sort();
  return names.map((name) => join(path, name));
}
