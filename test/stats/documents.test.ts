// The schemas of documents, checked against what the commands printed for the contract.

import { readFileSync } from 'node:fs';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { CALIBRATION } from '../../src/stats/calibration/document.js';
import { SCENARIOS } from '../../src/stats/scenarios.js';

const SCHEMAS: readonly (readonly [name: string, golden: string, schema: z.ZodType])[] = [
  ['awb.calibrate/1', 'calibrate', CALIBRATION],
  // The result of asking or scoring comes after the figures.
  ['awb.scenarios/1', 'scenarios', z.looseObject(SCENARIOS.shape)],
];

it.each(SCHEMAS)('the schema of %s has exactly the keys that are printed, in that order', (name, golden, schema) => {
  const lines = readFileSync(new URL(`../../fixtures/contract/${golden}.txt`, import.meta.url), 'utf8').split('\n');
  const printed = lines.filter((line) => line.startsWith(`{"schema":"${name}"`));
  expect(printed).not.toEqual([]);
  for (const line of printed) {
    const document: unknown = JSON.parse(line);
    expect(JSON.stringify(schema.parse(document))).toBe(JSON.stringify(document));
  }
});
