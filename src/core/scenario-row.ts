// What a line of scenarios.jsonl has in addition to an ordinary judged row.

import type { JsonObject } from './json.js';
import type { Measure } from './measures.js';
import type { JudgedRow } from './types.js';

/**
 * What is measured of a world model under a scenario, in percent; docs/scenarios.md has every formula. What the twin does by itself is
 * neither a merit nor a fault of the world model.
 */
export const SCENARIO_MEASURES = {
  followed: { range: [0, 100], better: 'larger', bounded: true },
  leaked: { range: [0, 100], better: 'smaller', bounded: true },
  undisturbed: { range: [0, 100], better: 'larger', bounded: true },
  twin_false_positives: { range: [0, 100], better: 'neither', bounded: true },
} as const satisfies Record<string, Measure>;

export type ScenarioMeasure = keyof typeof SCENARIO_MEASURES;

/** A row of the benchmark, or a step of one of the suite's own starts, under a scenario. */
export interface ScenarioRow extends JudgedRow {
  readonly scenario: string;
}

/**
 * The key of a scenario's record: for a benchmark row it begins with the row's key, for one of the suite's own starts with a word that
 * is no row's key. Scenario names contain no colon.
 */
export function scenarioKey(place: string, ...parts: readonly (string | number)[]): string {
  return [place, ...parts].join(':');
}

/** The key of a chain's step, from 0; the last step stands for the chain. */
export function stepKey(chain: string, step: number, steps: number): string {
  return step === steps - 1 ? chain : scenarioKey(chain, step + 1);
}

/** The key of what a chain is compared with: the unchanged row, or a chain of its own if there are several steps. */
export function twinKey(chain: string, steps: number): string {
  return steps === 1 ? placeIn(chain) : scenarioKey(chain, 'twin');
}

/** The place of one of the suite's own starts. */
export function ownStart(scenario: string): string {
  return `start ${scenario}`;
}

/** The place of a record's key or id: a row's key, or one of the suite's own starts. */
export function placeIn(keyOrId: string): string {
  return /^[^:#]*/.exec(keyOrId)?.[0] ?? '';
}

/** The scenario of a line; undefined for a line of another file, and for a twin. */
export function scenarioIn({ scenario }: JsonObject): string | undefined {
  return typeof scenario === 'string' ? scenario : undefined;
}

/** Whether a line is not a sample by itself: a twin, with which scenarios are compared, or a step before the last of a chain. */
export function isBesideSamples({ twin, scenario, step, steps, awb }: JsonObject): boolean {
  if (awb === undefined) return false;
  const isStep = typeof scenario === 'string' && typeof step === 'number' && typeof steps === 'number';
  return twin === true || (isStep && step < steps);
}
