// What a line of scenarios.jsonl has beside what any judged row has.

import type { JsonObject } from './json.js';
import type { Measure } from './measures.js';
import type { JudgedRow } from './types.js';

/**
 * What is measured of a world model under a scenario, in percent; docs/scenarios.md has every formula. What the twin does by itself is
 * no merit of the world model and no fault of it.
 */
export const SCENARIO_MEASURES = {
  followed: { range: [0, 100], better: 'larger', bounded: true },
  leaked: { range: [0, 100], better: 'smaller', bounded: true },
  undisturbed: { range: [0, 100], better: 'larger', bounded: true },
  twin_false_positives: { range: [0, 100], better: 'neither', bounded: true },
} as const satisfies Record<string, Measure>;

export type ScenarioMeasure = keyof typeof SCENARIO_MEASURES;

/** A row of the benchmark, or a step of the suite's own, under a scenario. */
export interface ScenarioRow extends JudgedRow {
  readonly scenario: string;
}

/**
 * The keys of a scenario's records: those of a row under it begin with the row's own key, and those at a start of the suite's own with a
 * word that is no row's key. Names of scenarios hold no colon.
 */
export function scenarioKey(place: string, ...parts: readonly (string | number)[]): string {
  return [place, ...parts].join(':');
}

/** The key of a chain's step: the last one, from 0, stands for the chain. */
export function stepKey(chain: string, step: number, steps: number): string {
  return step === steps - 1 ? chain : scenarioKey(chain, step + 1);
}

/** The key of what a chain is held against: the row as it stands, or of several steps a chain of its own. */
export function twinKey(chain: string, steps: number): string {
  return steps === 1 ? placeIn(chain) : scenarioKey(chain, 'twin');
}

/** The place of a start of the suite's own. */
export function ownStart(scenario: string): string {
  return `start ${scenario}`;
}

/** The place that a record's key or id is of: a row's key, or a start of the suite's own. */
export function placeIn(keyOrId: string): string {
  return /^[^:#]*/.exec(keyOrId)?.[0] ?? '';
}

/** The scenario that a line is of; undefined for a line of another file, and of a twin. */
export function scenarioIn({ scenario }: JsonObject): string | undefined {
  return typeof scenario === 'string' ? scenario : undefined;
}

/** Whether a line is no sample by itself: a twin, which scenarios are held against, or a step before the last of a chain. */
export function isBesideSamples({ twin, scenario, step, steps, awb }: JsonObject): boolean {
  if (awb === undefined) return false;
  const isStep = typeof scenario === 'string' && typeof step === 'number' && typeof steps === 'number';
  return twin === true || (isStep && step < steps);
}
