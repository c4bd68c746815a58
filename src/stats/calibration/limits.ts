// The gate for judges: each limit holds, is broken or is undecided, by the interval of what it is on.

import { EXIT, type ExitCode } from '../../core/errors.js';
import { besideLimit, intervalText, twoDecimals } from '../../core/figures.js';
import { present } from '../../core/present.js';
import { heldForAll } from './calibration.js';
import type { Calibration, CalibrationDocument, CalibrationPart, LimitResult, LimitVerdict } from './document.js';

/** Limits that a user can set; one that is absent is not held. Points are 0-100. */
export interface JudgeLimits {
  readonly minCeiling?: number | undefined;
  readonly maxNoise?: number | undefined;
  /** Damages that the judge may not see. */
  readonly maxBlind?: number | undefined;
  readonly maxGullible?: number | undefined;
}

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

/** What the results come to, broken where any limit is, else undecided where any limit is; null where the judge is held to none. */
export function limitsDocument(results: LimitResult[]): CalibrationDocument['limits'] {
  if (results.length === 0) return null;
  const has = (one: LimitVerdict) => results.some((result) => result.verdict === one);
  const verdict = has('broken') ? 'broken' : has('undecided') ? 'undecided' : 'holds';
  return { verdict, exit_code: EXIT_CODES[verdict], results };
}

const EXIT_CODES = { holds: EXIT.done, broken: EXIT.noGo, undecided: EXIT.inconclusive } as const satisfies Record<
  LimitVerdict,
  ExitCode
>;

/** What a good judge is proven to keep, and what each that is used at all: of damages a share of those that were judged. */
const GOOD = { minCeiling: 90, maxNoise: 10, maxGullible: 2, blindShare: 1 / 7 };
const USABLE = { minCeiling: 75, maxNoise: 20, maxGullible: 10, blindShare: 1 / 2 };

/** Good where each limit of `GOOD` holds, not to be used where one of `USABLE` does not: what is undecided is not proven. */
export function judgeVerdict(calibration: Calibration): CalibrationDocument['verdict'] {
  const failing = ({ blindShare, ...limits }: typeof GOOD) => {
    const maxBlind = Math.floor(calibration.overall.losses.length * blindShare);
    return limitResults(calibration, { ...limits, maxBlind }).filter(({ verdict }) => verdict !== 'holds');
  };
  const because = (results: readonly LimitResult[]) => `${results.map(reasonOf).join('; ')}.`;
  const [lacking, unusable] = [failing(GOOD), failing(USABLE)];
  if (unusable.length > 0) {
    const yet = unusable.every(({ verdict }) => verdict === 'undecided') ? ' yet' : '';
    return { use: 'do not use', sentence: `Do not use this judge${yet}: ${because(unusable)}` };
  }
  if (lacking.length > 0) return { use: 'with care', sentence: `Usable with care: ${because(lacking)}` };
  return {
    use: 'good',
    sentence: 'A good judge: ceiling, noise, sight of damages and resistance to tricks are proven.',
  };
}

function reasonOf({ name, limit, verdict, ...range }: LimitResult): string {
  // Its results are of these limits.
  const { words } = present(LIMITS.find((one) => one.name === name));
  if (range.value === null) return words.none;
  const isProven = verdict === 'broken' ? '' : ', which is not proven';
  return `the ${words.what} is ${foundText(range, limit, words)} and has to be ${boundText(limit, words)}${isProven}`;
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

const UNKNOWN: Range = { value: null, low: null, high: null };

const LIMITS: readonly Limit[] = [
  {
    name: 'min_ceiling',
    words: {
      what: 'ceiling',
      isLeast: true,
      none: 'no neutral rewrite was judged',
      text: twoDecimals,
    },
    limitOf: ({ minCeiling }) => minCeiling,
    found: ({ ceiling }) => (ceiling === null ? UNKNOWN : rangeOf(ceiling)),
  },
  {
    name: 'max_noise',
    words: { what: 'noise', none: 'nothing was judged twice', text: twoDecimals },
    limitOf: ({ maxNoise }) => maxNoise,
    found: ({ noise }) => (noise === null ? UNKNOWN : rangeOf({ ...noise, value: noise.sd })),
  },
  {
    name: 'max_blind',
    words: {
      what: 'number of damages that the judge is blind to',
      none: 'no damage was judged',
      text: String,
    },
    limitOf: ({ maxBlind }) => maxBlind,
    found: blindness,
  },
  {
    name: 'max_gullible',
    words: {
      what: 'gain of the canary that buys most',
      none: 'no canary was judged',
      text: twoDecimals,
    },
    limitOf: ({ maxGullible }) => maxGullible,
    found: gullibility,
  },
];

function rangeOf({ value, low, high }: Range): Range {
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
  if (most === null) return UNKNOWN;
  const gains = heldForAll(canaries);
  const lows = gains.flatMap(({ low }) => low ?? []);
  const highs = gains.flatMap(({ high }) => high ?? []);
  return {
    value: most.value,
    low: lows.length === 0 ? null : Math.max(...lows),
    // Of a canary without an interval nothing is known.
    high: highs.length < gains.length ? null : Math.max(...highs),
  };
}

function atLeast({ low, high }: Range, limit: number): LimitVerdict {
  if (low !== null && low >= limit) return 'holds';
  return high !== null && high < limit ? 'broken' : 'undecided';
}

function atMost({ low, high }: Range, limit: number): LimitVerdict {
  if (high !== null && high <= limit) return 'holds';
  return low !== null && low > limit ? 'broken' : 'undecided';
}

function sentenceOf(range: Range, limit: number, verdict: LimitVerdict, words: Words): string {
  const bound = boundText(limit, words);
  const end = { holds: 'holds', broken: 'is broken', undecided: 'is undecided' }[verdict];
  if (range.value === null) return `The ${words.what} has to be ${bound}; ${words.none}, so this ${end}.`;
  return `The ${words.what} is ${foundText(range, limit, words)} and has to be ${bound}: this ${end}.`;
}

function boundText(limit: number, { isLeast }: Words): string {
  return `${isLeast ? 'at least' : 'at most'} ${limit}`;
}

function foundText(range: Range, limit: number, { text }: Words): string {
  const interval = intervalText(range, (end) => besideLimit(end, limit, text));
  return `${text(range.value ?? 0)} (${interval ?? 'without an interval'})`;
}
