// A stage that is not asked -> its bill: every request that is still to be made, sized in the order of asking.

import type {
  AskedAgain,
  Bill,
  BillBudget,
  BudgetShare,
  Charges,
  OutputBasis,
  ServerFacts,
  TokenBasis,
} from '../../bill.js';
import { inTableOrder } from '../../domains.js';
import { throwIfStopped } from '../../errors.js';
import { askedWord } from '../../judge/modes.js';
import { fitNotice, leastRoom, type SizedRow } from '../../model/context.js';
import { CHARS_A_TOKEN, charactersOf } from '../../question.js';
import { asksWorldModel } from '../../run-kind.js';
import { openSizes } from '../../tokens/pieces.js';
import type { Domain } from '../../types.js';
import { type BudgetSettings, reachedIn } from '../budget.js';
import type { Ledger } from '../ledger.js';
import { isDone, type Stage, type StageJob } from '../stage-contract.js';
import { type Call, chargesOf, type Speed, sumOf, timeOf } from './charges.js';
import type { Measured } from './measured.js';

/** Output tokens of a reply that nobody measured and the data does not hold: a verdict with its facts, without thinking. */
const GUESSED_REPLY = 600;
/** Below this, calls that are made again are lost in the estimate. */
const SOME_AGAIN = 1.01;

/** What the figures come from. */
interface BillSources {
  readonly model: string;
  readonly measured: Measured;
  readonly tokenizer?: { readonly file: string; count(text: string): number } | undefined;
  readonly servers: readonly ServerFacts[];
  readonly speed: Omit<Speed, 'measured'>;
  readonly budget: BudgetSettings;
  readonly maxTokens: number | undefined;
  readonly fitMaxTokens: boolean;
  readonly notes: readonly string[];
  /** Told after each row. */
  onRow?(done: number, of: number): void;
}

/**
 * The bill of a stage. Rows are read as they would be asked, and none is kept.
 * @throws UserError: 65 where a row cannot be read any more, 130 or 143 once the user has interrupted.
 */
export async function billOf<J extends StageJob>(stage: Stage<J>, sources: BillSources): Promise<Bill> {
  const { measured, servers, maxTokens } = sources;
  const { price } = stage.manifest;
  const waiting = [...stage.order].filter((job) => !isDone(stage, job));
  const asked = waiting.filter((job) => stage.asks(job));
  const callsOf = openCalls(stage, sources);
  const charges = new Map<Domain, Charges[]>();
  const sized: SizedRow[] = [];
  for (const [place, job] of asked.entries()) {
    throwIfStopped(stage.io.stop);
    const calls = await callsOf(job);
    const row = {
      ...sumOf(
        calls.map((call) => chargesOf(call, price)),
        price,
      ),
      rows: 1,
    };
    charges
      .set(job.domain, charges.get(job.domain) ?? [])
      .get(job.domain)
      ?.push(row);
    const found = stage.placeOf?.(job);
    const tokens = Math.ceil(Math.max(...calls.map(({ promptTokens }) => promptTokens)));
    if (found !== undefined) sized.push({ place: found.place, domain: job.domain, tokens });
    sources.onRow?.(place + 1, asked.length);
  }
  const domains = [...charges]
    .sort(([a], [b]) => inTableOrder(a, b))
    .map(([domain, rows]) => ({ domain, ...sumOf(rows, price) }));
  const total = sumOf(domains, price);
  const bill = {
    kind: stage.run.kind,
    ...(askedWord(String(stage.run.identity.mode)) === 'agent' && { asksAgent: true as const }),
    model: sources.model,
    hosts: stage.manifest.endpoints,
    rows: {
      chosen: stage.order.length,
      done: stage.order.length - waiting.length,
      alone: waiting.length - asked.length,
      absent: Object.values(stage.absent).reduce((sum, count) => sum + count, 0),
    },
    domains,
    total,
    tokens: tokenBasis(sources),
    output: outputBasis(stage, measured, domains),
    runs: measured.runs,
    maxTokens,
    price,
    time: timeOf(total, { ...sources.speed, measured: measured.callsPerMinute() }),
    measuredCache: measuredCache(total, measured),
    askedAgain: asksWorldModel(stage.run.kind) ? undefined : askedAgain(total, measured),
    servers,
    overlong: overlong(sized, sources),
    notes: sources.notes,
  };
  return { ...bill, budget: budgetOf(bill, stage.run.ledger, sources.budget) };
}

/** Tells the calls of one row after the other, in the order in which they would be asked. */
function openCalls<J extends StageJob>(
  stage: Stage<J>,
  { measured, tokenizer, maxTokens }: BillSources,
): (job: J) => Promise<Call[]> {
  const sizeOf = openSizes(tokenizer?.count ?? ((text) => text.length));
  const unitsPerToken = (domain: Domain) =>
    tokenizer === undefined ? (measured.charactersPerToken(domain)?.ratio ?? charactersPerToken(measured)) : 1;
  const replyOf = async (job: J, calls: number) => {
    const output = measured.output(job.domain) ?? measured.output();
    if (output !== undefined) return output.perRow / calls;
    const truth = await stage.truth?.(job);
    if (truth === undefined) return GUESSED_REPLY;
    return (tokenizer?.count(truth) ?? truth.length) / unitsPerToken(job.domain);
  };
  return async (job) => {
    const questions = (await stage.questions?.(job)) ?? [await stage.request(job)];
    const reply = await replyOf(job, questions.length);
    // Runs with a larger budget, or with a server that counts nonsense, may have measured more.
    const expected = Math.min(reply, maxTokens ?? Number.POSITIVE_INFINITY);
    const outputTokens = { expected, atLeast: 0, ...(maxTokens !== undefined && { atMost: maxTokens }) };
    const units = unitsPerToken(job.domain);
    return questions.map((question) => {
      const { tokens, sharedTokens } = sizeOf(question);
      const sizes = { promptTokens: tokens / units, cachedTokens: sharedTokens / units };
      return { characters: charactersOf(question), ...sizes, outputTokens };
    });
  };
}

function charactersPerToken(measured: Measured): number {
  return measured.charactersPerToken()?.ratio ?? CHARS_A_TOKEN;
}

function tokenBasis({ measured, tokenizer }: BillSources): TokenBasis {
  if (tokenizer !== undefined) return { by: 'tokenizer', file: tokenizer.file };
  const known = measured.charactersPerToken();
  return known === undefined
    ? { by: 'guess', charactersPerToken: CHARS_A_TOKEN }
    : { by: 'measured', charactersPerToken: known.ratio, calls: known.calls };
}

function outputBasis<J extends StageJob>(
  { truth }: Stage<J>,
  measured: Measured,
  domains: readonly { readonly domain: Domain }[],
): OutputBasis {
  const output = measured.output();
  if (output === undefined)
    return truth === undefined ? { by: 'guess', tokensPerCall: GUESSED_REPLY } : { by: 'truth' };
  const guessed = domains.map(({ domain }) => domain).filter((domain) => measured.output(domain) === undefined);
  return { by: 'measured', rows: output.rows, guessed };
}

/** The cost at the share that was measured lies between those without a cache and with an ideal one. */
function measuredCache({ promptTokens, cachedTokens, usd }: Charges, measured: Measured): Bill['measuredCache'] {
  const share = measured.cachedShare();
  if (share === undefined) return undefined;
  if (usd === undefined || cachedTokens === 0) return { share };
  const saved = usd.plain.expected - usd.cached.expected;
  return { share, usd: usd.plain.expected - (saved * share * promptTokens) / cachedTokens };
}

/** The output that was measured holds that of further calls, so their prompts alone are added. */
function askedAgain({ rows, calls, promptTokens, usd }: Charges, measured: Measured): AskedAgain | undefined {
  const perRow = measured.callsPerRow();
  const times = perRow === undefined ? 1 : (perRow * rows) / calls;
  // Without rows it is no number.
  if (!(times >= SOME_AGAIN)) return undefined;
  return {
    times,
    calls: times * calls,
    promptTokens: times * promptTokens,
    ...(usd !== undefined && { usd: usd.plain.expected + (times - 1) * usd.plain.atLeast }),
  };
}

/** The rows that are too long for the smallest context that a server tells. */
function overlong(sized: readonly SizedRow[], { servers, ...budget }: BillSources): Bill['overlong'] {
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

/** What earlier sessions have spent of the budget, and what the bill takes of it. Undefined where none is given. */
function budgetOf(
  { total: { promptTokens, outputTokens, usd }, measuredCache }: Pick<Bill, 'total' | 'measuredCache'>,
  ledger: Ledger,
  settings: BudgetSettings,
): BillBudget | undefined {
  const { budgetUsd, budgetTokens } = settings;
  const shares: BudgetShare[] = [];
  const cost = measuredCache?.usd ?? usd?.plain.expected;
  // A budget in dollars is left out where nobody knows a price.
  if (budgetUsd !== undefined && ledger.usd !== undefined && cost !== undefined) {
    shares.push({ unit: 'usd', budget: budgetUsd, spent: ledger.usd, need: cost });
  }
  if (budgetTokens !== undefined) {
    const need = promptTokens + outputTokens.expected;
    shares.push({ unit: 'tokens', budget: budgetTokens, spent: ledger.tokens, need });
  }
  return shares.length === 0 ? undefined : { isSpent: reachedIn(ledger, settings) !== undefined, shares };
}
