// A stage that is not asked -> its bill: every request that is still to be made, sized in the order of asking.

import { inTableOrder } from '../../core/domains.js';
import { throwIfStopped } from '../../core/errors.js';
import { present } from '../../core/present.js';
import { costOf, type Price } from '../../core/price.js';
import { CHARS_A_TOKEN, charactersOf } from '../../core/question.js';
import { asksWorldModel } from '../../core/run-kind.js';
import type { Domain, Usage } from '../../core/types.js';
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
} from '../../model/bill.js';
import { fitNotice, leastRoom, type SizedRow } from '../../model/context.js';
import { openSample, openSizes } from '../../model/tokens/tokenizer.js';
import { reachedIn } from '../budget.js';
import type { Ledger } from '../ledger.js';
import type { BudgetSettings } from '../options.js';
import { isDone, type Stage, type StageJob } from '../stage-contract.js';
import type { Measured } from './measured.js';

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
export async function billOf<J extends StageJob>(stage: Stage<J>, sources: BillSources): Promise<Bill> {
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
