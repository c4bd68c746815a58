// At which level a gate decides at this look, what more repeats would do for what is open, and what can be done about it.

import type { GateLevel, RepeatAdvice, RuleResult } from '../decision.js';
import { UserError } from '../errors.js';
import { isInFamily, isOverallDrop, type Test } from './bound-tests.js';
import { chanceOf } from './bound-verdicts.js';
import type { Evidence } from './limits.js';
import { alphaOfLook, lookAt, type Next } from './looks.js';
import type { Policy } from './policy.js';

/** @throws UserError (2) where the runs' repeats are none of the planned looks. */
export function levelOf(
  { repeats, comparison }: Evidence,
  { alpha, looks }: Policy,
  tests: readonly Test[],
): GateLevel {
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
  const tested = tests.filter((test) => chanceOf(test) !== undefined);
  const family = tested.filter(isInFamily).length;
  const shared = tested.some(isOverallDrop)
    ? `: Overall's drop at ${half}, the ${family} other rules that can be tested share another ${half} (Holm)`
    : `; the ${family} rules that can be tested share ${half} (Holm)`;
  return `GO where each critical rule is shown to hold, one-sided at ${half}; NO-GO where one is shown to be broken${family < 2 ? `, one-sided at ${half}` : shared}.`;
}

/** What is planned next, or could have been: repeats, and the level at which they would be tested. Undefined after the last look. */
export function nextOf(
  { repeats }: Evidence,
  { alpha, looks }: Policy,
  { look, alpha: own }: GateLevel,
): Next | undefined {
  if (looks === undefined || look === undefined) {
    const now = repeats?.candidate ?? 1;
    const schedule = [now, 3 * now];
    return { schedule, repeats: 3 * now, alpha: alphaOfLook(schedule, alpha) };
  }
  const next = looks[look];
  return next === undefined ? undefined : { schedule: looks, repeats: next, alpha: own };
}

/** What can be done about an open verdict, a sentence each. */
export function furtherSteps(
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

/** The chance that all open rules are decided by more repeats; undefined where one of them has no such chance. */
export function adviceForAll(rules: readonly RuleResult[]): RepeatAdvice | undefined {
  const open = rules.filter((rule) => rule.counts && rule.verdict === 'INCONCLUSIVE');
  const advice = open.flatMap((rule) => rule.repeats ?? []);
  if (advice.length < open.length || advice.length === 0) {
    return undefined;
  }
  const least = advice.reduce((a, b) => (b.chance < a.chance ? b : a));
  // Each of them has to be decided, so together it is less likely than the least likely one.
  return { ...least, kind: advice.length === 1 ? least.kind : 'at-most' };
}
