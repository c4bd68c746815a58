// The JSON Schemas in schemas/ match the program's schemas, for files that users write and documents that commands print.

import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { z } from 'zod';
import { jsonSchemas } from '../../src/cli/schemas.js';
import { COMMANDS } from '../../src/cli.js';
import { awb, RECORDED, ROOT, temporaryFolder } from '../support/cli.js';

const FOLDER = join(ROOT, 'schemas');
const schemas = await jsonSchemas(COMMANDS);

test('schemas/ contains all of them and nothing else; vitest -u writes them', async () => {
  for (const [name, text] of Object.entries(schemas)) {
    await expect(text).toMatchFileSnapshot(join(FOLDER, `${name}.json`));
  }
  expect(readdirSync(FOLDER).sort()).toEqual(
    Object.keys(schemas)
      .map((name) => `${name}.json`)
      .sort(),
  );
});

/** Whether the value follows the JSON Schema, decided by what is read back from its text. */
function fits(name: string, value: unknown): boolean {
  return z.fromJSONSchema(JSON.parse(schemas[name] ?? '')).safeParse(value).success;
}

const yaml = (path: string) => parse(readFileSync(join(ROOT, path), 'utf8'));

describe('a file that a user writes', () => {
  test.each<[string, unknown]>([
    ['config', yaml('examples/awb.yaml')],
    [
      'config',
      { 'max-tokens': 5, judge: { 'judge-repeats': 3, concurrency: 'adaptive' }, 'data fetch': { replace: true } },
    ],
    ['gate-policy', yaml('examples/gate.yaml')],
    ['gate-policy', { min_score: { kitchen: 50, overall: { points: 1, tier: 'advisory' } }, min_coverage: 0.9 }],
    ['prices', { models: { 'gpt-*': { input: 1, output: 2 } } }],
    ['rubric-pack', JSON.parse(readFileSync(join(ROOT, 'rubrics/awb-3/pack.json'), 'utf8'))],
    ...readdirSync(join(ROOT, 'scenarios/standard')).map((name): [string, unknown] => [
      'scenario-suite',
      yaml(`scenarios/standard/${name}`),
    ]),
  ])('fits %s.json: %j', (name, value) => {
    expect(fits(name, value)).toBe(true);
  });

  test.each<[string, unknown]>([
    ['config', { 'max-token': 5 }],
    ['config', { score: { 'judge-model': 'x' } }],
    ['config', { 'max-tokens': true }],
    ['config', { judge: { 'judge-repeats': 0 } }],
    ['gate-policy', { max_drop: { overall: { points: 101 } } }],
    ['gate-policy', { max_drop: { overall: -1 } }],
    ['gate-policy', { min_coverage: 1.9 }],
    ['gate-policy', { maximum_drop: 2 }],
    ['prices', { models: { m: { input: -1, output: 2 } } }],
    ['rubric-pack', { name: 'mine' }],
    ['scenario-suite', { scenarios: [{ name: 'No Spaces', instruction: 'x', verify: [{ contains: 'x' }] }] }],
  ])('with a fault does not fit %s.json: %j', (name, value) => {
    expect(fits(name, value)).toBe(false);
  });
});

test('every event of a run fits its JSON Schema, and no other line does', async () => {
  const cwd = await temporaryFolder();
  const infer = [
    'infer',
    '--data-dir',
    RECORDED,
    '--baseline',
    'persistence',
    '--limit',
    '5',
    '--budget-tokens',
    '1000',
  ];
  await awb([...infer, '--events', 'events.jsonl', '--output-dir', 'out', '--label', 'step-1'], { cwd });
  const events = readFileSync(join(cwd, 'events.jsonl'), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line));
  expect(new Set(events.map(({ type }) => type))).toEqual(new Set(['started', 'row', 'budget', 'finished']));
  expect(events.filter((event) => !fits('events', event))).toEqual([]);
  expect(events.some((event) => fits('events', { ...event, at: 5 }))).toBe(false);
});

test('every document of the contract fits its JSON Schema', () => {
  const contract = join(ROOT, 'fixtures/contract');
  const lines = readdirSync(contract).flatMap((name) => readFileSync(join(contract, name), 'utf8').split('\n'));
  const documents = lines.filter((line) => line.startsWith('{"schema":"awb.')).map((line) => JSON.parse(line));
  const unfit = documents.filter((document) => !fits(document.schema.replace('/', '-'), document));
  expect([documents.length > 10, unfit.map(({ schema }) => schema)]).toEqual([true, []]);
});
