// How far a judge can be trusted, in one line beside each table.

import { counted } from '../core/figures.js';
import type { Calibration, JudgeTrust } from './calibration/document.js';

export function trustOf({ overall }: Calibration): JudgeTrust {
  const { ceiling, noise, losses, gullibility } = overall;
  const seeing = (sight: string) => losses.filter((loss) => loss.sight === sight).length;
  return {
    ceiling: ceiling?.value ?? null,
    noise: noise?.sd ?? null,
    damages: losses.length,
    blind: seeing('blind'),
    undecided: seeing('undecided'),
    gullible: gullibility?.value ?? null,
  };
}

/** Such as `judge: ceiling 97.1, noise 7.9 a row, blind to 2 of 14 damages, gullible +0.4`; without a calibration `judge: uncalibrated`. */
export function trustLine(trust: JudgeTrust | undefined): string {
  if (trust === undefined) return 'judge: uncalibrated';
  const { ceiling, noise, gullible } = trust;
  const parts = [
    ceiling === null ? 'ceiling unknown' : `ceiling ${pointsText(ceiling)}`,
    noise === null ? 'noise unknown' : `noise ${pointsText(noise)} a row`,
    blindnessOf(trust),
    gullible === null ? 'gullibility unknown' : `gullible ${signedPoints(gullible)}`,
  ];
  return `judge: ${parts.join(', ')}`;
}

function blindnessOf({ damages, blind, undecided }: JudgeTrust): string {
  if (damages === 0) return 'no damage judged';
  const open = undecided === 0 ? '' : ` (${undecided} undecided)`;
  return `blind to ${blind} of ${counted(damages, 'damage')}${open}`;
}

/** Points as calibrations show them, with one decimal; what rounds to nothing has no sign. */
export function pointsText(value: number): string {
  const text = value.toFixed(1);
  return text === '-0.0' ? '0.0' : text;
}

/** The same of a difference, with its sign. */
export function signedPoints(value: number): string {
  const text = pointsText(value);
  return value > 0 && text !== '0.0' ? `+${text}` : text;
}
