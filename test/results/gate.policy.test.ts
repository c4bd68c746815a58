// The policy of a gate, from flags or a file.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { gateJson } from '../../src/report/gate.js';
import { policyFingerprint, readPolicy } from '../../src/results/gate.js';
import { parsePolicy } from '../../src/stats/policy.js';
import { temporaryFolder } from '../support/cli.js';
import { gatePage } from '../support/gate-pages.js';
import { ioIn } from '../support/io.js';

const NO_FLAGS = {
  config: undefined,
  printConfig: false,
  json: false,
  quiet: false,
  verbose: false,
  color: false,
  policy: undefined,
  maxDrop: undefined,
  maxDomainDrop: undefined,
  alpha: undefined,
  looks: [],
  minOverall: undefined,
  min: {},
};

test.each([
  ['the default', {}],
  ['every flag', { maxDrop: 1, maxDomainDrop: 3, alpha: 0.1, looks: ['1', '3'], minOverall: 40, min: { web: '30' } }],
])('the document of %s is a policy file that demands the same', async (_, flags) => {
  const policyFor = await readPolicy({ ...NO_FLAGS, ...flags }, ioIn('/'));
  const policy = policyFor([], true);
  const fingerprint = policyFingerprint(policy);
  const report = gatePage([], { policy: { from: 'flags', fingerprint, rules: policy } });
  const { from, fingerprint: told, ...written } = JSON.parse(gateJson(report)).policy;
  const again = parsePolicy(written);
  expect([from, told]).toEqual(['flags', fingerprint]);
  expect(again).toEqual(policy);
  expect(policyFingerprint(again)).toBe(fingerprint);
});

test('without a base there is no rule about drops', async () => {
  const policyFor = await readPolicy({ ...NO_FLAGS, minOverall: 40 }, ioIn('/'));
  expect(policyFor([], false).maxDrop).toEqual({});
  expect(Object.keys(policyFor([], true).maxDrop)).toEqual(['overall', 'each_domain']);
});

test('a file may name the domains of the runs, and no others', async () => {
  const dir = await temporaryFolder();
  await writeFile(join(dir, 'gate.yaml'), 'min_score: {kitchen: 40}');
  const policyFor = await readPolicy({ ...NO_FLAGS, policy: 'gate.yaml' }, ioIn(dir));
  expect(policyFor(['kitchen'], false).minScore.kitchen?.value).toBe(40);
  expect(() => policyFor([], false)).toThrow('gate.yaml:1: unknown key "kitchen"');
});
