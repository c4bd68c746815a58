// What a calibration cannot tell, in sentences.

import { type Calibration, LEAST_TRAJECTORIES } from '../../calibration.js';
import { determinedPrecision } from '../../determined-precision.js';
import { domainName } from '../../domains.js';
import { LEAST_CLUSTERS } from '../../types.js';

export function limitsOfCalibration({ overall, domains }: Calibration): string[] {
  const small = domains.filter(({ trajectories }) => trajectories < LEAST_TRAJECTORIES);
  const names = small.map(({ domain, trajectories }) => `${domainName(domain)} ${trajectories}`);
  const has = (isIt: boolean, sentence: string) => (isIt ? [sentence] : []);
  return [
    ...has(
      small.length > 0,
      `Fewer than ${LEAST_TRAJECTORIES} trajectories: ${names.join(', ')}. What is said of such a domain is rough; below ${LEAST_CLUSTERS} it has no interval, so that no damage is seen or blind in it and no order kept or inverted.`,
    ),
    ...has(overall.ceiling === undefined, 'No neutral rewrite was judged, so ceiling and false penalty are unknown.'),
    ...has(
      overall.scores.some(({ variant }) => variant.family === 'dose'),
      determinedPrecision(domains.map(({ domain }) => domain)),
    ),
    ...has(overall.noise === undefined, "Nothing was judged twice, so the judge's own noise is unknown."),
    ...has(
      overall.noise !== undefined && overall.noise.high === undefined,
      `The judge's own noise has no interval (fewer than ${LEAST_CLUSTERS} trajectories were judged twice, or no judgements differ), so it does not say by how much two runs have to differ.`,
    ),
  ];
}
