// How far to trust what calibration takes for determined by action and history: tokens read by hand, and how many of them are so.

import type { Domain } from './types.js';

/** By domain; the tokens stand in fixtures/calibrate/determined.json, and a test holds these figures to them. */
export const DETERMINED_PRECISION: Readonly<Record<Domain, { readonly read: number; readonly right: number }>> = {
  mcp: { read: 81, right: 81 },
  search: { read: 28, right: 27 },
  terminal: { read: 100, right: 100 },
  swe: { read: 100, right: 97 },
  android: { read: 100, right: 100 },
  web: { read: 100, right: 100 },
  os: { read: 100, right: 99 },
};
