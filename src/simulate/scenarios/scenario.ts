// Scenarios: what a world model is instructed to let happen, where that applies, and how one sees that it happened. Read by the loader, asked and verified elsewhere.

import type { Domain } from '../../core/types.js';
import type { Conditions, Put, Verifier } from './forms.js';

/** Changes with what instructions, verifiers or the order of asking mean: part of the identity of a run. */
export const SCENARIOS_VERSION = 1;

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

/** A start of the suite's own. */
export interface ScenarioStart {
  readonly domain: Domain;
  /** What the world model is told of itself and the tools, without the instruction. */
  readonly systemPrompt: string;
  /** In front of the first action. */
  readonly task?: string | undefined;
  readonly state?: string | undefined;
}

export interface ScenarioStep {
  /** The action, as it stands in its fence; absent where it is the row's own, which is the first step alone. */
  readonly action?: string | undefined;
  /** At least one. */
  readonly verify: readonly Verifier[];
}

/** What betrays that an instruction was given. What the row's own truth or turn says as well betrays nothing. */
export interface Never {
  /** In any case of letters. */
  readonly phrases: readonly string[];
  /** So many words in a row of `own`. */
  readonly words: number;
  /** What the instruction and its framing say in words of their own: without slots and quoted texts, which are meant to appear. */
  readonly own: readonly string[];
}
