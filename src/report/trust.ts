// How far figures can be trusted, for every table and document: the calibration of their judge, and the parts of their variance.

import { z } from 'zod';
import { FIGURE, keyed } from '../core/document.js';
import { countBy } from '../core/groups.js';
import { counted } from '../core/printable.js';
import type { VarianceSplit } from '../core/types.js';
import { type Calibration, TRUST as JUDGE_TRUST, type JudgeTrust } from '../stats/calibration/document.js';

/** The calibration of a judge; `uncalibrated` if there is none for the way it was asked. */
export type Trust = JudgeTrust | 'uncalibrated';

/** One line if two runs have the same trust in their judges, else one each. No line for a run that asked none. */
export function trustTexts(base: Trust | undefined, candidate: Trust | undefined): string[] {
  const texts = new Set([base, candidate].flatMap((trust) => (trust === undefined ? [] : [trustText(trust)])));
  if (texts.size < 2) return [...texts];
  return [...texts].map((text, at) => text.replace(/^judge:/, `judge of the ${at === 0 ? 'base' : 'candidate'}:`));
}

/** The same in JSON, unrounded. Unknown figures are null. */
export const TRUST = z.union([
  z.strictObject({ calibrated: z.literal(false) }),
  z.strictObject({ calibrated: z.literal(true), ...JUDGE_TRUST.shape }),
]);

/** Null if no judge was asked. */
export function trustDocument(trust: Trust | undefined): z.infer<typeof TRUST> | null {
  if (trust === undefined) return null;
  if (trust === 'uncalibrated') return { calibrated: false };
  return { calibrated: true, ...trust };
}

export function trustOf({ overall }: Calibration): JudgeTrust {
  const { ceiling, noise, losses, attack_gain } = overall;
  const { blind = 0, undecided = 0 } = countBy(losses, ({ sight }) => sight);
  return {
    ceiling: ceiling?.value ?? null,
    noise: noise?.sd ?? null,
    corruptions: losses.length,
    blind,
    undecided,
    attack_gain: attack_gain?.value ?? null,
  };
}

/** Such as `judge: ceiling 97.1, noise 7.9 per row, blind to 2 of 14 corruptions, attack gain +0.4`; without a calibration `judge: uncalibrated`. */
export function trustText(trust: Trust): string {
  if (trust === 'uncalibrated') return 'judge: uncalibrated';
  const { ceiling, noise, attack_gain, corruptions, blind, undecided } = trust;
  const open = undecided === 0 ? '' : ` (${undecided} undecided)`;
  const parts = [
    ceiling === null ? 'ceiling unknown' : `ceiling ${pointsText(ceiling)}`,
    noise === null ? 'noise unknown' : `noise ${pointsText(noise)} per row`,
    corruptions === 0 ? 'no corruption judged' : `blind to ${blind} of ${counted(corruptions, 'corruption')}${open}`,
    attack_gain === null ? 'attack gain unknown' : `attack gain ${signedPoints(attack_gain)}`,
  ];
  return `judge: ${parts.join(', ')}`;
}

/** How intervals are made, in the words of a paper. */
export const INTERVALS = 'Student t, CR2 standard errors clustered by trajectory, scores on the logit scale';

/** Points as calibrations show them, with one decimal. Zero has no sign. */
export function pointsText(value: number): string {
  const text = value.toFixed(1);
  return text === '-0.0' ? '0.0' : text;
}

/** The same for a difference, with its sign. */
export function signedPoints(value: number): string {
  const text = pointsText(value);
  return value > 0 && text !== '0.0' ? `+${text}` : text;
}

/**
 * The parts of a variance as shares, such as `rows 61 %, generation 27 %, judge 12 %`; undefined if nothing was repeated. A part that is
 * not separable, since not every domain repeated it, is included in the part before it.
 * @param parts the splits of the domains, whose mean `split` is
 */
export function varianceText(split: VarianceSplit | undefined, parts: readonly VarianceSplit[]): string | undefined {
  const isRepeated = parts.some(({ generation, judge }) => (generation ?? judge) !== undefined);
  if (split === undefined || !isRepeated) return undefined;
  const { row, generation, judge } = split;
  const whole = row + (generation ?? 0) + (judge ?? 0);
  const share = ([name, part]: [string, number | undefined]) =>
    part === undefined ? `${name} not separable` : `${name} ${Math.round((part / whole) * 100)} %`;
  return whole === 0 ? undefined : Object.entries({ rows: row, generation, judge }).map(share).join(', ');
}

/** The parts of a variance in points squared. A part that is not separable is null, and `not_separable` says which part includes it. */
export const VARIANCE = z.strictObject({
  row: z.number(),
  ...keyed(FIGURE, 'generation', 'judge', 'perRepeat'),
  not_separable: z.array(z.string()),
});

/** The input of `VARIANCE`, with camelCase names. */
export function varianceSource(split: VarianceSplit | undefined) {
  if (split === undefined) return undefined;
  const { generation, judge } = split;
  const notSeparable = [
    ...(generation === undefined ? ['generation from row'] : []),
    ...(judge === undefined ? [generation === undefined ? 'judge from row' : 'judge from generation'] : []),
  ];
  return { ...split, notSeparable };
}
