// The gate for judges: each limit holds, is broken or is undecided, by the interval of what it is on.

import type { Calibration, CalibrationPart } from '../../calibration.js';
import { intervalText, twoDecimals } from '../../figures.js';
import type { JudgeLimits, LimitResult, LimitVerdict } from '../../judge-limits.js';
import { atOnce } from './canaries.js';

/**
 * What the limits come to, in the order in which they are told. A limit on a figure holds where its 95 % interval lies wholly on the
 * right side or at the limit, and is broken where it lies wholly on the other; so each is a one-sided test at 2.5 %. Blindness is
 * counted: a damage that is undecided may be either. Gullibility is that of the worst canary, with the intervals that hold for all at
 * once.
 */
export function limitResults({ overall }: Calibration, limits: JudgeLimits): LimitResult[] {
  return LIMITS.flatMap(({ name, limitOf, found, words }) => {
    const limit = limitOf(limits);
    if (limit === undefined) return [];
    const range = found(overall);
    const verdict = words.isLeast ? atLeast(range, limit) : atMost(range, limit);
    return [{ name, limit, ...range, verdict, sentence: sentenceOf(range, limit, verdict, words) }];
  });
}

/** A figure, and between what the truth lies. */
type Range = Pick<LimitResult, 'value' | 'low' | 'high'>;

interface Words {
  readonly what: string;
  readonly isLeast?: true;
  /** Why there is no such figure. */
  readonly none: string;
  text(value: number): string;
}

interface Limit {
  readonly name: LimitResult['name'];
  readonly words: Words;
  limitOf(limits: JudgeLimits): number | undefined;
  found(part: CalibrationPart): Range;
}

const UNKNOWN: Range = { value: undefined, low: undefined, high: undefined };

const LIMITS: readonly Limit[] = [
  {
    name: 'min_ceiling',
    words: { what: 'ceiling', isLeast: true, none: 'no neutral rewrite was judged', text: twoDecimals },
    limitOf: ({ minCeiling }) => minCeiling,
    found: ({ ceiling }) => (ceiling === undefined ? UNKNOWN : rangeOf(ceiling)),
  },
  {
    name: 'max_noise',
    words: { what: 'noise', none: 'nothing was judged twice', text: twoDecimals },
    limitOf: ({ maxNoise }) => maxNoise,
    found: ({ noise }) => (noise === undefined ? UNKNOWN : rangeOf({ ...noise, value: noise.sd })),
  },
  {
    name: 'max_blind',
    words: { what: 'number of damages that the judge is blind to', none: 'no damage was judged', text: String },
    limitOf: ({ maxBlind }) => maxBlind,
    found: blindness,
  },
  {
    name: 'max_gullible',
    words: { what: 'gain of the canary that buys most', none: 'no canary was judged', text: twoDecimals },
    limitOf: ({ maxGullible }) => maxGullible,
    found: gullibility,
  },
];

function rangeOf({ value, low, high }: { value: number; low?: number | undefined; high?: number | undefined }): Range {
  return { value, low, high };
}

function blindness({ losses }: CalibrationPart): Range {
  if (losses.length === 0) return UNKNOWN;
  const seeing = (sight: string) => losses.filter((loss) => loss.sight === sight).length;
  const blind = seeing('blind');
  return { value: blind, low: blind, high: blind + seeing('undecided') };
}

/** The greatest gain of all canaries: it is at least the greatest lower end, and at most the greatest upper one. */
function gullibility({ canaries, gullibility: most }: CalibrationPart): Range {
  if (most === undefined) return UNKNOWN;
  const gains = atOnce(canaries).map(({ gain }) => gain);
  const lows = gains.flatMap(({ low }) => low ?? []);
  const highs = gains.flatMap(({ high }) => high ?? []);
  return {
    value: most.gain.value,
    low: lows.length === 0 ? undefined : Math.max(...lows),
    // Of a canary without an interval nothing is known.
    high: highs.length < gains.length ? undefined : Math.max(...highs),
  };
}

function atLeast({ low, high }: Range, limit: number): LimitVerdict {
  if (low !== undefined && low >= limit) return 'holds';
  return high !== undefined && high < limit ? 'broken' : 'undecided';
}

function atMost({ low, high }: Range, limit: number): LimitVerdict {
  if (high !== undefined && high <= limit) return 'holds';
  return low !== undefined && low > limit ? 'broken' : 'undecided';
}

function sentenceOf(range: Range, limit: number, verdict: LimitVerdict, { what, isLeast, none, text }: Words): string {
  const bound = `${isLeast ? 'at least' : 'at most'} ${limit}`;
  const end = { holds: 'holds', broken: 'is broken', undecided: 'is undecided' }[verdict];
  if (range.value === undefined) return `The ${what} has to be ${bound}; ${none}, so this ${end}.`;
  const interval = intervalText(range, text);
  const spread = interval === undefined ? 'without an interval' : interval;
  return `The ${what} is ${text(range.value)} (${spread}) and has to be ${bound}: this ${end}.`;
}
