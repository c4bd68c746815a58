// A comparison and a policy -> GO, NO-GO or not enough evidence, rule by rule; the level of the tests, and the next steps for open rules.

import {
  adviceText,
  type BoundResult,
  type ConditionResult,
  doesCount,
  type GateAdvice,
  type GateDecision,
  type GateLevel,
  type GateVerdict,
  type RepeatAdvice,
  type RuleResult,
} from '../core/decision.js';
import { domainName } from '../core/domains.js';
import { UserError } from '../core/errors.js';
import { counted } from '../core/printable.js';
import { chanceOf, dropTests, floorTests, isInFamily, judgeTests, type Test } from './bounds.js';
import { percent } from './coverage.js';
import { alphaOfLook, lookAt, type Next } from './looks.js';
import { EACH_DOMAIN, type Evidence, LIMITS, ownOf, type Policy } from './policy.js';

/** Everything that a rule may use. */
interface Question {
  readonly evidence: Evidence;
  readonly policy: Policy;
  /** What the policy's bounds demand of the evidence. */
  readonly tests: readonly Test[];
  readonly level: GateLevel;
  /** The look after this one; absent after the last. */
  readonly next: Next | undefined;
}

/** Returns a result for each of the policy's demands on it; none if there are none. */
type Rule = (question: Question) => readonly RuleResult[];

/** The gate's rules; those of equal weight are listed in this order. */
export const RULES: readonly Rule[] = [
  provenanceRules,
  ratingRules,
  coverageRules,
  ({ tests, level, next }) => judgeTests(tests, level.alpha, next),
  limitRules,
];

/**
 * Decides whether a candidate passes. A bound on a score or a difference is a non-inferiority test (Walker & Nowacki, J. Gen. Intern. Med.
 * 26(2), 2011): an interval entirely on the right side of the bound is GO, entirely beyond it NO-GO, and across it INCONCLUSIVE.
 *
 * **Errors.** GO needs every critical rule to hold, so its chance if one of them is truly broken is at most `alpha / 2` without a
 * correction. NO-GO needs one rule to break, so breaches are corrected: Overall's drop is tested at `alpha / 2`, all other rules that count
 * together at `alpha / 2` by Holm's method. The chance of a NO-GO if every bound truly holds is thus at most `alpha`.
 *
 * **Looks.** A gate that is asked again after more repeats errs more often. With `policy.looks` each look is tested at the level that keeps
 * all of them together at `alpha` (looks.ts).
 *
 * **Too little evidence.** If there is no standard error, if it is 0 from fewer than 50 trajectories, or if Overall has fewer than 8
 * degrees of freedom, a rule is INCONCLUSIVE, whatever its figure. Overall's drop allows for what may be hidden in domains whose rows all
 * differ equally (`unseenVariance`).
 *
 * **Verdict.** INCOMPLETE if evidence is missing (coverage, another judge, impossible ratings, a figure that a critical rule needs), since
 * the other rules then do not describe the chosen rows; else NO-GO, else INCONCLUSIVE, else GO. Floors, and rules against a published row,
 * use scores with failures that the model caused at rating 1. Pure: the same evidence gives the same decision.
 * @param asked the rules to apply, in this order.
 * @throws UserError (2) if the runs' repeats match none of the planned looks.
 */
export function decide(evidence: Evidence, policy: Policy, asked: readonly Rule[] = RULES): GateDecision {
  const tests = [...dropTests(evidence, policy), ...floorTests(evidence, policy)];
  const level = levelOf(evidence, policy, tests);
  const next = nextOf(evidence, policy, level);
  const rules = asked.flatMap((rule) => rule({ evidence, policy, tests, level, next })).sort(byWeight);
  const outcome = worstOf(rules.filter((rule) => rule.counts));
  const advisory = rules.filter((rule) => rule.tier === 'advisory');
  const advice = advisory.length === 0 ? undefined : adviceOf(advisory);
  const advisoryOnly = rules.every((rule) => rule.tier === 'advisory' || rule.isCondition);
  // Advice is worthless if evidence is missing, so that stays INCOMPLETE.
  const verdict = advisoryOnly && outcome === 'GO' ? 'ADVICE' : outcome;
  // A GO rests on the bounds that hold, not on what was only a condition for testing them.
  const first = (verdict === 'GO' ? rules.find((rule) => !rule.isCondition) : undefined) ?? rules[0];
  const reason = verdict === 'ADVICE' ? adviceText(advice) : (first?.sentence ?? 'there was nothing to test.');
  const open = rules.filter((rule) => rule.counts && rule.verdict === 'INCONCLUSIVE');
  const repeats = outcome === 'INCONCLUSIVE' ? chanceForAll(open) : undefined;
  const further = outcome === 'INCONCLUSIVE' ? furtherSteps(open, repeats, level, next) : [];
  const summary = `${verdict}: ${reason}`;
  return { verdict, summary, rules, level, repeats, further, advisoryOnly, advice };
}

const PRECEDENCE: readonly GateVerdict[] = ['INCOMPLETE', 'NO-GO', 'INCONCLUSIVE', 'GO'];

function worstOf(rules: readonly RuleResult[]): GateVerdict {
  return PRECEDENCE.find((one) => rules.some((rule) => rule.verdict === one)) ?? 'GO';
}

function adviceOf(rules: readonly RuleResult[]): GateAdvice {
  const verdict = worstOf(rules);
  const against = verdict === 'GO' ? 0 : rules.filter((rule) => rule.verdict === verdict).length;
  return { verdict, against, rules: rules.length };
}

function byWeight(a: RuleResult, b: RuleResult): number {
  const weight = (rule: RuleResult) => PRECEDENCE.indexOf(rule.verdict) + (rule.counts ? 0 : PRECEDENCE.length);
  // Rules that passed, or do not count, come last; among them, the one nearest to its bound comes first.
  return weight(a) - weight(b) || b.impact - a.impact;
}

/** A result about the evidence itself. */
function condition(
  kind: string,
  name: string,
  found: Pick<ConditionResult, 'verdict' | 'impact' | 'sentence'> & Partial<ConditionResult>,
): ConditionResult {
  return { kind, name, isCondition: true, tier: 'critical', counts: true, ...found };
}

/** Two runs must share what the policy names. What was not recorded passes, and its sentence says so. */
function provenanceRules({ evidence: { comparison, shared }, policy }: Question): ConditionResult[] {
  if (comparison === undefined) return [];
  return policy.requireEqual.map((name) => {
    const state = shared?.[name];
    const sentence = {
      equal: `The runs have the same ${name}.`,
      different: `The runs differ in their ${name}, so their scores cannot be compared.`,
      unknown: `Whether the runs have the same ${name} is not recorded.`,
    }[state ?? 'unknown'];
    return condition('identity', `same ${name}`, {
      identity: name,
      sentence,
      verdict: state === 'different' ? 'INCOMPLETE' : 'GO',
      // Outranks any other missing evidence.
      impact: state === 'different' ? 100 : -100,
    });
  });
}

/** Not in a policy: no policy can allow such ratings, and if there are none there is nothing to report. */
function ratingRules({ evidence: { impossible } }: Question): ConditionResult[] {
  const found = Object.entries(impossible ?? {}).filter(([, rows]) => rows > 0);
  if (found.length === 0) return [];
  const listed = found.map(([side, rows]) => `${rows} of the ${side}`).join(' and ');
  const value = found.reduce((sum, [, rows]) => sum + rows, 0);
  const sentence = `Rows with impossible ratings (outside 1 to 5): ${listed}; judge them again (awb score lists their lines).`;
  return [condition('ratings', 'ratings of 1 to 5', { verdict: 'INCOMPLETE', impact: 100, value, sentence })];
}

/** Each domain must have enough rows about which something is known. */
function coverageRules({ evidence: { comparison, candidate }, policy }: Question): ConditionResult[] {
  const ofBoth = comparison?.domains.map(({ domain, coverage, compared, rows, missing }) => {
    const figure = `${compared} of ${counted(rows, 'row')} have a rating in both runs`;
    const lack = `${missing.base} are missing in the base and ${missing.candidate} in the candidate`;
    return { domain, coverage, figure, lack };
  });
  const ofOne = candidate?.domains.map(({ domain, coverage, chosen }) => {
    const figure = `${Math.round(coverage * chosen)} of ${counted(chosen, 'prediction')} have a rating`;
    return { domain, coverage, figure, lack: 'the others failed at the judge or in transport, or were not judged' };
  });
  const domains = ofBoth ?? ofOne ?? [];
  const absent = Object.keys(policy.minCoverage)
    .filter((name) => name !== EACH_DOMAIN && domains.every(({ domain }) => domain !== name))
    .map((domain) => ({ domain, coverage: 0, figure: 'no row was chosen', lack: 'the policy names the domain' }));
  return [...domains, ...absent].map(({ domain, coverage, figure, lack }) => {
    const least = ownOf(policy.minCoverage, domain) ?? policy.minCoverage[EACH_DOMAIN] ?? 0;
    const isEnough = coverage >= least;
    const needed = `${percent(least)} are needed${isEnough ? '' : `, and ${lack}`}`;
    const name = `${domainName(domain)} coverage`;
    const found = {
      domain,
      verdict: isEnough ? 'GO' : 'INCOMPLETE',
      value: coverage,
      bound: least,
      impact: (least - coverage) * 100,
      sentence: `${domain}: ${figure} (${percent(coverage)}); ${needed}.`,
    } as const;
    return condition('coverage', name, found);
  });
}

/** What the candidate may use. */
function limitRules({ evidence, policy }: Question): BoundResult[] {
  return LIMITS.flatMap(({ name, what, text, used: usedOf }): BoundResult[] => {
    const limit = ownOf(policy.limits, name);
    if (limit === undefined) return [];
    const { value: most, tier } = limit;
    const used = usedOf(evidence);
    const verdict = used === undefined ? 'INCOMPLETE' : used > most ? 'NO-GO' : 'GO';
    const found =
      used === undefined
        ? `not recorded for every row, so the limit of ${text(most)} cannot be tested`
        : `${text(used)}, ${used > most ? 'more than' : 'within'} the limit of ${text(most)}`;
    return [
      {
        kind: 'limit',
        isCondition: false,
        name: `limit ${name}`,
        limit: name,
        tier,
        verdict,
        counts: doesCount(tier, verdict),
        shown: { candidate: used === undefined ? undefined : text(used), bound: text(most) },
        value: used,
        bound: most,
        impact: used === undefined ? 0 : ((used - most) / (most === 0 ? 1 : most)) * 100,
        sentence: `The candidate's ${what}: ${found}.`,
      },
    ];
  });
}

/** @throws UserError (2) if the runs' repeats match none of the planned looks. */
function levelOf({ repeats, comparison }: Evidence, { alpha, looks }: Policy, tests: readonly Test[]): GateLevel {
  if (looks === undefined) return { alpha, sentence: decidesAt(alpha, tests) };
  const look = lookAt(looks, repeats ?? {}, comparison !== undefined);
  if (typeof look === 'string') throw new UserError(look);
  const own = alphaOfLook(looks, alpha);
  const which = `Look ${look} of ${looks.length} (${looks.join(', ')} repeats), each at alpha ${own.toPrecision(3)}, so that together they err no more often than one at ${alpha}.`;
  return { alpha: own, look, sentence: `${which} ${decidesAt(own, tests)}` };
}

function decidesAt(alpha: number, tests: readonly Test[]): string {
  const half = Number((alpha / 2).toPrecision(3));
  const family = tests.filter((test) => chanceOf(test) !== undefined && isInFamily(test)).length;
  return `GO if each critical rule is shown to hold, one-sided at ${half}; NO-GO if one is shown to be broken: Overall's drop at ${half}, the ${family} other testable rules share another ${half} (Holm).`;
}

/** The next planned look, or one that could have been planned: its repeats, and the level of its tests. Undefined after the last look. */
function nextOf({ repeats }: Evidence, { alpha, looks }: Policy, { look, alpha: own }: GateLevel): Next | undefined {
  if (looks === undefined || look === undefined) {
    const now = repeats?.candidate ?? 1;
    const schedule = [now, 3 * now];
    return { schedule, repeats: 3 * now, alpha: alphaOfLook(schedule, alpha) };
  }
  const next = looks[look];
  return next === undefined ? undefined : { schedule: looks, repeats: next, alpha: own };
}

/** Possible next steps for open rules, in sentences. */
function furtherSteps(
  open: readonly RuleResult[],
  advice: RepeatAdvice | undefined,
  { look }: GateLevel,
  next: Next | undefined,
): string[] {
  if (open.every((rule) => rule.pHolds === undefined)) return [];
  if (next === undefined) return ['This was the last planned look; only another candidate or new rows can decide.'];
  const { repeats, schedule, alpha } = next;
  const chance = advice
    ? ` The chance that ${repeats} repeats of every row in both runs decide it is ${chanceText(advice)}.`
    : '';
  return [
    look === undefined
      ? `Asking again after more repeats at the same alpha is not valid: every look is another chance to err. Plan the looks from the start, as with --looks ${schedule.join(',')}, which tests each at alpha ${alpha.toPrecision(3)}.${chance}`
      : `To decide: repeat every row up to ${repeats} times (awb infer --repeats ${repeats}) and ask again with the same looks.${chance}`,
  ];
}

function chanceText({ kind, chance }: RepeatAdvice): string {
  const share = Math.min(99, Math.round(chance * 100));
  return `${kind === 'about' ? 'about' : 'at most'} ${share} %`;
}

/** The chance that more repeats decide all open rules; undefined if one of them has no such chance. */
function chanceForAll(open: readonly RuleResult[]): RepeatAdvice | undefined {
  const advice = open.flatMap((rule) => rule.repeats ?? []);
  if (advice.length < open.length || advice.length === 0) return undefined;
  const least = advice.reduce((a, b) => (b.chance < a.chance ? b : a));
  // Each of them must be decided, so the joint chance is less than that of the least likely one.
  return { ...least, kind: advice.length === 1 ? least.kind : 'at-most' };
}
