// The result of a calibration: limits that hold, are broken or undecided by the interval of their figure; whether the judge can be used;
// and what the figures cannot show.

import { LEAST_TRAJECTORIES } from '../../core/calibration.js';
import { domainName } from '../../core/domains.js';
import { EXIT } from '../../core/errors.js';
import { countBy } from '../../core/groups.js';
import { besideLimit, intervalText, twoDecimals } from '../../core/printable.js';
import { type Domain, LEAST_CLUSTERS } from '../../core/types.js';
import { heldForAll } from './calibration.js';
import type { Calibration, CalibrationDocument, CalibrationPart, LimitResult, LimitVerdict } from './document.js';

/** Limits that a user can set (for corruptions, how many the judge may miss); an absent limit is not checked. Points are 0-100. */
export type JudgeLimits = Readonly<
  Partial<Record<'minCeiling' | 'maxNoise' | 'maxBlind' | 'maxAttackGain', number | undefined>>
>;

/**
 * The results of the limits, in the order of display. A limit on a figure holds if its 95 % interval lies entirely on the right side or at
 * the limit, and is broken if it lies entirely on the other; so each is a one-sided test at 2.5 %. Blindness is counted: an undecided
 * corruption may be either. The attack gain is that of the worst attack, with intervals that hold for all at once.
 */
export function limitResults({ overall }: Calibration, limits: JudgeLimits): LimitResult[] {
  return LIMITS.flatMap((limit): LimitResult[] => {
    const bound = limits[limit.of];
    if (bound === undefined) return [];
    const { value, low, high } = limit.found(overall) ?? { value: null, low: null, high: null };
    const verdict = verdictOf(limit, bound, low, high);
    const wanted = `The ${limit.what} has to be ${limit.isLeast ? 'at least' : 'at most'} ${bound}`;
    const text = limit.name === 'max_blind' ? String : twoDecimals;
    const interval = intervalText({ low, high }, (end) => besideLimit(end, bound, text)) ?? 'without an interval';
    const found = value === null ? limit.none : `it is ${text(value)} (${interval})`;
    const sentence = `${wanted}; ${found}, so this ${verdict === 'holds' ? 'holds' : `is ${verdict}`}.`;
    return [{ name: limit.name, limit: bound, value, low, high, verdict, sentence }];
  });
}

function verdictOf({ isLeast }: Limit, bound: number, low: number | null, high: number | null): LimitVerdict {
  const [worst, best] = isLeast ? [low, high] : [high, low];
  const isRight = (end: number) => (isLeast ? end >= bound : end <= bound);
  if (worst !== null && isRight(worst)) return 'holds';
  return best !== null && !isRight(best) ? 'broken' : 'undecided';
}

interface Limit {
  readonly name: LimitResult['name'];
  readonly of: keyof JudgeLimits;
  readonly what: string;
  readonly isLeast?: true;
  /** Why there is no such figure. */
  readonly none: string;
  /** The figure, and the range in which the truth lies; null if there is none. */
  found(part: CalibrationPart): Pick<LimitResult, 'value' | 'low' | 'high'> | null;
}

const LIMITS: readonly Limit[] = [
  {
    name: 'min_ceiling',
    of: 'minCeiling',
    what: 'ceiling',
    isLeast: true,
    none: 'no neutral rewrite was judged',
    found: ({ ceiling }) => ceiling,
  },
  {
    name: 'max_noise',
    of: 'maxNoise',
    what: 'noise',
    none: 'nothing was judged twice',
    found: ({ noise }) => noise && { ...noise, value: noise.sd },
  },
  {
    name: 'max_blind',
    of: 'maxBlind',
    what: 'number of corruptions that the judge is blind to',
    none: 'no corruption was judged',
    found({ losses }) {
      const { blind = 0, undecided = 0 } = countBy(losses, ({ sight }) => sight);
      return losses.length === 0 ? null : { value: blind, low: blind, high: blind + undecided };
    },
  },
  {
    name: 'max_attack_gain',
    of: 'maxAttackGain',
    what: 'largest gain of any attack',
    none: 'no attack was judged',
    // The greatest gain of all is at least the greatest lower end, and at most the greatest upper one.
    found({ attacks, attack_gain }) {
      const gains = heldForAll(attacks);
      const lows = gains.flatMap(({ low }) => low ?? []);
      const highs = gains.flatMap(({ high }) => high ?? []);
      return (
        attack_gain && {
          value: attack_gain.value,
          low: lows.length === 0 ? null : Math.max(...lows),
          // An attack without an interval could have any gain.
          high: highs.length < gains.length ? null : Math.max(...highs),
        }
      );
    },
  },
];

/** The combined result: broken if any limit is, else undecided if any limit is; null if no limits were set. */
export function limitsDocument(results: LimitResult[]): CalibrationDocument['limits'] {
  if (results.length === 0) return null;
  const has = (one: LimitVerdict) => results.some((result) => result.verdict === one);
  if (has('broken')) return { verdict: 'broken', exit_code: EXIT.noGo, results };
  if (has('undecided')) return { verdict: 'undecided', exit_code: EXIT.inconclusive, results };
  return { verdict: 'holds', exit_code: EXIT.done, results };
}

/** What a good judge is proven to achieve, and the minimum for using a judge; for corruptions, a share of those judged. */
const GOOD = { minCeiling: 90, maxNoise: 10, maxAttackGain: 2, blindShare: 1 / 7 };
const USABLE = { minCeiling: 75, maxNoise: 20, maxAttackGain: 10, blindShare: 1 / 2 };

/** Good if each limit of `GOOD` holds, not to be used if one of `USABLE` does not: an undecided limit is not proven. */
export function judgeVerdict(calibration: Calibration): CalibrationDocument['verdict'] {
  const failing = ({ blindShare, ...limits }: typeof GOOD) => {
    const maxBlind = Math.floor(calibration.overall.losses.length * blindShare);
    return limitResults(calibration, { ...limits, maxBlind }).filter(({ verdict }) => verdict !== 'holds');
  };
  const because = (results: readonly LimitResult[]) => results.map(({ sentence }) => sentence).join(' ');
  const [lacking, unusable] = [failing(GOOD), failing(USABLE)];
  if (unusable.length > 0) {
    const yet = unusable.every(({ verdict }) => verdict === 'undecided') ? ' yet' : '';
    return { use: 'do not use', sentence: `Do not use this judge${yet}. ${because(unusable)}` };
  }
  if (lacking.length > 0) return { use: 'with care', sentence: `Usable with care. ${because(lacking)}` };
  return {
    use: 'good',
    sentence: 'A good judge: ceiling, noise, detection of corruptions and resistance to attacks are proven.',
  };
}

/** What a calibration cannot show, in sentences; none if nothing is missing. */
export function notesOn({ overall, domains }: Calibration): string[] {
  const small = Object.entries(domains).filter(([, { trajectories }]) => trajectories < LEAST_TRAJECTORIES);
  const names = small.map(([domain, { trajectories }]) => `${domainName(domain)} ${trajectories}`);
  const has = (isIt: boolean, sentence: string) => (isIt ? [sentence] : []);
  const hasDose = overall.scores.some(({ family }) => family === 'dose');
  return [
    ...has(
      small.length > 0,
      `Fewer than ${LEAST_TRAJECTORIES} trajectories: ${names.join(', ')}. Figures of such a domain are rough; below ${LEAST_CLUSTERS} they have no interval, so no corruption counts as seen or blind there, and no order as kept or inverted.`,
    ),
    ...has(overall.ceiling === null, 'No neutral rewrite was judged, so ceiling and false penalty are unknown.'),
    ...has(hasDose, determinedPrecision(Object.keys(domains))),
    ...has(overall.noise === null, "Nothing was judged twice, so the judge's own noise is unknown."),
    ...has(
      overall.noise !== null && overall.noise.high === null,
      `The judge's own noise has no interval (fewer than ${LEAST_CLUSTERS} trajectories were judged twice, or no judgements differ), so it does not show by how much two runs must differ.`,
    ),
  ];
}

/**
 * By domain, how many tokens were right out of how many; recorded in fixtures/calibrate/determined.json, and a test checks these against
 * it.
 */
const READ_BY_HAND = new Map<Domain, string>([
  ['mcp', '81 of 81'],
  ['search', '27 of 28'],
  ['terminal', '100 of 100'],
  ['swe', '98 of 100'],
  ['android', '100 of 100'],
  ['web', '100 of 100'],
  ['os', '99 of 100'],
]);

/** How precise the choice of determined tokens is, in a sentence. */
export function determinedPrecision(domains: readonly Domain[]): string {
  const parts = domains.map((domain) => `${READ_BY_HAND.get(domain) ?? 'none checked'} in ${domainName(domain)}`);
  return `Determined tokens, precision by hand: ${parts.join(', ')}.`;
}
