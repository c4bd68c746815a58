// The list of judge modes, one file each. What a mode needs or makes is stated only in its entry; elsewhere a mode is named only to choose
// it, or to say which one the official script is.

import { type Measure, type MeasureLookup, measuresOf } from '../core/measures.js';
import { SCENARIO_MEASURES } from '../core/scenario-row.js';
import { reference, turing } from './choices.js';
import { decision } from './decision.js';
import { metrics } from './metrics.js';
import type { Mode } from './mode.js';
import { rubric } from './rubric.js';

export const MODES = { rubric, metrics, reference, turing, decision } satisfies Record<string, Mode>;

/** What runs are measured by: the modes, and measures that are not chosen with `--mode`. */
type Measuring = Pick<Mode, 'asksJudge' | 'asksAgent' | 'rates' | 'measures' | 'lead' | 'words'>;

const COST = { range: [0, Number.POSITIVE_INFINITY], better: 'smaller' } as const;

/** What `awb likelihood` measures: how likely the world model considered the truth. */
const likelihood: Measuring = {
  asksJudge: false,
  rates: false,
  // Tokens differ between models, but bytes do not, so bits per byte represent a run.
  measures: { bits_per_byte: COST, nats_per_token: COST },
  lead: 'bits_per_byte',
  words: {
    one: 'likelihood measure',
    many: 'likelihood measures',
    of: 'of the true observation under the world model',
  },
};

/** What `awb infer --scenarios` measures: how a world model follows instructions. */
const scenarios: Measuring = {
  asksJudge: false,
  rates: false,
  measures: SCENARIO_MEASURES,
  lead: 'followed',
  words: { one: 'scenario measure', many: 'scenario measures', of: 'of how the world model follows instructions' },
};

const MEASURING: Readonly<Record<string, Measuring>> = { ...MODES, likelihood, scenarios };

/** What is known about the measures of any run. */
export const measureOf: MeasureLookup = measuresOf(Object.fromEntries(Object.values(MEASURING).flatMap(declaredBy)));

/** The measures of a mode, each with what applies to all of them. */
function declaredBy({ measures, lead, words }: Measuring): (readonly [string, Measure])[] {
  const shared = words === undefined ? {} : { words };
  return Object.entries(measures).map(([name, measure]) => [name, { ...shared, ...measure, leads: name === lead }]);
}

/**
 * Whether a mode's records rate the dimensions; otherwise they contain only measures. A mode of a later version is assumed to rate them.
 */
export function ratesDimensions(mode: string): boolean {
  return modeOf(mode)?.rates ?? true;
}

/** Whether a mode asks a judge; otherwise it only measures texts, or asks an agent. A mode of a later version is assumed to ask one. */
export function asksJudge(mode: string): boolean {
  const known = modeOf(mode);
  return known === undefined || (known.asksJudge && known.asksAgent !== true);
}

/** The word for the model that was asked about a run's predictions. */
export function askedWord(mode: string): 'judge' | 'agent' {
  return modeOf(mode)?.asksAgent === true ? 'agent' : 'judge';
}

/** What is known about the runs of a mode; undefined for a mode of a later version. */
export function modeOf(mode: string): Measuring | undefined {
  return Object.hasOwn(MEASURING, mode) ? MEASURING[mode] : undefined;
}
