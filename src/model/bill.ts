// The bill before a run, as its JSON document has it: what is still to be asked, and what that is estimated to take.

import type { Price } from '../core/costs.js';
import type { RunKind } from '../core/identity.js';
import type { Domain } from '../core/types.js';
import type { FitNotice, SizedRow } from './context.js';

/** An estimate between its bounds; nothing bounds it where `at_most` is null. */
export interface Estimated {
  readonly expected: number;
  readonly at_least: number;
  readonly at_most: number | null;
}

/** What asking some rows takes. */
export interface Charges {
  /** Rows (times repeats, or judgements) that a model has to be asked for. */
  readonly rows: number;
  readonly calls: number;
  /** UTF-16 units of all messages. */
  readonly characters: number;
  readonly prompt_tokens: number;
  /** Those of the prompt that the one before it began with, too: a prefix cache can serve them. */
  readonly cached_tokens: number;
  /** Thinking included. */
  readonly output_tokens: Estimated;
  /** US dollars without and with that cache; null where nobody knows the price. */
  readonly usd: Estimated | null;
  readonly usd_cached: Estimated | null;
}

/** Earlier runs that stand for the run at hand: their manifests, and the models that they asked. */
export interface EarlierRuns {
  readonly runs: readonly string[];
  readonly models: readonly string[];
}

/** From what tokens are counted. */
type TokenBasis =
  | { readonly by: 'tokenizer'; readonly file: string }
  | ({ readonly by: 'measured'; readonly characters_per_token: number; readonly calls: number } & EarlierRuns)
  | { readonly by: 'guess'; readonly characters_per_token: number };

/** From what the output is estimated: earlier runs, the true replies of the data, or a mean that holds for any reply. */
type OutputBasis =
  /** Domains that were not measured stand at the mean of the others. */
  | ({ readonly by: 'measured'; readonly rows: number; readonly guessed_domains: readonly Domain[] } & EarlierRuns)
  | { readonly by: 'truth' }
  | { readonly by: 'guess'; readonly tokens_per_call: number };

/** How long the asking takes, and what that is limited by. */
export interface TimeBasis extends Partial<EarlierRuns> {
  readonly seconds: number;
  /** Set where no rate is known: the limits alone say that it takes no less. */
  readonly at_least: boolean;
  readonly by: 'rate' | 'measured' | 'rpm' | 'tpm';
  /** Calls, or tokens under `tpm`, a minute. */
  readonly per_minute: number;
}

/** How much of their prompts, 0 to 1, earlier runs' servers had in their caches, and what the run then costs. */
interface MeasuredCache extends EarlierRuns {
  readonly share: number;
  readonly usd: number | null;
}

/** What the bill comes to with as many calls made again as in earlier runs: for verdicts that could not be read, and for rows that failed or changed. */
interface AskedAgain extends EarlierRuns {
  /** Calls for each that the bill counts: more than 1. */
  readonly times: number;
  readonly calls: number;
  readonly prompt_tokens: number;
  readonly usd: number | null;
}

/** A budget in one unit: what it is, what earlier sessions have spent of it, and which share of the bill the rest pays, 0 to 1. */
export interface BudgetShare {
  readonly budget: number;
  readonly spent: number;
  readonly covers: number;
}

/** What is not known is null. Tokens are whole numbers; dollars are not rounded. */
export interface BillDocument {
  readonly schema: 'awb.bill/1';
  readonly kind: RunKind;
  /** Whom the rows are put to. */
  readonly model: string;
  readonly hosts: readonly string[];
  readonly rows: {
    readonly chosen: number;
    readonly done: number;
    readonly without_call: number;
    /** Those that cannot be asked. */
    readonly absent: number;
    readonly to_ask: number;
  };
  readonly domains: readonly (Charges & { readonly domain: Domain })[];
  readonly total: Charges;
  readonly tokens_by: TokenBasis;
  readonly output_by: OutputBasis;
  /** What a call's output is held to. */
  readonly max_tokens: number | null;
  readonly price: Price | null;
  readonly time: TimeBasis | null;
  readonly measured_cache: MeasuredCache | null;
  readonly asked_again: AskedAgain | null;
  /** `is_spent` where the run would stop at once. */
  readonly budget: {
    readonly is_spent: boolean;
    readonly usd: BudgetShare | null;
    readonly tokens: BudgetShare | null;
  } | null;
  readonly servers: readonly {
    readonly host: string;
    readonly model: string | null;
    readonly context_tokens: number | null;
  }[];
  /** Rows that are too long for the smallest context that a server tells, the longest first. */
  readonly overlong: readonly SizedRow[];
  /** What else the user should know. */
  readonly notes: readonly string[];
}

/** The document, and what is said beside it where people read it. */
export interface Bill {
  readonly document: BillDocument;
  /** Whether predictions are put to an agent in place of a judge. */
  readonly asksAgent: boolean;
  readonly overlong?: FitNotice | undefined;
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
