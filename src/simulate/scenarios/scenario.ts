// Scenarios: what a world model is instructed to let happen, where that applies, and how one sees that it happened; and a scenario at a row:
// its conditions held to the row, and the slots of its texts, such as `{path}`, filled by what they caught. Any other brace is itself.

import { withoutMarker } from '../../core/reply.js';
import { actionOf, earlierTurns, groundTruthOf, textsOf } from '../../core/turn.js';
import type { Domain, Sample } from '../../core/types.js';
import { readTurnPrompt } from '../../infer/world.js';
import type { Conditions, Put, Verifier } from './forms.js';
import { compilePattern, filled, type Groups } from './pattern.js';

export const BUNDLED_SUITES = ['standard'] as const;

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
 * One scenario. Its texts may hold slots such as `{path}`, which the named groups of `applies` fill: `scenarioAt` gives the scenario of a
 * row, without slots.
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

/** The scenario as it is put to this row, its slots filled; undefined where it does not apply, or brings a start of its own. */
export function scenarioAt(scenario: Scenario, sample: Sample): Scenario | undefined {
  const groups = groupsAt(scenario, sample.domain, textsOfRow(sample));
  if (groups === undefined) return undefined;
  const { instruction, steps } = scenario;
  return { ...scenario, ...filled({ instruction, steps }, groups) };
}

/** Those of the scenarios that apply to this row. */
export function applyingTo(sample: Sample, scenarios: readonly Scenario[]): Scenario[] {
  const texts = textsOfRow(sample);
  return scenarios.filter((scenario) => groupsAt(scenario, sample.domain, texts) !== undefined);
}

/** What the scenario's conditions catch; undefined where it does not apply. */
function groupsAt({ at, domains }: Scenario, domain: Domain, texts: RowTexts): Groups | undefined {
  if (!('applies' in at) || !domains.includes(domain)) return undefined;
  const { not, ...wanted } = at.applies;
  if (PLACES.some((place) => not?.[place] !== undefined && caught({ [place]: not[place] }, texts) !== undefined)) {
    return undefined;
  }
  return caught(wanted, texts);
}

/** What conditions look at. */
const PLACES = ['action', 'truth', 'history'] as const;
type RowTexts = Readonly<Record<(typeof PLACES)[number], string>>;

function textsOfRow(sample: Sample): RowTexts {
  const { action, preface } = readTurnPrompt(actionOf(sample));
  const truth = withoutMarker(groundTruthOf(sample));
  return { action, truth, history: [...textsOf(earlierTurns(sample)), preface].join('\n') };
}

/** What the groups of all conditions caught; undefined where one is not met. Where several have a group of one name, the first that caught holds. */
function caught(conditions: Omit<Conditions, 'not'>, texts: RowTexts): Groups | undefined {
  let groups: Groups = {};
  for (const place of PLACES) {
    const pattern = conditions[place];
    if (pattern === undefined) continue;
    const found = compilePattern(pattern).groups(texts[place]);
    if (found === undefined) return undefined;
    groups = { ...found, ...groups };
  }
  return groups;
}
