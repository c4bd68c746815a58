// The bill before a run: what is still to be asked, and what that is estimated to take.

import type { Price } from './price.js';
import type { RunKind } from './run-kind.js';
import type { Domain } from './types.js';

/** A figure that may not be known, between bounds that are; `atMost` is absent where nothing bounds it. */
export interface Estimated {
  readonly expected?: number;
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
  /** Those of the prompt that a prefix cache could serve. */
  readonly cachedTokens: number;
  /** Thinking included. */
  readonly outputTokens: Estimated;
  /** US dollars without and with that cache; absent where nobody knows the price. */
  readonly usd?: { readonly plain: Estimated; readonly cached: Estimated };
}

export interface DomainCharges extends Charges {
  readonly domain: Domain;
}

/** From what tokens are counted. */
export type TokenBasis =
  | { readonly by: 'tokenizer'; readonly file: string }
  | { readonly by: 'measured'; readonly charactersPerToken: number; readonly calls: number; readonly runs: EarlierRuns }
  | { readonly by: 'guess'; readonly charactersPerToken: number };

/** Earlier runs by which something is estimated. */
export interface EarlierRuns {
  /** How they are like the run at hand. */
  readonly like: Likeness;
  /** Their manifests, and the models that they asked. */
  readonly names: readonly string[];
  readonly models: readonly string[];
}

/** An earlier run is the user's choice, of the same model and settings, of the same model, or of another model in a folder beside. */
export type Likeness = 'named' | 'settings' | 'model' | 'other';

/** From what the output is estimated. */
export interface OutputBasis {
  /** Rows that were measured. */
  readonly rows: number;
  readonly runs: EarlierRuns;
  /** Domains that were not measured, and stand at the mean of the others. */
  readonly guessed: readonly Domain[];
}

/** How long the asking takes, and what that is limited by. */
export interface TimeBasis {
  readonly seconds: number;
  /** Set where no rate is known: the limits alone say that it takes no less. */
  readonly isLeast: boolean;
  readonly by: 'rate' | 'measured' | 'rpm' | 'tpm';
  /** Calls, or tokens under `tpm`, a minute. */
  readonly perMinute: number;
  readonly runs?: EarlierRuns;
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
  /** Absent where nothing was measured. */
  readonly output?: OutputBasis | undefined;
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
  /** Absent where the bill's own cost is not known. */
  readonly usd?: number;
  readonly runs: EarlierRuns;
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
  readonly need: Estimated;
}

interface Overlong {
  /** What the user is told of them, and the longest of them, a line each. */
  readonly summary: string;
  readonly lines: readonly string[];
  readonly rows: readonly { readonly place: string; readonly domain: Domain; readonly tokens: number }[];
}

/** How much of their prompts earlier runs' servers had in their caches. */
interface MeasuredCache {
  /** 0 to 1. */
  readonly share: number;
  /** US dollars at that share, where the cost is known. */
  readonly usd?: number;
  readonly runs: EarlierRuns;
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
