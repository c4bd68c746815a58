// How far to trust what calibration takes for determined by action and history: tokens read by hand, and how many of them are so.

import { domainName } from './domains.js';
import type { Domain } from './types.js';

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
