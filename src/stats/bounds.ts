// The bounds of a policy: what they demand of the evidence, and whether each is held, broken or open, and why, in a sentence.

import type { Figure, Interval } from '../core/comparison.js';
import { type BoundResult, doesCount, type GateVerdict, type RepeatAdvice, type Tier } from '../core/decision.js';
import { domainName, domainsOfMean, isPublished } from '../core/domains.js';
import { counted, intervalText, signed, twoDecimals } from '../core/figures.js';
import {
  DIMENSIONS,
  type Dimension,
  DOMAINS,
  type Domain,
  type Estimate,
  LEAST_CLUSTERS,
  type VarianceSplit,
} from '../core/types.js';
import { meanOfEstimates } from './clusters.js';
import { normalTail, studentTQuantile } from './distributions.js';
import { chanceAbove, chanceBelow, intervalAt, isUniform, LEAST_UNIFORM } from './intervals.js';
import type { Evidence } from './limits.js';
import type { Next } from './looks.js';
import { mean } from './mean.js';
import { holm } from './multiple.js';
import { type Bound, type Bounds, EACH_DOMAIN, OVERALL, ownOf, type Policy } from './policy.js';

/** A figure that has to be at least its bound. */
export interface Test {
  /** The rule in JSON. */
  readonly kind: string;
  /** What the figure is: a difference of -100 to 100 points, or a score. */
  readonly scale: 'difference' | 'score';
  readonly target: Target;
  readonly tier: Tier;
  readonly bound: number;
  /** Absent where there is nothing to test. */
  readonly estimate?: Estimate | undefined;
  readonly split?: VarianceSplit | undefined;
  /** Of a difference: what the runs score. */
  readonly sides?: { readonly base: number; readonly candidate: number } | undefined;
  readonly texts: {
    /** What to call the target in a sentence. */
    readonly target: string;
    /** What the rule is called behind its target: where it stands alone, and in a table, where drops need no word. */
    readonly rule: string;
    readonly column?: string;
    /** What is demanded, behind the figure. */
    readonly demand: string;
    /** What there is none of where there is nothing to test. */
    readonly lacking: string;
  };
}

interface Target {
  readonly domain?: Domain;
  readonly dimension?: Dimension;
}

/** What `max_drop` demands: of the difference to the base, or to a published row in its place. */
export function dropTests(evidence: Evidence, policy: Policy): Test[] {
  const { comparison, published } = evidence;
  if (comparison === undefined && published !== undefined) {
    return publishedTests(evidence, policy, published);
  }
  const all = comparison?.domains ?? [];
  const domains = all.map(({ domain }) => domain);
  const compared = all.filter(({ figures }) => figures.total !== undefined).map(({ domain }) => domain);
  return targetsOf(policy.maxDrop, domains).map(({ target, bound }) => {
    const figure: Figure = target.dimension ?? 'total';
    const set =
      target.domain === undefined
        ? comparison?.overall
        : comparison?.domains.find(({ domain }) => domain === target.domain)?.figures;
    return {
      kind: 'drop',
      scale: 'difference',
      target,
      tier: bound.tier,
      bound: -bound.value,
      estimate: set?.[figure]?.difference,
      split: set?.[figure]?.split,
      sides: set?.[figure],
      texts: {
        target: nameOf(target, comparison?.macroOf, compared),
        rule: 'drop',
        demand: `it may lose ${twoDecimals(bound.value)}`,
        lacking: 'no row that both runs rated',
      },
    };
  });
}

/** Published rows have only totals. Overall is compared over the domains that both have, so a run of some can be too. */
function publishedTests(
  { candidate }: Evidence,
  policy: Policy,
  { name, scores }: NonNullable<Evidence['published']>,
): Test[] {
  const both = (candidate?.domains ?? []).flatMap(({ domain, withFailures: { total } }) => {
    const score = ownOf(scores, domain);
    return score === undefined || total === undefined ? [] : [{ domain, score, total }];
  });
  const targets = targetsOf(
    policy.maxDrop,
    both.map(({ domain }) => domain),
  ).filter(({ target }) => target.dimension === undefined);
  return targets.map(({ target, bound }) => {
    const parts = both.filter(({ domain }) => target.domain === undefined || domain === target.domain);
    const score = parts.length === 0 ? Number.NaN : mean(parts.map((part) => part.score));
    return {
      kind: 'published',
      scale: 'score',
      target,
      tier: 'advisory',
      bound: score - bound.value,
      estimate:
        parts.length === 0
          ? undefined
          : meanOfEstimates(
              parts.map((part) => part.total),
              'score',
            ),
      texts: {
        target: nameOf(
          target,
          both.length,
          both.map(({ domain }) => domain),
        ),
        rule: 'against published',
        demand: `against the published ${twoDecimals(score)} of ${name}, of which ${twoDecimals(bound.value)} may be lost`,
        lacking: 'no score on both sides',
      },
    };
  });
}

/** What `min_score` demands. */
export function floorTests({ candidate }: Evidence, policy: Policy): Test[] {
  const all = candidate?.domains ?? [];
  const domains = all.map(({ domain }) => domain);
  const scored = all.filter(({ withFailures }) => withFailures.total !== undefined).map(({ domain }) => domain);
  return targetsOf(policy.minScore, domains).map(({ target, bound }) => {
    const set =
      target.domain === undefined
        ? candidate?.overallWithFailures
        : candidate?.domains.find(({ domain }) => domain === target.domain)?.withFailures;
    return {
      kind: 'floor',
      scale: 'score',
      target,
      tier: bound.tier,
      bound: bound.value,
      estimate: set?.[target.dimension ?? 'total'],
      texts: {
        target: nameOf(target, candidate === undefined ? undefined : domainsOfMean(scored).length, scored),
        rule: 'floor',
        column: 'floor',
        demand: `it has to reach ${twoDecimals(bound.value)}`,
        lacking: 'no score',
      },
    };
  });
}

/** The rules that bounds state: for Overall, for each domain at hand, and for domains that are named though not at hand. */
function targetsOf(bounds: Bounds, domains: readonly Domain[]): { target: Target; bound: Bound }[] {
  return [undefined, ...DIMENSIONS].flatMap((dimension) => {
    const suffix = dimension === undefined ? '' : `.${dimension}`;
    const named = Object.keys(bounds).flatMap((key) => domainIn(key, dimension) ?? []);
    const all = [undefined, ...new Set([...domains, ...named])];
    return all.flatMap((domain) => {
      const own = ownOf(bounds, `${domain ?? OVERALL}${suffix}`);
      const bound = own ?? (domain === undefined ? undefined : ownOf(bounds, `${EACH_DOMAIN}${suffix}`));
      const target = { ...(domain === undefined ? {} : { domain }), ...(dimension === undefined ? {} : { dimension }) };
      return bound === undefined ? [] : [{ target, bound }];
    });
  });
}

/** The domain of a key such as `terminal` or `terminal.format`, where it is one and is about this dimension. */
function domainIn(key: string, dimension: Dimension | undefined): Domain | undefined {
  const found = DIMENSIONS.find((one) => key.endsWith(`.${one}`));
  const name = found === undefined ? key : key.slice(0, -found.length - 1);
  return found === dimension && name !== OVERALL && name !== EACH_DOMAIN ? name : undefined;
}

/** @param scored the domains at hand that have a total */
function nameOf({ domain, dimension }: Target, macroOf: number | undefined, scored: readonly Domain[]): string {
  const isOverall = macroOf === undefined || (macroOf === DOMAINS.length && domainsOfMean(scored).every(isPublished));
  const whole = isOverall ? 'Overall' : `Overall (macro of ${macroOf})`;
  return [domain ?? whole, ...(dimension === undefined ? [] : [dimension])].join(' ');
}

/** Tests that count, other than Overall's drop, share one level for their breaches. */
export function isInFamily(test: Test): boolean {
  return test.tier !== 'advisory' && !isOverallDrop(test);
}

export function isOverallDrop({ scale, target }: Test): boolean {
  return scale === 'difference' && target.domain === undefined && target.dimension === undefined;
}

/** Every test's result at a level; `next` is the look that more repeats would lead to. */
export function judgeTests(tests: readonly Test[], alpha: number, next: Next | undefined): BoundResult[] {
  const family = tests.filter(isInFamily);
  const chances = family.map(chanceOf);
  const tested = family.filter((_, index) => chances[index] !== undefined);
  const adjusted = holm(chances.filter((chance) => chance !== undefined));
  return tests.map((test) => {
    const place = tested.indexOf(test);
    const adjustedP = place === -1 ? chanceOf(test) : adjusted[place];
    const level = { alpha, adjustedP, family: place === -1 ? 1 : tested.length, lack: lackOf(test) };
    return judgeTest(test, level, next);
  });
}

/** The one-sided p of a test's breach; undefined where there is too little evidence for one. */
export function chanceOf(test: Test): number | undefined {
  const { estimate, bound, scale } = test;
  return estimate === undefined || lackOf(test) !== undefined ? undefined : chanceBelow(estimate, bound, scale);
}

/** Below this many degrees of freedom the tails of t are too uncertain for Overall to pass or fail by them. */
const LEAST_OVERALL_FREEDOM = 8;

/** Why there is too little evidence to decide anything by; undefined where there is enough. */
function lackOf({ target, scale, estimate }: Test): string | undefined {
  if (estimate === undefined) return undefined;
  const { se, df, clusters } = estimate;
  if (se === undefined || df === undefined) {
    return target.domain === undefined
      ? `every domain needs ${LEAST_CLUSTERS} trajectories${scale === 'score' ? ` (${LEAST_UNIFORM} if all its rows got the same score)` : ''}`
      : `${counted(clusters, 'trajectory', 'trajectories')}, and at least ${LEAST_CLUSTERS} are needed`;
  }
  if (isUniform(estimate) && clusters < LEAST_UNIFORM) {
    return `no row says anything else, but of ${counted(clusters, 'trajectory', 'trajectories')} that proves nothing; ${LEAST_UNIFORM} would`;
  }
  return target.domain === undefined && df < LEAST_OVERALL_FREEDOM
    ? `${df.toFixed(1)} degrees of freedom, and at least ${LEAST_OVERALL_FREEDOM} are needed: take more trajectories, or rows of more of them`
    : undefined;
}

function judgeTest(test: Test, level: Level, next: Next | undefined): BoundResult {
  const { kind, scale, target, tier, bound, estimate, split } = test;
  const { alpha, adjustedP, family, lack } = level;
  const interval = estimate === undefined ? undefined : intervalAt(estimate, alpha, scale);
  const holdsP = estimate === undefined || lack !== undefined ? undefined : chanceAbove(estimate, bound, scale);
  const verdict = verdictOf(test, holdsP, level);
  const isOpen = scale === 'difference' && tier === 'critical' && verdict === 'INCONCLUSIVE' && lack === undefined;
  const advice =
    isOpen && estimate !== undefined && next !== undefined
      ? predictivePower(
          estimate,
          split,
          { bound, holdsAt: next.alpha / 2, breaksAt: next.alpha / 2 / family },
          next.repeats,
        )
      : undefined;
  return {
    kind,
    isCondition: false,
    name: [wholeOr('overall', target), target.dimension, test.texts.rule].filter(isGiven).join(' '),
    label: [wholeOr('Overall', target), target.dimension, test.texts.column].filter(isGiven).join(' '),
    direction: 'at least',
    shown: shownOf(test, interval),
    scope: target.domain === undefined ? 'overall' : { domain: target.domain },
    ...(target.dimension === undefined ? {} : { dimension: target.dimension }),
    tier,
    verdict,
    counts: doesCount(tier, verdict),
    ...(estimate === undefined ? {} : { value: estimate.value }),
    ...(interval === undefined ? {} : interval),
    ...(Number.isNaN(bound) ? {} : { bound }),
    ...(holdsP === undefined ? {} : { holdsP }),
    ...(adjustedP === undefined ? {} : { adjustedP }),
    ...(advice === undefined ? {} : { repeats: advice }),
    impact: estimate === undefined ? 0 : bound - estimate.value,
    sentence: sentenceOf(test, verdict, interval, level),
  };
}

function wholeOr(whole: string, { domain }: Test['target']): string {
  return domain === undefined ? whole : domainName(domain);
}

function isGiven(part: string | undefined): part is string {
  return part !== undefined;
}

function shownOf({ scale, estimate, bound, sides }: Test, interval: Interval | undefined): BoundResult['shown'] {
  const show = SHOW[scale];
  const around = interval && intervalText(interval, show);
  return {
    ...(sides === undefined ? {} : { base: twoDecimals(sides.base), candidate: twoDecimals(sides.candidate) }),
    ...(estimate === undefined ? {} : { [scale === 'difference' ? 'change' : 'candidate']: show(estimate.value) }),
    ...(around === undefined ? {} : { interval: around }),
    ...(Number.isNaN(bound) ? {} : { bound: show(bound) }),
  };
}

/** Differences have a sign. */
const SHOW = { difference: signed, score: twoDecimals } as const;

function verdictOf({ estimate }: Test, holdsP: number | undefined, { alpha, adjustedP }: Level): GateVerdict {
  if (estimate === undefined) {
    return 'INCOMPLETE';
  }
  if (adjustedP === undefined || holdsP === undefined) {
    return 'INCONCLUSIVE';
  }
  if (adjustedP < alpha / 2) {
    return 'NO-GO';
  }
  return holdsP <= alpha / 2 ? 'GO' : 'INCONCLUSIVE';
}

interface Level {
  readonly alpha: number;
  readonly adjustedP: number | undefined;
  readonly family: number;
  readonly lack: string | undefined;
}

function sentenceOf(test: Test, verdict: GateVerdict, interval: Interval | undefined, level: Level): string {
  const { scale, texts, estimate } = test;
  if (estimate === undefined) {
    return `${texts.target}: there is ${texts.lacking}, so the rule cannot be tested.`;
  }
  const show = SHOW[scale];
  const around =
    interval === undefined
      ? 'no interval'
      : `${Number((100 * (1 - level.alpha)).toFixed(2))} % interval ${intervalText(interval, show)}`;
  const figure = `${texts.target} ${scale === 'difference' ? 'changed by' : 'scores'} ${show(estimate.value)} points (${around})`;
  return `${figure}; ${texts.demand}: ${conclusion(test, verdict, interval, level)}.`;
}

function conclusion(
  { bound }: Test,
  verdict: GateVerdict,
  interval: Interval | undefined,
  { alpha, adjustedP, family, lack }: Level,
): string {
  if (verdict === 'GO') {
    return 'the rule holds';
  }
  if (verdict === 'NO-GO') {
    return 'the rule is broken';
  }
  if (lack !== undefined) {
    return `that is not enough evidence (${lack})`;
  }
  return interval !== undefined && interval.high < bound && adjustedP !== undefined
    ? `broken taken alone, but not among ${family} rules (adjusted one-sided p ${adjustedP.toPrecision(2)}, and ${Number((alpha / 2).toPrecision(3))} is needed)`
    : 'the interval lies on both sides of that';
}

/** Which of two sides a difference lies on, as it will be tested. */
interface Decision {
  readonly bound: number;
  /** One-sided levels at which the rule is held, and at which it is broken. */
  readonly holdsAt: number;
  readonly breaksAt: number;
}

/**
 * The predictive power of N repeats of every row in both runs (Spiegelhalter, Freedman & Blackburn, Controlled Clinical Trials 7(1),
 * 1986): how probable it is, from what is known now, that the rule will then be shown to hold or to be broken.
 *
 * Of the variance now, `row` stays, and sampling (`generation` and `judge`) shrinks to `perRepeat / N`. With a flat prior for what the
 * rows truly differ by, the later difference scatters around the one of now by `σ² = sampling - perRepeat / N`, and its standard error
 * will be `SE_N = √(row + perRepeat / N)`. So with d the distance from the bound, t and t' the quantiles of the two levels, the chance is
 * `Φ((d - t SE_N) / σ) + Φ((-d - t' SE_N) / σ)`. Undefined without a standard error.
 */
export function predictivePower(
  { value, se, df }: Estimate,
  split: VarianceSplit | undefined,
  { bound, holdsAt, breaksAt }: Decision,
  repeats: number,
): RepeatAdvice | undefined {
  if (se === undefined || df === undefined) {
    return undefined;
  }
  const known = knownSampling(split, se);
  const { row, sampling, perRepeat } = known ?? { row: 0, sampling: se ** 2, perRepeat: se ** 2 };
  const later = Math.sqrt(row + perRepeat / repeats);
  const scatter = Math.sqrt(Math.max(0, sampling - perRepeat / repeats));
  const chanceOf = (distance: number, level: number) => {
    const beyond = distance - studentTQuantile(1 - level, df) * later;
    return scatter === 0 ? Number(beyond >= 0) : normalTail(-beyond / scatter);
  };
  const chance = chanceOf(value - bound, holdsAt) + chanceOf(bound - value, breaksAt);
  return { kind: known === undefined ? 'at-most' : 'about', repeats, chance: Math.min(1, chance) };
}

/** Sampling as repeats tell of it, and what is left of the variance; undefined where a run has no repeats. */
function knownSampling(split: VarianceSplit | undefined, se: number) {
  const { row, generation, judge = 0, perRepeat } = split ?? {};
  if (row === undefined || generation === undefined || perRepeat === undefined) {
    return undefined;
  }
  const sampling = generation + judge;
  // What a uniform domain may hide is in the standard error alone.
  return { row: Math.max(row, se ** 2 - sampling), sampling, perRepeat };
}
