// What the page of a run on scenarios is made of. Its texts are models' and users' own, and may be hostile.

import type { Domain } from '../../core/types.js';
import type { ScenarioFigures } from '../../stats/scenarios.js';

export interface ScenarioReport {
  /** What the run is called. */
  readonly name: string;
  /** What made it: name and text. */
  readonly facts: readonly (readonly [name: string, text: string])[];
  readonly warnings: readonly string[];
  readonly figures: ScenarioFigures;
  readonly samples: readonly ShownSample[];
  /** Samples whose texts the page has no room for. */
  readonly leftOut: number;
  /** Name and version of the program. */
  readonly tool: string;
}

/** A sample with its texts. */
export interface ShownSample {
  readonly scenario: string;
  readonly domain: Domain;
  /** The row's id, and its turn. */
  readonly id: string;
  readonly turn: number;
  readonly instruction: string;
  readonly steps: readonly ShownStep[];
  /** In percent; a measure that nobody knows is absent. */
  readonly measures: Readonly<Record<string, number>>;
  /** Why there is no prediction in some step. */
  readonly failure: string | undefined;
}

export interface ShownStep {
  readonly action: string;
  /** What was predicted with the instruction, and by the twin without it; undefined where nobody knows. */
  readonly prediction: string | undefined;
  readonly twin: string | undefined;
  readonly verdicts: readonly ShownVerdict[];
}

export interface ShownVerdict {
  readonly verifier: string;
  readonly met: boolean;
  readonly why: string;
}
