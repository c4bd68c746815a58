// The bill before a run: what is still to be asked, and what that is estimated to take.

import type { FitNotice, SizedRow } from './model/context.js';
import type { Price } from './price.js';
import type { RunKind } from './run-kind.js';
import type { Domain } from './types.js';

/** An estimate between its bounds; `atMost` is absent where nothing bounds it. */
export interface Estimated {
  readonly expected: number;
  readonly atLeast: number;
  readonly atMost?: number;
}

/** What asking some rows takes. Tokens are not rounded. */
export interface Charges {
  /** Rows (times repeats, or judgements) that a model has to be asked for. */
  readonly rows: number;
  readonly calls: number;
  /** UTF-16 units of all messages. */
  readonly characters: number;
  readonly promptTokens: number;
  /** Those of the prompt that the one before it began with, too: a prefix cache can serve them. */
  readonly cachedTokens: number;
  /** Thinking included. */
  readonly outputTokens: Estimated;
  /** US dollars without and with that cache; absent where nobody knows the price. */
  readonly usd?: { readonly plain: Estimated; readonly cached: Estimated };
}

interface DomainCharges extends Charges {
  readonly domain: Domain;
}

/** From what tokens are counted. */
export type TokenBasis =
  | { readonly by: 'tokenizer'; readonly file: string }
  | { readonly by: 'measured'; readonly charactersPerToken: number; readonly calls: number }
  | { readonly by: 'guess'; readonly charactersPerToken: number };

/** Earlier runs that stand for the run at hand: their manifests, and the models that they asked. */
export interface EarlierRuns {
  readonly names: readonly string[];
  readonly models: readonly string[];
}

/** From what the output is estimated: earlier runs, the true replies of the data, or a mean that holds for any reply. */
export type OutputBasis =
  | {
      readonly by: 'measured';
      /** Rows that were measured. */
      readonly rows: number;
      /** Domains that were not measured, and stand at the mean of the others. */
      readonly guessed: readonly Domain[];
    }
  | { readonly by: 'truth' }
  | { readonly by: 'guess'; readonly tokensPerCall: number };

/** How long the asking takes, and what that is limited by. */
export interface TimeBasis {
  readonly seconds: number;
  /** Set where no rate is known: the limits alone say that it takes no less. */
  readonly isLeast: boolean;
  readonly by: 'rate' | 'measured' | 'rpm' | 'tpm';
  /** Calls, or tokens under `tpm`, a minute. */
  readonly perMinute: number;
}

export interface Bill {
  readonly kind: RunKind;
  /** Whether predictions are put to an agent in place of a judge; absent where not. */
  readonly asksAgent?: true;
  /** Whom the rows are put to. */
  readonly model: string;
  readonly hosts: readonly string[];
  /** Rows that were chosen, and those of them that are done, that need no model, and that cannot be asked. */
  readonly rows: { readonly chosen: number; readonly done: number; readonly alone: number; readonly absent: number };
  readonly domains: readonly DomainCharges[];
  readonly total: Charges;
  readonly tokens: TokenBasis;
  readonly output: OutputBasis;
  /** Whatever was measured, they did. */
  readonly runs: EarlierRuns;
  /** What a call's output is held to. */
  readonly maxTokens?: number | undefined;
  readonly price?: Price | undefined;
  readonly time?: TimeBasis | undefined;
  readonly measuredCache?: MeasuredCache | undefined;
  /** Absent where earlier runs tell of no call that was made again. */
  readonly askedAgain?: AskedAgain | undefined;
  /** Absent where none is given. */
  readonly budget?: BillBudget | undefined;
  /** What each server says of itself. */
  readonly servers: readonly ServerFacts[];
  /** Rows that are too long for the smallest context, the longest first. */
  readonly overlong?: Overlong | undefined;
  /** What else the user should know. */
  readonly notes: readonly string[];
}

/** What the bill comes to with as many calls made again as in earlier runs: for verdicts that could not be read, and for rows that failed or changed. */
export interface AskedAgain {
  /** Calls for each that the bill counts: more than 1. */
  readonly times: number;
  readonly calls: number;
  readonly promptTokens: number;
  /** Absent where the price is not known. */
  readonly usd?: number;
}

/** What a run may spend over all its sessions, beside its bill. */
export interface BillBudget {
  /** Whether the run would stop at once. */
  readonly isSpent: boolean;
  readonly shares: readonly BudgetShare[];
}

/** A budget in one unit: what it is, what earlier sessions have spent of it, and what the bill takes. */
export interface BudgetShare {
  readonly unit: 'usd' | 'tokens';
  readonly budget: number;
  readonly spent: number;
  readonly need: number;
}

interface Overlong extends FitNotice {
  readonly rows: readonly SizedRow[];
}

/** How much of their prompts earlier runs' servers had in their caches. */
interface MeasuredCache {
  /** 0 to 1. */
  readonly share: number;
  /** US dollars at that share, where the cost is known. */
  readonly usd?: number;
}

/** What a server says of the model at /models; absent is what it does not. */
export interface ServerFacts {
  readonly host: string;
  /** The name under which it has the model. */
  readonly model?: string;
  readonly contextTokens?: number;
  /** Whether it refuses a prompt that fits without its whole output budget. */
  readonly refusesBudgets?: boolean;
}
