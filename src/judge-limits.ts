// What a judge may be like, as a gate holds it to: the words in which score decides and report tells.

import { EXIT, type ExitCode } from './errors.js';

/** Limits that a user can set; one that is absent is not held. Points are 0-100. */
export interface JudgeLimits {
  readonly minCeiling?: number | undefined;
  readonly maxNoise?: number | undefined;
  /** Damages that the judge may not see. */
  readonly maxBlind?: number | undefined;
  readonly maxGullible?: number | undefined;
}

export type LimitVerdict = 'holds' | 'broken' | 'undecided';

/** One limit, and what came of it. */
export interface LimitResult {
  /** Its key in JSON. */
  readonly name: 'min_ceiling' | 'max_noise' | 'max_blind' | 'max_gullible';
  readonly limit: number;
  /** What was found, with the interval that decides; of damages their number, and that with the undecided ones. */
  readonly value: number | undefined;
  readonly low: number | undefined;
  readonly high: number | undefined;
  readonly verdict: LimitVerdict;
  /** The same in a sentence. */
  readonly sentence: string;
}

/** Whether a judge may be used: what its calibration comes to, and why. */
export interface JudgeVerdict {
  readonly use: 'good' | 'with care' | 'do not use';
  /** The same in a sentence, with the reasons. */
  readonly sentence: string;
}

/** Broken where any limit is, else undecided where any limit is. */
export function verdictOf(results: readonly LimitResult[]): LimitVerdict {
  const has = (verdict: LimitVerdict) => results.some((result) => result.verdict === verdict);
  if (has('broken')) return 'broken';
  return has('undecided') ? 'undecided' : 'holds';
}

/** The exit code of a judge that is held to limits; 0 where there are none. */
export function exitCodeOfLimits(results: readonly LimitResult[]): ExitCode {
  return { holds: EXIT.done, broken: EXIT.noGo, undecided: EXIT.inconclusive }[verdictOf(results)];
}
