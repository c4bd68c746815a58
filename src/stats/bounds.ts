// The bounds of a policy: what they demand of the evidence, and whether each is held, broken or open, and why, in a sentence.

import type { Figure, Interval } from '../core/comparison.js';
import { type BoundResult, doesCount, type GateVerdict, type RepeatAdvice, type Tier } from '../core/decision.js';
import { domainName, domainsOfMean, isPublished } from '../core/domains.js';
import { counted, intervalText, signed, twoDecimals } from '../core/printable.js';
import {
  DIMENSIONS,
  type Dimension,
  DOMAINS,
  type Domain,
  type Estimate,
  LEAST_CLUSTERS,
  type VarianceSplit,
} from '../core/types.js';
import { mean, meanOfEstimates } from './clusters.js';
import { holm, normalTail, studentTQuantile } from './distributions.js';
import { chanceAbove, chanceBelow, intervalAt, isUniform, LEAST_UNIFORM } from './intervals.js';
import type { Next } from './looks.js';
import { type Bounds, EACH_DOMAIN, type Evidence, OVERALL, ownOf, type Policy } from './policy.js';

/** A figure that must be at least its bound: Overall's if there is no domain, and the total if there is no dimension. */
export interface Test {
  readonly domain: Domain | undefined;
  readonly dimension: Dimension | undefined;
  /** The rule's kind in JSON. */
  readonly kind: 'drop' | 'published' | 'floor';
  /** What the figure is: a difference of -100 to 100 points, or a score. */
  readonly scale: 'difference' | 'score';
  readonly tier: Tier;
  /** NaN if there is nothing to compare with. */
  readonly bound: number;
  /** Absent if there is nothing to test. */
  readonly estimate: Estimate | undefined;
  readonly split?: VarianceSplit | undefined;
  /** For a difference: the runs' scores. */
  readonly sides?: { readonly base: number; readonly candidate: number } | undefined;
  /** Parts of a sentence: the figure's name, what is demanded of it, and what is lacking if there is nothing to test. */
  readonly figure: string;
  readonly demand: string;
  readonly lacking: string;
}

/** What `max_drop` demands: of the difference from the base, or from a published row in its place. */
export function dropTests({ comparison, candidate, published }: Evidence, { maxDrop }: Policy): Test[] {
  if (comparison === undefined && published !== undefined) return publishedTests(candidate, published, maxDrop);
  const domains = comparison?.domains.map(({ domain, figures }) => ({ domain, set: figures }));
  return stated(maxDrop, domains, comparison?.overall, comparison?.macroOf).map(({ found, points, ...stated }) => ({
    ...stated,
    kind: 'drop',
    scale: 'difference',
    bound: -points,
    lacking: 'no row that both runs rated',
    estimate: found?.difference,
    split: found?.split,
    sides: found,
    demand: `it may lose ${twoDecimals(points)}`,
  }));
}

/**
 * Published rows have only totals. Overall is compared over the domains that both have, so a run with only some domains can be compared
 * too.
 */
function publishedTests(
  candidate: Evidence['candidate'],
  { name, scores }: NonNullable<Evidence['published']>,
  maxDrop: Bounds,
): Test[] {
  const both = (candidate?.domains ?? []).flatMap(({ domain, withFailures: { total: estimate } }) => {
    const score = ownOf(scores, domain);
    return score === undefined || estimate === undefined ? [] : [{ domain, set: { total: { score, estimate } } }];
  });
  const totals = both.map(({ set }) => set.total);
  const estimates = totals.map(({ estimate }) => estimate);
  const whole = totals.length > 0 && {
    total: { score: mean(totals.map(({ score }) => score)), estimate: meanOfEstimates(estimates, 'score') },
  };
  return stated(maxDrop, both, whole || {}, both.length).flatMap(({ found, points, ...stated }): Test[] => {
    if (stated.dimension !== undefined) return [];
    const score = found?.score ?? Number.NaN;
    const demand = `against the published ${twoDecimals(score)} of ${name}, it may lose ${twoDecimals(points)}`;
    const held = { bound: score - points, estimate: found?.estimate, demand, lacking: 'no score that both sides have' };
    return [{ ...stated, ...held, kind: 'published', scale: 'score', tier: 'advisory' }];
  });
}

/** What `min_score` demands. */
export function floorTests({ candidate }: Evidence, { minScore }: Policy): Test[] {
  const domains = candidate?.domains.map(({ domain, withFailures }) => ({ domain, set: withFailures }));
  return stated(minScore, domains, candidate?.overallWithFailures).map(({ found, points, ...stated }) => ({
    ...stated,
    kind: 'floor',
    scale: 'score',
    bound: points,
    estimate: found,
    lacking: 'no score',
    demand: `it has to reach ${twoDecimals(points)}`,
  }));
}

type Figures<Found> = Readonly<Partial<Record<Figure, Found>>>;

/** The bounds stated for Overall, for each domain at hand, and for named domains that are not at hand. */
function stated<Found>(
  bounds: Bounds,
  domains: readonly { readonly domain: Domain; readonly set: Figures<Found> }[] = [],
  overall: Figures<Found> = {},
  macroOf?: number,
) {
  const scored = domainsOfMean(domains.filter(({ set }) => set.total !== undefined).map(({ domain }) => domain));
  const count = macroOf ?? scored.length;
  const isOverall = count === 0 || (count === DOMAINS.length && scored.every(isPublished));
  const whole = isOverall ? 'Overall' : `Overall (macro of ${count})`;
  return [undefined, ...DIMENSIONS].flatMap((dimension) => {
    const suffix = dimension === undefined ? '' : `.${dimension}`;
    const named = Object.keys(bounds).filter((key) => key !== OVERALL + suffix && key !== EACH_DOMAIN + suffix);
    const own = named.filter((key) => DIMENSION.exec(key)?.[1] === dimension).map((key) => key.replace(DIMENSION, ''));
    const all = [undefined, ...new Set([...domains.map(({ domain }) => domain), ...own])];
    return all.flatMap((domain) => {
      const each = domain === undefined ? undefined : ownOf(bounds, EACH_DOMAIN + suffix);
      const bound = ownOf(bounds, (domain ?? OVERALL) + suffix) ?? each;
      if (bound === undefined) return [];
      const set = domain === undefined ? overall : domains.find((one) => one.domain === domain)?.set;
      const figure = `${domain ?? whole}${dimension === undefined ? '' : ` ${dimension}`}`;
      return [{ domain, dimension, figure, tier: bound.tier, points: bound.value, found: set?.[dimension ?? 'total'] }];
    });
  });
}

/** The dimension in a key such as `terminal.format`. */
const DIMENSION = new RegExp(`\\.(${DIMENSIONS.join('|')})$`);

/** Tests that count, other than Overall's drop, share one level for their breaches. */
export function isInFamily(test: Test): boolean {
  return test.tier !== 'advisory' && !isOverallDrop(test);
}

function isOverallDrop({ kind, domain, dimension }: Test): boolean {
  return kind === 'drop' && domain === undefined && dimension === undefined;
}

/** Every test's result at a level; `next` is the look that more repeats would lead to. */
export function judgeTests(tests: readonly Test[], alpha: number, next: Next | undefined): BoundResult[] {
  const chances = new Map(tests.map((test) => [test, chanceOf(test)]));
  const family = tests.filter((test) => isInFamily(test) && chances.get(test) !== undefined);
  const shared = holm(family.flatMap((test) => chances.get(test) ?? []));
  const adjusted = new Map(family.map((test, place) => [test, shared[place]]));
  return tests.map((test) => {
    const isShared = adjusted.has(test);
    const level = { alpha, pAdjusted: (isShared ? adjusted : chances).get(test), family: isShared ? family.length : 1 };
    return judgeTest(test, level, next);
  });
}

/** The one-sided p of a test's breach; undefined if there is too little evidence. */
export function chanceOf(test: Test): number | undefined {
  const { estimate, bound, scale } = test;
  return estimate === undefined || lackOf(test) !== undefined ? undefined : chanceBelow(estimate, bound, scale);
}

/** With fewer degrees of freedom, the tails of t are too uncertain for Overall to pass or fail by them. */
const LEAST_OVERALL_FREEDOM = 8;

/** Why there is too little evidence for a decision; undefined if there is enough. */
function lackOf({ domain, scale, estimate }: Test): string | undefined {
  if (estimate === undefined) return undefined;
  const { se, df, clusters } = estimate;
  const trajectories = counted(clusters, 'trajectory', 'trajectories');
  if (se === undefined || df === undefined) {
    const ifUniform = scale === 'score' ? ` (${LEAST_UNIFORM} if all its rows got the same score)` : '';
    return `${trajectories}, but every domain needs ${LEAST_CLUSTERS}${ifUniform}`;
  }
  if (isUniform(estimate) && clusters < LEAST_UNIFORM) {
    return `all rows agree, but ${trajectories} cannot prove it; ${LEAST_UNIFORM} would`;
  }
  return domain === undefined && df < LEAST_OVERALL_FREEDOM
    ? `${df.toFixed(1)} degrees of freedom, but at least ${LEAST_OVERALL_FREEDOM} are needed; add trajectories, or rows from more of them`
    : undefined;
}

/** The level at which a test is judged, and the p of its breach among all that share the level. */
interface Level {
  readonly alpha: number;
  readonly pAdjusted: number | undefined;
  readonly family: number;
}

/** Differences are shown with a sign. */
const SHOW = { difference: signed, score: twoDecimals } as const;
/** The name of each rule, after its target. */
const CALLED = { drop: 'drop', published: 'against published', floor: 'floor' } as const;

function judgeTest(test: Test, level: Level, next: Next | undefined): BoundResult {
  const { kind, scale, domain, dimension, tier, bound, estimate, sides } = test;
  const { alpha, pAdjusted, family } = level;
  const interval = estimate && intervalAt(estimate, alpha, scale);
  const lack = lackOf(test);
  const pHolds = estimate === undefined || lack !== undefined ? undefined : chanceAbove(estimate, bound, scale);
  const verdict = verdictOf(test, pHolds, level);
  const isOpen = scale === 'difference' && tier === 'critical' && verdict === 'INCONCLUSIVE' && lack === undefined;
  const held = next && { bound, holdsAt: next.alpha / 2, breaksAt: next.alpha / 2 / family };
  const show = SHOW[scale];
  const of = dimension === undefined ? '' : ` ${dimension}`;
  return {
    kind,
    isCondition: false,
    name: `${domain === undefined ? 'overall' : domainName(domain)}${of} ${CALLED[kind]}`,
    shown: {
      base: sides && twoDecimals(sides.base),
      candidate: sides && twoDecimals(sides.candidate),
      ...(estimate && { [scale === 'difference' ? 'change' : 'candidate']: show(estimate.value) }),
      interval: interval && intervalText(interval, show),
      bound: Number.isNaN(bound) ? undefined : show(bound),
    },
    domain,
    dimension,
    tier,
    verdict,
    counts: doesCount(tier, verdict),
    value: estimate?.value,
    ...interval,
    bound: Number.isNaN(bound) ? undefined : bound,
    pHolds,
    pAdjusted,
    repeats: isOpen && estimate && held ? predictivePower(estimate, test.split, held, next.repeats) : undefined,
    impact: estimate === undefined ? 0 : bound - estimate.value,
    sentence: sentenceOf(test, level, verdict, interval),
  };
}

function verdictOf({ estimate }: Test, pHolds: number | undefined, { alpha, pAdjusted }: Level): GateVerdict {
  if (estimate === undefined) return 'INCOMPLETE';
  if (pAdjusted === undefined || pHolds === undefined) return 'INCONCLUSIVE';
  if (pAdjusted < alpha / 2) return 'NO-GO';
  return pHolds <= alpha / 2 ? 'GO' : 'INCONCLUSIVE';
}

function sentenceOf(test: Test, level: Level, verdict: GateVerdict, interval: Interval | undefined): string {
  const { scale, estimate, figure, demand, lacking, bound } = test;
  const { alpha, pAdjusted, family } = level;
  if (estimate === undefined) return `${figure}: there is ${lacking}, so the rule cannot be tested.`;
  const lack = lackOf(test);
  const open =
    lack !== undefined
      ? `not enough evidence (${lack})`
      : interval !== undefined && interval.high < bound && pAdjusted !== undefined
        ? `broken on its own, but not among ${family} rules (adjusted one-sided p ${pAdjusted.toPrecision(2)}, ${Number((alpha / 2).toPrecision(3))} is needed)`
        : 'the interval contains this bound';
  const conclusion = verdict === 'GO' ? 'the rule holds' : verdict === 'NO-GO' ? 'the rule is broken' : open;
  const ends = interval && intervalText(interval, SHOW[scale]);
  const around = ends ? `${Number((100 * (1 - alpha)).toFixed(2))} % interval ${ends}` : 'no interval';
  const change = `${scale === 'difference' ? 'changed by' : 'scores'} ${SHOW[scale](estimate.value)} points`;
  return `${figure} ${change} (${around}); ${demand}: ${conclusion}.`;
}

/**
 * The predictive power of N repeats of every row in both runs (Spiegelhalter, Freedman & Blackburn, Controlled Clinical Trials 7(1), 1986):
 * how probable it is, given what is known now, that the rule will then be shown to hold or to be broken.
 *
 * Of the variance now, `row` stays, and sampling (`generation` and `judge`) shrinks to `perRepeat / N`. With a flat prior for the rows'
 * true difference, the later difference scatters around the present one by `σ² = sampling - perRepeat / N`, and its standard error will be
 * `SE_N = √(row + perRepeat / N)`. So with d the distance from the bound, t and t' the quantiles of the two levels, the chance is `Φ((d - t
 * SE_N) / σ) + Φ((-d - t' SE_N) / σ)`. Undefined without a standard error.
 * @param levels one-sided: the level for holding the rule, and the level for breaking it
 */
export function predictivePower(
  { value, se, df }: Estimate,
  split: VarianceSplit | undefined,
  { bound, holdsAt, breaksAt }: Readonly<Record<'bound' | 'holdsAt' | 'breaksAt', number>>,
  repeats: number,
): RepeatAdvice | undefined {
  if (se === undefined || df === undefined) return undefined;
  // Sampling as measured by repeats. What a uniform domain may hide is only in the standard error, and is attributed to the rows.
  const { row = 0, generation, judge = 0, perRepeat } = split ?? {};
  const isKnown = generation !== undefined && perRepeat !== undefined;
  const sampling = isKnown ? generation + judge : se ** 2;
  const ofRows = isKnown ? Math.max(row, se ** 2 - sampling) : 0;
  const ofRepeats = (isKnown ? perRepeat : se ** 2) / repeats;
  const later = Math.sqrt(ofRows + ofRepeats);
  const scatter = Math.sqrt(Math.max(0, sampling - ofRepeats));
  const chanceOf = (distance: number, level: number) => {
    const beyond = distance - studentTQuantile(1 - level, df) * later;
    return scatter === 0 ? Number(beyond >= 0) : normalTail(-beyond / scatter);
  };
  const chance = chanceOf(value - bound, holdsAt) + chanceOf(bound - value, breaksAt);
  return { kind: isKnown ? 'about' : 'at-most', repeats, chance: Math.min(1, chance) };
}
