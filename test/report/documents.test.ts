// Documents of --json: each follows its schema, completely and without further keys.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import type { z } from 'zod';
import { documentOf, ESTIMATE, SPREAD } from '../../src/core/document.js';
import { COMPARE } from '../../src/report/comparison.js';
import { LEADERBOARD } from '../../src/report/formats.js';
import { GATE } from '../../src/report/gate.js';
import { SCORE } from '../../src/report/score.js';
import { REMOVAL, RUN, RUNS } from '../../src/results/stored-runs.js';
import { ROOT } from '../support/cli.js';

const SCHEMAS: Readonly<Record<string, z.ZodType>> = {
  'awb.score/1': SCORE,
  'awb.compare/1': COMPARE,
  'awb.gate/1': GATE,
  'awb.leaderboard/2': LEADERBOARD,
  'awb.runs/1': RUNS,
  'awb.run/1': RUN,
  'awb.runs-removed/1': REMOVAL,
};
const CONTRACT = join(ROOT, 'fixtures/contract');

/** What commands printed with --json, by the schema that each document names. */
const printed = readdirSync(CONTRACT)
  .flatMap((name) => readFileSync(join(CONTRACT, name), 'utf8').split('\n'))
  .filter((line) => line.startsWith('{"schema":"awb.'))
  .map((line): { readonly schema: string } => JSON.parse(line));

test.each(printed.filter(({ schema }) => schema in SCHEMAS).map((document) => [document.schema, document] as const))(
  'a document of %s has exactly what its schema says',
  (name, document) => {
    expect(SCHEMAS[name]?.safeParse(document).error?.issues).toBeUndefined();
    expect(SCHEMAS[name]?.safeParse({ ...document, more: 1 }).success).toBe(false);
  },
);

test('the commands of the contract print documents of five schemas here', () => {
  const names = new Set(printed.map(({ schema }) => schema).filter((name) => name in SCHEMAS));
  expect([...names].sort()).toEqual(['awb.compare/1', 'awb.gate/1', 'awb.leaderboard/2', 'awb.runs/1', 'awb.score/1']);
});

test('unknown values are null, so that every document has every key', () => {
  const spread = { rows: 3, clusters: 2, se: null, df: null, low: null, high: null };
  expect(documentOf(ESTIMATE, { value: 1 / 3, rows: 3, clusters: 2 })).toEqual({ value: 1 / 3, ...spread });
  expect(documentOf(SPREAD, {})).toEqual({ ...spread, rows: null, clusters: null });
});
