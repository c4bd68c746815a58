// A stage that is not asked -> its bill: every request that is still to be made, sized in the order of asking.

import type { AskedAgain, Bill, Charges, Estimated, ServerFacts, TokenBasis } from '../../bill.js';
import { Account, type Call } from '../../billing/account.js';
import {
  cachedShare,
  callsPerMinute,
  callsPerRow,
  type Measurement,
  outputMeans,
  tokenRatio,
} from '../../billing/measurements.js';
import { type Speed, timeOf } from '../../billing/time.js';
import { throwIfStopped } from '../../errors.js';
import { askedWord } from '../../judge/modes.js';
import { filtered } from '../../list.js';
import { asksWorldModel } from '../../run-kind.js';
import { isDone, type Stage, type StageJob } from '../stage-contract.js';
import { Overlong } from './overlong.js';
import { byRatio, byTokenizer, sizer } from './sizes.js';

/** As many rows are read before their turn. */
const ROWS_AHEAD = 2;

/** What the figures come from. */
interface BillSources {
  readonly model: string;
  readonly runs: readonly Measurement[];
  readonly tokenizer?: { readonly file: string; count(text: string): number } | undefined;
  readonly servers: readonly ServerFacts[];
  readonly speed: Omit<Speed, 'measured'>;
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
  const { runs, tokenizer, maxTokens } = sources;
  const waiting = filtered(stage.order, (job) => !isDone(stage, job));
  const asked = filtered(waiting, (job) => stage.asks(job));
  const ratio = tokenRatio(runs);
  const means = outputMeans(runs);
  const price = stage.manifest.price;
  const account = new Account(price);
  const overlong = new Overlong(sources.servers, sources);
  const sizeOf = sizer(tokenizer === undefined ? byRatio(ratio.charactersPerToken) : byTokenizer(tokenizer));
  let read = 0;
  for await (const [job, questions] of readAhead(asked, (job) => stage.questions(job))) {
    throwIfStopped(stage.io.stop);
    const sizes = questions.map((question) => sizeOf(question, job.domain));
    overlong.add(job.domain, stage.placeOf?.(job)?.place, sizes);
    const output = outputOf(means?.perRow(job.domain), questions.length, maxTokens);
    account.add(
      job.domain,
      sizes.map((size): Call => ({ ...size, output })),
    );
    sources.onRow?.(++read, asked.length);
  }
  const [total, domains] = [account.total(), account.domains()];
  const tokens: TokenBasis = tokenizer === undefined ? ratio.basis : { by: 'tokenizer', file: tokenizer.file };
  return {
    kind: stage.run.kind,
    ...(askedWord(String(stage.run.identity.mode)) === 'agent' ? { asksAgent: true } : {}),
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
    tokens,
    output: means?.basis(domains.map(({ domain }) => domain)),
    maxTokens,
    price,
    time: timeOf(total, { ...sources.speed, measured: callsPerMinute(runs) }),
    measuredCache: measuredCache(total, runs),
    askedAgain: asksWorldModel(stage.run.kind) ? undefined : askedAgain(total, runs),
    servers: sources.servers,
    overlong: overlong.notice(),
    notes: sources.notes,
  };
}

/** Each item with what is read of it, in order; the disk reads some while those before them are worked on. */
async function* readAhead<T, R>(items: Iterable<T>, read: (item: T) => Promise<R>): AsyncGenerator<readonly [T, R]> {
  const under: [T, Promise<R>][] = [];
  for (const item of items) {
    const reading = read(item);
    // Where one before it fails, nobody waits for it any more.
    reading.catch(() => {});
    under.push([item, reading]);
    const first = under.length > ROWS_AHEAD ? under.shift() : undefined;
    if (first !== undefined) yield [first[0], await first[1]];
  }
  for (const [item, reading] of under) yield [item, await reading];
}

/** The cost at the share that was measured lies between those without a cache and with an ideal one. */
function measuredCache(
  { promptTokens, cachedTokens, usd }: Charges,
  runs: readonly Measurement[],
): Bill['measuredCache'] {
  const measured = cachedShare(runs);
  const [plain, cached] = [usd?.plain.expected, usd?.cached.expected];
  if (measured === undefined || plain === undefined || cached === undefined || cachedTokens === 0) return measured;
  return { ...measured, usd: plain - ((plain - cached) * measured.share * promptTokens) / cachedTokens };
}

/** Below this, calls that are made again are lost in the estimate. */
const SOME_AGAIN = 1.01;

/** The output that was measured holds that of further calls, so their prompts alone are added. */
function askedAgain({ rows, calls, promptTokens, usd }: Charges, runs: readonly Measurement[]): AskedAgain | undefined {
  const measured = callsPerRow(runs);
  const times = measured === undefined ? 1 : (measured.perRow * rows) / calls;
  // Without rows it is no number.
  if (measured === undefined || !(times >= SOME_AGAIN)) return undefined;
  const { expected, atLeast = 0 } = usd?.plain ?? {};
  return {
    times,
    calls: times * calls,
    promptTokens: times * promptTokens,
    ...(expected === undefined ? {} : { usd: expected + (times - 1) * atLeast }),
    runs: measured.runs,
  };
}

/** What one of a row's calls may answer. Runs with a larger budget, or with a server that counts nonsense, may have measured more. */
function outputOf(perRow: number | undefined, calls: number, maxTokens: number | undefined): Estimated {
  return {
    atLeast: 0,
    ...(perRow === undefined ? {} : { expected: Math.min(perRow / calls, maxTokens ?? Number.POSITIVE_INFINITY) }),
    ...(maxTokens === undefined ? {} : { atMost: maxTokens }),
  };
}
