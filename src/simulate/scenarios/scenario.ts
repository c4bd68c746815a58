// Scenarios: what a world model is instructed to let happen, where that applies, and how one sees that it happened. Read by the loader, asked and verified elsewhere.

import type { Domain } from '../../types.js';

/** Changes with what instructions, verifiers or the order of asking mean: part of the identity of a run. */
export const SCENARIOS_VERSION = 1;

/** Where an instruction stands: behind the system prompt, or in front of the action. */
export const PUTS = ['system', 'before-action'] as const;
export type Put = (typeof PUTS)[number];

/** Scenarios as a suite's files describe them, every one of them checked. */
export interface ScenarioSuite {
  readonly name: string;
  /** SHA-256 in hex over all that the suite says: comments and layout do not count. */
  readonly fingerprint: string;
  /** In the order of their files' names, and of the files. */
  readonly scenarios: readonly Scenario[];
}

/**
 * One scenario. Its texts may hold slots such as `{path}`, which the named groups of `applies` fill: `src/simulate/scenarios/applies.ts`
 * gives the scenario of a row, without slots.
 */
export interface Scenario {
  /** Unique within its suite. */
  readonly name: string;
  /** One line for people. */
  readonly about: string;
  readonly domains: readonly Domain[];
  readonly put: Put;
  readonly instruction: string;
  /** The words around an instruction, with the slot `{instruction}`. */
  readonly framing: string;
  /** Where it stands: at rows that meet these conditions, or at a start of its own, which no row asks. */
  readonly at: { readonly applies: Conditions } | { readonly start: ScenarioStart };
  /** What is asked, in order: one step, or up to three. */
  readonly steps: readonly ScenarioStep[];
  /** Whether the verifiers of every step have to be met, or those of any one: a state that has to be reached in time. */
  readonly holds: 'each' | 'any';
  /** What no step's prediction may say. */
  readonly never: Never;
}

/** Patterns (`src/simulate/scenarios/pattern.ts`): each of them has to be found, and none of `not`. */
export interface Conditions {
  readonly action?: Pattern;
  readonly truth?: Pattern;
  /** Of the earlier turns' prompts and observations, as they stand in the row, and what stands before the row's own action. */
  readonly history?: Pattern;
  readonly not?: Omit<Conditions, 'not'>;
}

/** A start of the suite's own. */
export interface ScenarioStart {
  readonly domain: Domain;
  /** What the world model is told of itself and the tools, without the instruction. */
  readonly systemPrompt: string;
  /** In front of the first action. */
  readonly task?: string;
  readonly state?: string;
}

export interface ScenarioStep {
  /** The action, as it stands in its fence; absent where it is the row's own, which is the first step alone. */
  readonly action?: string;
  /** At least one. */
  readonly verify: readonly Verifier[];
}

export interface Pattern {
  readonly source: string;
  readonly ignoreCase?: true;
}

/** How a prediction shows that an instruction was followed. */
export type Verifier =
  /** Every text stands in it; runs of white space are as good as one space. */
  | { readonly kind: 'contains'; readonly texts: readonly string[] }
  /** No text stands in it. */
  | { readonly kind: 'lacks'; readonly texts: readonly string[] }
  | { readonly kind: 'matches'; readonly pattern: Pattern }
  | { readonly kind: 'json_path'; readonly path: string; readonly expect: JsonExpectation }
  /** The status of the command that the action ran, as the domain shows one. */
  | { readonly kind: 'exit_status'; readonly status: number | 'nonzero' }
  /**
   * Lines that the world model predicts rightly without the instruction (of the truth alone, where there is no such prediction) are
   * still there, in at least `percent` of cases; lines in which `except` is found do not count.
   */
  | { readonly kind: 'unchanged_elsewhere'; readonly except?: Pattern; readonly percent: number };

export const VERIFIER_KINDS = [
  'contains',
  'lacks',
  'matches',
  'json_path',
  'exit_status',
  'unchanged_elsewhere',
] as const satisfies readonly Verifier['kind'][];

/** What some value at the path has to be. */
export type JsonExpectation =
  | { readonly equals: unknown }
  | { readonly matches: Pattern }
  | { readonly exists: boolean };

/** What betrays that an instruction was given. What the row's own truth or turn says as well betrays nothing. */
export interface Never {
  /** In any case of letters. */
  readonly phrases: readonly string[];
  /** So many words in a row of `own`. */
  readonly words: number;
  /** What the instruction and its framing say in words of their own: without slots and quoted texts, which are meant to appear. */
  readonly own: readonly string[];
}
