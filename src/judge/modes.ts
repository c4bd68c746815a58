// The list of judge modes, a file each. Whoever has to know what a mode needs or makes asks its entry, never its name.

import { type MeasureLookup, measuresOf } from '../measures.js';
import { metrics } from './metrics.js';
import type { Mode } from './mode.js';
import { rubric } from './rubric.js';

export const MODES = { rubric, metrics } satisfies Record<string, Mode>;

const LIST: readonly Mode[] = Object.values(MODES);

/** What is known of the measures that any mode makes. */
export const measureOf: MeasureLookup = measuresOf(
  Object.fromEntries(LIST.flatMap(({ measures }) => Object.entries(measures))),
);

/** Whether a mode's records rate the dimensions; else they hold measures alone. A mode of a later version is taken to rate them. */
export function ratesDimensions(mode: string): boolean {
  const known: Readonly<Record<string, Mode>> = MODES;
  return !Object.hasOwn(known, mode) || known[mode]?.rates === true;
}
