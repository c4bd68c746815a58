// How far a judge can be trusted, as every table and document says it.

import { z } from 'zod';
import { FIGURE } from '../core/document.js';
import type { JudgeTrust } from '../stats/calibration/document.js';
import { trustLine } from '../stats/judge-trust.js';

/** What a calibration says of a judge; `uncalibrated` where nobody calibrated it as it was asked. */
export type Trust = JudgeTrust | 'uncalibrated';

/** Such as `judge: ceiling 97.1, noise 7.9 a row, blind to 2 of 14 damages, gullible +0.4`. */
export function trustText(trust: Trust): string {
  return trustLine(trust === 'uncalibrated' ? undefined : trust);
}

/** One line where two runs have the same to say of their judges, else one for each. No line for a run that asked none. */
export function trustTexts(base: Trust | undefined, candidate: Trust | undefined): string[] {
  const texts = [base, candidate].map((trust) => trust && trustText(trust));
  const [ofBase, ofCandidate] = texts;
  if (ofBase === undefined || ofCandidate === undefined || ofBase === ofCandidate) {
    return [ofBase ?? ofCandidate].filter((text) => text !== undefined);
  }
  const named = (text: string, side: string) => text.replace(/^judge:/, `judge of the ${side}:`);
  return [named(ofBase, 'base'), named(ofCandidate, 'candidate')];
}

/** The same in JSON, unrounded. A figure that the calibration could not tell is null. */
export const TRUST = z.union([
  z.strictObject({ calibrated: z.literal(false) }),
  z.strictObject({
    calibrated: z.literal(true),
    ceiling: FIGURE,
    noise: FIGURE,
    damages: z.number(),
    blind: z.number(),
    undecided: z.number(),
    gullible: FIGURE,
  }),
]);

/** Null where no judge was asked. */
export function trustDocument(trust: Trust | undefined): z.infer<typeof TRUST> | null {
  if (trust === undefined) return null;
  if (trust === 'uncalibrated') return { calibrated: false };
  return { calibrated: true, ...trust };
}
