// What a calibration cannot tell, in sentences.

import { LEAST_TRAJECTORIES } from '../../core/calibration.js';
import { domainName } from '../../core/domains.js';
import { type Domain, LEAST_CLUSTERS } from '../../core/types.js';
import type { Calibration } from './document.js';

/** A sentence each; none for a calibration that can tell all. */
export function notesOn({ overall, domains }: Calibration): string[] {
  const small = Object.entries(domains).filter(([, { trajectories }]) => trajectories < LEAST_TRAJECTORIES);
  const names = small.map(([domain, { trajectories }]) => `${domainName(domain)} ${trajectories}`);
  const has = (isIt: boolean, sentence: string) => (isIt ? [sentence] : []);
  return [
    ...has(
      small.length > 0,
      `Fewer than ${LEAST_TRAJECTORIES} trajectories: ${names.join(', ')}. What is said of such a domain is rough; below ${LEAST_CLUSTERS} it has no interval, so that no damage is seen or blind in it and no order kept or inverted.`,
    ),
    ...has(overall.ceiling === null, 'No neutral rewrite was judged, so ceiling and false penalty are unknown.'),
    ...has(
      overall.scores.some(({ family }) => family === 'dose'),
      determinedPrecision(Object.keys(domains)),
    ),
    ...has(overall.noise === null, "Nothing was judged twice, so the judge's own noise is unknown."),
    ...has(
      overall.noise !== null && overall.noise.high === null,
      `The judge's own noise has no interval (fewer than ${LEAST_CLUSTERS} trajectories were judged twice, or no judgements differ), so it does not say by how much two runs have to differ.`,
    ),
  ];
}

/** By domain; the tokens stand in fixtures/calibrate/determined.json, and a test holds these figures to them. */
const READ_BY_HAND: ReadonlyMap<Domain, { readonly read: number; readonly right: number }> = new Map(
  Object.entries({
    mcp: { read: 81, right: 81 },
    search: { read: 28, right: 27 },
    terminal: { read: 100, right: 100 },
    swe: { read: 100, right: 97 },
    android: { read: 100, right: 100 },
    web: { read: 100, right: 100 },
    os: { read: 100, right: 99 },
  }),
);

/** How precise the choice of determined tokens is, in a sentence. */
export function determinedPrecision(domains: readonly Domain[]): string {
  const parts = domains.map((domain) => {
    const counts = READ_BY_HAND.get(domain);
    return counts === undefined
      ? `none was read in ${domainName(domain)}`
      : `${counts.right} of ${counts.read} in ${domainName(domain)}`;
  });
  return `Determined tokens, precision by hand: ${parts.join(', ')}.`;
}
