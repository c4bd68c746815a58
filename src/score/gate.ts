// A comparison and a policy -> GO, NO-GO or not enough evidence, rule by rule.

import type { Comparison, Difference, Figure, Interval, VarianceSplit } from '../comparison.js';
import { percent } from '../coverage.js';
import {
  adviceText,
  type GateAdvice,
  type GateDecision,
  type GateLevel,
  type GateVerdict,
  type Identity,
  isCondition,
  LIMITS,
  type Limit,
  limitText,
  type RepeatAdvice,
  type RuleResult,
  type Tier,
} from '../decision.js';
import { isPublished } from '../domains.js';
import { UserError } from '../errors.js';
import { counted, signed, twoDecimals } from '../figures.js';
import type { Dimension, Domain, Estimate, ScoreCard } from '../types.js';
import { DIMENSIONS, DOMAINS } from '../types.js';
import { LEAST_CLUSTERS, meanOfEstimates } from './clusters.js';
import { chanceAbove, chanceBelow, intervalAt, isUniform, LEAST_UNIFORM, type Scale } from './intervals.js';
import { alphaOfLook, lookAt, type RunRepeats, type Schedule } from './looks.js';
import { mean } from './mean.js';
import { holm } from './multiple.js';
import { type Bound, type Bounds, EACH_DOMAIN, OVERALL, type Policy } from './policy.js';
import { predictivePower } from './predictive.js';

/** All that a gate may look at. What is absent fails only the critical rules that need it. */
export interface Evidence {
  /** Against the base; without it `max_drop` has nothing to hold. */
  readonly comparison?: Comparison;
  /** The candidate's own scores, for `min_score`, for the truncated share and for a published base. */
  readonly candidate?: ScoreCard;
  /** Completion tokens a row, reasoning included, and the cost of the candidate's run. */
  readonly usage?: { readonly tokensPerRow?: number; readonly cost?: number };
  /** What the two runs share; one that is absent is unknown. */
  readonly identity?: Readonly<Partial<Record<Identity, 'equal' | 'different'>>>;
  /** Rows with ratings outside 1 to 5, which no judge can have meant: one that has them passes nothing. */
  readonly impossible?: { readonly base: number; readonly candidate: number };
  /** How many repeats the runs have; what a schedule of looks goes by. */
  readonly repeats?: RunRepeats;
  /** A published row in place of a base run: totals of 0-100 by domain. Against it every rule is advisory. */
  readonly published?: { readonly name: string; readonly scores: Readonly<Record<Domain, number>> };
}

/** A decision with the policy that it was made by. */
export interface GateReport extends GateDecision {
  readonly policy: Policy;
}

/**
 * Decides whether a candidate passes. A bound on a score or a difference is a non-inferiority test (Walker & Nowacki,
 * J. Gen. Intern. Med. 26(2), 2011): an interval wholly on the right side of the bound is GO, wholly beyond it NO-GO, and
 * astride INCONCLUSIVE.
 *
 * **Errors.** GO needs every critical rule to hold, so its chance where one of them is truly broken is at most `alpha / 2`
 * without a correction. NO-GO needs one rule to break, so breaches are corrected: Overall's drop is held at `alpha / 2`, all
 * other rules that count together at `alpha / 2` by Holm's method. The chance of a NO-GO where every bound truly holds is
 * thus at most `alpha`.
 *
 * **Looks.** A gate that is asked again after more repeats errs more often. With `policy.looks` each look is held at the level
 * that keeps all of them together at `alpha` (looks.ts).
 *
 * **Too little evidence.** Where there is no standard error, where it is 0 from fewer than 50 trajectories, or where Overall has
 * fewer than 8 degrees of freedom, a rule is INCONCLUSIVE, whatever its figure.
 *
 * **Verdict.** INCOMPLETE where evidence is missing (coverage, another judge, ratings that cannot be, a figure that a critical
 * rule needs), since what the other rules say is then not about the chosen rows; else NO-GO, else INCONCLUSIVE, else GO. Floors, and
 * rules against a published row, hold scores with failures that the model caused at rating 1. Pure: the same evidence gives the same
 * report.
 * @throws UserError (2) where the runs' repeats are none of the planned looks.
 */
export function decide(evidence: Evidence, policy: Policy): GateReport {
  const tests = [...dropTests(evidence, policy), ...floorTests(evidence, policy)];
  const level = levelOf(evidence, policy, tests);
  const next = nextOf(evidence, policy, level);
  const rules = [
    ...identityRules(evidence, policy),
    ...ratingRules(evidence),
    ...coverageRules(evidence, policy),
    ...judgeTests(tests, level.alpha, next),
    ...limitRules(evidence, policy),
  ].sort(byWeight);
  const outcome = PRECEDENCE.find((one) => rules.some((rule) => rule.counts && rule.verdict === one)) ?? 'GO';
  const repeats = outcome === 'INCONCLUSIVE' ? adviceForAll(rules) : undefined;
  const advisoryOnly = rules.every((rule) => rule.tier === 'advisory' || isCondition(rule));
  const advice = adviceOf(rules);
  // Advice about runs of which evidence is missing is worth nothing: that stays INCOMPLETE.
  const verdict = advisoryOnly && outcome === 'GO' ? 'ADVICE' : outcome;
  return {
    verdict,
    summary: verdict === 'ADVICE' ? `ADVICE: ${adviceText(advice)}` : summaryOf(verdict, rules),
    rules,
    level,
    ...(repeats === undefined ? {} : { repeats }),
    further: outcome === 'INCONCLUSIVE' ? furtherSteps(rules, repeats, level, next) : [],
    advisoryOnly,
    ...(advice === undefined ? {} : { advice }),
    policy,
  };
}

function summaryOf(verdict: GateVerdict, rules: readonly RuleResult[]): string {
  // A GO rests on the bounds that hold, not on what was merely a condition of testing them.
  const first = (verdict === 'GO' ? rules.find((rule) => !isCondition(rule)) : undefined) ?? rules[0];
  return `${verdict}: ${first?.sentence ?? 'there was nothing to test.'}`;
}

function adviceOf(all: readonly RuleResult[]): GateAdvice | undefined {
  const rules = all.filter((rule) => rule.tier === 'advisory');
  if (rules.length === 0) {
    return undefined;
  }
  const verdict = PRECEDENCE.find((one) => rules.some((rule) => rule.verdict === one)) ?? 'GO';
  const against = verdict === 'GO' ? 0 : rules.filter((rule) => rule.verdict === verdict).length;
  return { verdict, against, rules: rules.length };
}

const PRECEDENCE: readonly GateVerdict[] = ['INCOMPLETE', 'NO-GO', 'INCONCLUSIVE', 'GO'];

function byWeight(a: RuleResult, b: RuleResult): number {
  const weight = (rule: RuleResult) => PRECEDENCE.indexOf(rule.verdict) + (rule.counts ? 0 : PRECEDENCE.length);
  // What passed, or does not count, stands behind; of that, what is nearest to its bound comes first.
  return weight(a) - weight(b) || b.impact - a.impact;
}

function adviceForAll(rules: readonly RuleResult[]): RepeatAdvice | undefined {
  const open = rules.filter((rule) => rule.counts && rule.verdict === 'INCONCLUSIVE');
  const advice = open.flatMap((rule) => rule.repeats ?? []);
  if (advice.length < open.length || advice.length === 0) {
    return undefined;
  }
  const least = advice.reduce((a, b) => (b.chance < a.chance ? b : a));
  // Each of them has to be decided, so together it is less likely than the least likely one.
  return { ...least, kind: advice.length === 1 ? least.kind : 'at-most' };
}

// Levels and looks.

function levelOf({ repeats, comparison }: Evidence, { alpha, looks }: Policy, tests: readonly Test[]): GateLevel {
  if (looks === undefined) {
    return { alpha, sentence: decidesAt(alpha, tests) };
  }
  const look = lookAt(looks, repeats ?? { candidate: undefined }, comparison !== undefined);
  if (typeof look === 'string') {
    throw new UserError(look);
  }
  const own = alphaOfLook(looks, alpha);
  const which = `Look ${look} of ${looks.length} (${looks.join(', ')} repeats), each at alpha ${own.toPrecision(3)}, so that all together err as one would at ${alpha}.`;
  return { alpha: own, look, sentence: `${which} ${decidesAt(own, tests)}` };
}

function decidesAt(alpha: number, tests: readonly Test[]): string {
  const half = Number((alpha / 2).toPrecision(3));
  const family = tests.filter(isInFamily).length;
  const others = tests.some(isOverallDrop) ? `the ${family} rules beside Overall's drop` : `${family} rules,`;
  const adjusted = family < 2 ? '' : ` (of ${others} after Holm's adjustment)`;
  return `GO where each critical rule is shown to hold, one-sided at ${half}; NO-GO where one is shown to be broken, one-sided at ${half}${adjusted}.`;
}

/** What is planned next, or could have been: repeats, and the level at which they would be tested. Undefined after the last look. */
function nextOf({ repeats }: Evidence, { alpha, looks }: Policy, { look, alpha: own }: GateLevel): Next | undefined {
  if (looks === undefined || look === undefined) {
    const now = repeats?.candidate ?? 1;
    const schedule = [now, 3 * now];
    return { schedule, repeats: 3 * now, alpha: alphaOfLook(schedule, alpha) };
  }
  const next = looks[look];
  return next === undefined ? undefined : { schedule: looks, repeats: next, alpha: own };
}

interface Next {
  readonly schedule: Schedule;
  readonly repeats: number;
  readonly alpha: number;
}

function furtherSteps(
  rules: readonly RuleResult[],
  advice: RepeatAdvice | undefined,
  level: GateLevel,
  next: Next | undefined,
): string[] {
  const isDecidable = rules.some((rule) => rule.counts && rule.verdict === 'INCONCLUSIVE' && rule.holdsP !== undefined);
  if (!isDecidable) {
    return [];
  }
  if (next === undefined) {
    return ['This was the last look that was planned: what remains is another candidate, or new rows.'];
  }
  const chance =
    advice === undefined
      ? ''
      : ` The chance that ${advice.repeats} repeats of every row in both runs decide it is ${chanceText(advice)}.`;
  if (level.look !== undefined) {
    return [
      `To decide: repeat every row up to ${next.repeats} times (awb infer --repeats ${next.repeats}) and ask again with the same looks.${chance}`,
    ];
  }
  const names = next.schedule.join(',');
  return [
    `Asking again after more repeats at the same alpha is not honest: every look is another chance to err. Name the looks from the start, as with --looks ${names}, which tests each at alpha ${next.alpha.toPrecision(3)}.${chance}`,
  ];
}

function chanceText({ kind, chance }: RepeatAdvice): string {
  const share = Math.min(99, Math.round(chance * 100));
  return share === 0 ? 'below 1 %' : `${kind === 'about' ? 'about' : 'at most'} ${share} %`;
}

/** A figure that has to be at least its bound. */
interface Test {
  readonly kind: 'drop' | 'floor' | 'published';
  readonly target: Target;
  readonly tier: Tier;
  readonly bound: number;
  /** What the policy says: points that may be lost, or the least score. */
  readonly allowed: number;
  /** Absent where there is nothing to test. */
  readonly estimate?: Estimate | undefined;
  readonly split?: VarianceSplit | undefined;
  /** What to call the target in a sentence. */
  readonly name: string;
  /** Of a published base: whose, and what it scored. */
  readonly against?: string;
}

interface Target {
  readonly domain?: Domain;
  readonly dimension?: Dimension;
}

function dropTests(evidence: Evidence, policy: Policy): Test[] {
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
      target,
      tier: bound.tier,
      bound: -bound.value,
      allowed: bound.value,
      estimate: withWholeRerun(set?.[figure]?.difference, comparison?.overall[figure]),
      split: set?.[figure]?.split,
      name: nameOf(target, comparison?.macroOf, compared),
    };
  });
}

/** Where no row of the whole run moved, what a domain says rests on all trajectories of the run, not on its own alone. */
function withWholeRerun(own: Estimate | undefined, overall: Difference | undefined): Estimate | undefined {
  return own !== undefined && overall?.wins === 0 && overall.losses === 0
    ? { ...own, clusters: overall.difference.clusters }
    : own;
}

/** Published rows have totals alone. Overall is compared over the domains that both have, so a run of some can be too. */
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
      target,
      tier: 'advisory',
      bound: score - bound.value,
      allowed: bound.value,
      estimate:
        parts.length === 0
          ? undefined
          : meanOfEstimates(
              parts.map((part) => part.total),
              'score',
            ),
      name: nameOf(
        target,
        both.length,
        both.map(({ domain }) => domain),
      ),
      against: `the published ${twoDecimals(score)} of ${name}`,
    };
  });
}

function floorTests({ candidate }: Evidence, policy: Policy): Test[] {
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
      target,
      tier: bound.tier,
      bound: bound.value,
      allowed: bound.value,
      estimate: set?.[target.dimension ?? 'total'],
      name: nameOf(target, candidate === undefined ? undefined : scored.length, scored),
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

function ownOf<T>(record: Readonly<Record<string, T>>, key: string): T | undefined {
  return Object.hasOwn(record, key) ? record[key] : undefined;
}

/** @param scored the domains at hand that have a total */
function nameOf({ domain, dimension }: Target, macroOf: number | undefined, scored: readonly Domain[]): string {
  const isOverall = macroOf === undefined || (macroOf === DOMAINS.length && scored.every(isPublished));
  const whole = isOverall ? 'Overall' : `Overall (macro of ${macroOf})`;
  return [domain ?? whole, ...(dimension === undefined ? [] : [dimension])].join(' ');
}

/** Tests that count, other than Overall's drop, share one level for their breaches. */
function judgeTests(tests: readonly Test[], alpha: number, next: Next | undefined): RuleResult[] {
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

function isInFamily(test: Test): boolean {
  return test.tier !== 'advisory' && !isOverallDrop(test);
}

function isOverallDrop({ kind, target }: Test): boolean {
  return kind === 'drop' && target.domain === undefined && target.dimension === undefined;
}

function chanceOf(test: Test): number | undefined {
  const { estimate, bound } = test;
  return estimate === undefined || lackOf(test) !== undefined ? undefined : chanceBelow(estimate, bound, scaleOf(test));
}

function scaleOf({ kind }: Test): Scale {
  return kind === 'drop' ? 'difference' : 'score';
}

/** Below this many degrees of freedom the tails of t are too uncertain for Overall to pass or fail by them. */
const LEAST_OVERALL_FREEDOM = 8;

/** Why there is too little evidence to decide anything by; undefined where there is enough. */
function lackOf({ target, estimate }: Test): string | undefined {
  if (estimate === undefined) return undefined;
  const { se, df, clusters } = estimate;
  if (se === undefined || df === undefined) {
    return target.domain === undefined
      ? `each domain needs at least ${LEAST_CLUSTERS} trajectories, and those in which every row says the same ${LEAST_UNIFORM} together`
      : `${counted(clusters, 'trajectory', 'trajectories')}, and at least ${LEAST_CLUSTERS} are needed`;
  }
  if (isUniform(estimate) && clusters < LEAST_UNIFORM) {
    return `no row says anything else, but of ${counted(clusters, 'trajectory', 'trajectories')} that proves nothing; ${LEAST_UNIFORM} would`;
  }
  return target.domain === undefined && df < LEAST_OVERALL_FREEDOM
    ? `${df.toFixed(1)} degrees of freedom, and at least ${LEAST_OVERALL_FREEDOM} are needed: take more trajectories, or rows of more of them`
    : undefined;
}

function judgeTest(test: Test, level: Level, next: Next | undefined): RuleResult {
  const { kind, target, tier, bound, estimate, split } = test;
  const { alpha, adjustedP, family, lack } = level;
  const interval = estimate === undefined ? undefined : intervalAt(estimate, alpha, scaleOf(test));
  const holdsP = estimate === undefined || lack !== undefined ? undefined : chanceAbove(estimate, bound, scaleOf(test));
  const verdict = verdictOf(test, holdsP, level);
  const isOpen = kind === 'drop' && tier === 'critical' && verdict === 'INCONCLUSIVE' && lack === undefined;
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
    ...target,
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

function doesCount(tier: Tier, verdict: GateVerdict): boolean {
  return tier === 'critical' || (tier === 'supporting' && verdict === 'NO-GO');
}

interface Level {
  readonly alpha: number;
  readonly adjustedP: number | undefined;
  readonly family: number;
  readonly lack: string | undefined;
}

function sentenceOf(test: Test, verdict: GateVerdict, interval: Interval | undefined, level: Level): string {
  const { kind, name, estimate, allowed, against } = test;
  if (estimate === undefined) {
    const lacking = { drop: 'no row that both runs rated', floor: 'no score', published: 'no score on both sides' };
    return `${name}: there is ${lacking[kind]}, so the rule cannot be tested.`;
  }
  const show = kind === 'drop' ? signed : twoDecimals;
  const around =
    interval === undefined
      ? 'no interval'
      : `${Number((100 * (1 - level.alpha)).toFixed(2))} % interval ${show(interval.low)} to ${show(interval.high)}`;
  const figure = `${name} ${kind === 'drop' ? 'changed by' : 'scores'} ${show(estimate.value)} points (${around})`;
  const demand = {
    drop: `it may lose ${twoDecimals(allowed)}`,
    floor: `it has to reach ${twoDecimals(allowed)}`,
    published: `against ${against ?? ''}, of which ${twoDecimals(allowed)} may be lost`,
  }[kind];
  return `${figure}; ${demand}: ${conclusion(test, verdict, interval, level)}.`;
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

function coverageRules({ comparison, candidate }: Evidence, policy: Policy): RuleResult[] {
  const domains =
    comparison?.domains.map(({ domain, coverage, compared, rows, missing }) => ({
      domain,
      coverage,
      figure: `${compared} of ${rows} rows have a rating in both runs`,
      lack: `${missing.base} are missing in the base and ${missing.candidate} in the candidate`,
    })) ??
    candidate?.domains.map(({ domain, coverage, chosen }) => ({
      domain,
      coverage,
      figure: `${Math.round(coverage * chosen)} of ${chosen} rows have a rating`,
      lack: 'the others failed at the judge or in transport, or were not judged',
    })) ??
    [];
  const known = new Set(domains.map(({ domain }) => domain));
  const absent = Object.keys(policy.minCoverage)
    .filter((domain) => domain !== EACH_DOMAIN && !known.has(domain))
    .map((domain) => ({ domain, coverage: 0, figure: 'no row was chosen', lack: 'the policy names the domain' }));
  return [...domains, ...absent].map(({ domain, coverage, figure, lack }) => {
    const least = ownOf(policy.minCoverage, domain) ?? policy.minCoverage[EACH_DOMAIN] ?? 0;
    const isEnough = coverage >= least;
    return {
      kind: 'coverage',
      domain,
      tier: 'critical',
      verdict: isEnough ? 'GO' : 'INCOMPLETE',
      counts: true,
      value: coverage,
      bound: least,
      impact: (least - coverage) * 100,
      sentence: `${domain}: ${figure} (${percent(coverage)}); ${percent(least)} are needed${isEnough ? '' : `, and ${lack}`}.`,
    };
  });
}

/** Only two runs can be required to share anything; what nobody recorded is said and let pass. */
function identityRules({ comparison, identity }: Evidence, policy: Policy): RuleResult[] {
  return comparison === undefined
    ? []
    : policy.requireEqual.map((name) => {
        const state = identity?.[name];
        const sentence = {
          equal: `The runs have the same ${name}.`,
          different: `The runs differ in their ${name}, so their scores cannot be compared.`,
          unknown: `Whether the runs have the same ${name} is not recorded.`,
        }[state ?? 'unknown'];
        const isDifferent = state === 'different';
        return {
          kind: 'identity',
          identity: name,
          isRecorded: state !== undefined,
          tier: 'critical',
          verdict: isDifferent ? 'INCOMPLETE' : 'GO',
          counts: true,
          // Nothing else that is missing weighs as much.
          impact: isDifferent ? 100 : -100,
          sentence,
        };
      });
}

/** Not in a policy: no policy can want such ratings, and where there are none there is nothing to say. */
function ratingRules({ impossible }: Evidence): RuleResult[] {
  const { base = 0, candidate = 0 } = impossible ?? {};
  const found = [
    ...(base > 0 ? [`${base} of the base`] : []),
    ...(candidate > 0 ? [`${candidate} of the candidate`] : []),
  ];
  if (found.length === 0) return [];
  return [
    {
      kind: 'ratings',
      tier: 'critical',
      verdict: 'INCOMPLETE',
      counts: true,
      value: base + candidate,
      impact: 100,
      sentence: `Rows with ratings outside 1 to 5, which no judge can have meant: ${found.join(' and ')}; judge them again (awb score names their lines).`,
    },
  ];
}

const LIMIT_NAMES: Readonly<Record<Limit, string>> = {
  truncated_share: 'truncated predictions',
  tokens_per_row: 'completion tokens a row',
  cost: 'cost',
};

function limitRules(evidence: Evidence, policy: Policy): RuleResult[] {
  return LIMITS.flatMap((limit) => {
    const bound = policy.limits[limit];
    return bound === undefined ? [] : [limitRule(limit, bound, usedOf(evidence, limit))];
  });
}

function limitRule(limit: Limit, { value: most, tier }: Bound, used: number | undefined): RuleResult {
  const what = LIMIT_NAMES[limit];
  const verdict = used === undefined ? 'INCOMPLETE' : used > most ? 'NO-GO' : 'GO';
  const relation = verdict === 'NO-GO' ? 'more than' : 'within';
  return {
    kind: 'limit',
    limit,
    tier,
    verdict,
    counts: doesCount(tier, verdict),
    ...(used === undefined ? {} : { value: used }),
    bound: most,
    impact: used === undefined ? 0 : ((used - most) / (most === 0 ? 1 : most)) * 100,
    sentence:
      used === undefined
        ? `The candidate's ${what}: not recorded, so the limit of ${limitText(limit, most)} cannot be tested.`
        : `The candidate's ${what}: ${limitText(limit, used)}, ${relation} the limit of ${limitText(limit, most)}.`,
  };
}

function usedOf({ candidate, usage }: Evidence, limit: Limit): number | undefined {
  switch (limit) {
    case 'tokens_per_row':
      return usage?.tokensPerRow;
    case 'cost':
      return usage?.cost;
    case 'truncated_share': {
      const rows = (candidate?.domains ?? []).reduce((sum, { valid, failed }) => sum + valid + failed, 0);
      const truncated = (candidate?.domains ?? []).reduce((sum, { flags }) => sum + (flags.truncated ?? 0), 0);
      return rows === 0 ? undefined : truncated / rows;
    }
    default:
      return limit satisfies never;
  }
}
