// The bill before a run, as its JSON document has it: what is still to be asked, and what that is estimated to take.

import type { Price } from '../core/costs.js';
import type { RunKind } from '../core/identity.js';
import type { Domain } from '../core/types.js';
import type { FitNotice, SizedRow } from './context.js';

type Numbers<Name extends string> = Readonly<Record<Name, number>>;

/** An estimate between its bounds; nothing bounds it where `at_most` is null. */
export interface Estimated extends Numbers<'expected' | 'at_least'> {
  readonly at_most: number | null;
}

/**
 * What asking some rows (times repeats, or judgements) takes. `characters` are UTF-16 units of all messages. `cached_tokens` are those of
 * the prompt that the one before it began with, too: a prefix cache can serve them.
 */
export interface Charges extends Numbers<'rows' | 'calls' | 'characters' | 'prompt_tokens' | 'cached_tokens'> {
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

/** How long the asking takes, and what that is limited by. `per_minute` are calls, or tokens under `tpm`. */
export interface TimeBasis extends Partial<EarlierRuns>, Numbers<'seconds' | 'per_minute'> {
  /** Set where no rate is known: the limits alone say that it takes no less. */
  readonly at_least: boolean;
  readonly by: 'rate' | 'measured' | 'rpm' | 'tpm';
}

/** A budget in one unit: what it is, what earlier sessions have spent of it, and which share of the bill the rest pays, 0 to 1. */
export type BudgetShare = Numbers<'budget' | 'spent' | 'covers'>;

/** What is not known is null. Tokens are whole numbers; dollars are not rounded. */
export interface BillDocument {
  readonly schema: 'awb.bill/1';
  readonly kind: RunKind;
  /** Whom the rows are put to. */
  readonly model: string;
  readonly hosts: readonly string[];
  /** `absent` are those that cannot be asked. */
  readonly rows: Numbers<'chosen' | 'done' | 'without_call' | 'absent' | 'to_ask'>;
  readonly domains: readonly (Charges & { readonly domain: Domain })[];
  readonly total: Charges;
  /** From what tokens are counted. */
  readonly tokens_by:
    | { readonly by: 'tokenizer'; readonly file: string }
    | ({ readonly by: 'measured' } & Numbers<'characters_per_token' | 'calls'> & EarlierRuns)
    | { readonly by: 'guess'; readonly characters_per_token: number };
  /**
   * From what the output is estimated: earlier runs (domains that were not measured stand at the mean of the others), the true replies of
   * the data, or a mean that holds for any reply.
   */
  readonly output_by:
    | ({ readonly by: 'measured'; readonly rows: number; readonly guessed_domains: readonly Domain[] } & EarlierRuns)
    | { readonly by: 'truth' }
    | { readonly by: 'guess'; readonly tokens_per_call: number };
  /** What a call's output is held to. */
  readonly max_tokens: number | null;
  readonly price: Price | null;
  readonly time: TimeBasis | null;
  /** How much of their prompts, 0 to 1, earlier runs' servers had in their caches, and what the run then costs. */
  readonly measured_cache: (EarlierRuns & { readonly share: number; readonly usd: number | null }) | null;
  /**
   * What the bill comes to with as many calls made again as in earlier runs: for verdicts that could not be read, and for rows that failed
   * or changed. `times` are calls for each that the bill counts: more than 1.
   */
  readonly asked_again:
    | (EarlierRuns & Numbers<'times' | 'calls' | 'prompt_tokens'> & { readonly usd: number | null })
    | null;
  /** `is_spent` where the run would stop at once. */
  readonly budget: Readonly<Record<'usd' | 'tokens', BudgetShare | null> & { is_spent: boolean }> | null;
  readonly servers: readonly Readonly<{ host: string; model: string | null; context_tokens: number | null }>[];
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
  readonly model?: string | undefined;
  readonly contextTokens?: number | undefined;
  /** Whether it refuses a prompt that fits without its whole output budget. */
  readonly refusesBudgets?: boolean | undefined;
}
