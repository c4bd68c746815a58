// awb init from outside: it writes files that commands accept, and never overwrites one.

import { mkdtempSync, readFileSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { awb, ROOT } from '../support/cli.js';

const cwd = () => mkdtempSync(join(tmpdir(), 'awb-init-'));

test('writes a configuration and a policy that name their schemas, and that commands accept', async () => {
  const dir = cwd();
  const { code, stdout } = await awb(['init'], { cwd: dir });
  expect([code, stdout]).toEqual([0, 'written: awb.yaml\nwritten: gate.yaml\n']);
  for (const [name, schema] of Object.entries({ 'awb.yaml': 'config', 'gate.yaml': 'gate-policy' })) {
    const [first = ''] = readFileSync(join(dir, name), 'utf8').split('\n');
    expect(first).toMatch(new RegExp(`^# yaml-language-server: \\$schema=https://.*/schemas/${schema}\\.json$`));
    const { $id } = JSON.parse(readFileSync(join(ROOT, 'schemas', `${schema}.json`), 'utf8'));
    expect(first.endsWith($id)).toBe(true);
  }
  for (const command of ['infer', 'judge', 'gate']) {
    const { code, stdout, stderr } = await awb([command, '--config', 'awb.yaml', '--print-config'], { cwd: dir });
    expect([code, stderr]).toEqual([0, '']);
    expect(stdout).toMatch(/awb\.yaml:\d+/);
  }
  // The policy is read before the runs.
  const gate = await awb(['gate', '--policy', 'gate.yaml', 'a', 'b'], { cwd: dir });
  expect(gate.stderr).toContain('"a" is not a judged file');
});

test('keeps an existing file', async () => {
  const dir = cwd();
  writeFileSync(join(dir, 'awb.yaml'), 'label: mine\n');
  const { code, stdout } = await awb(['init', dir, '--json']);
  expect(code).toBe(0);
  expect(JSON.parse(stdout).files.map(({ state }: { state: string }) => state)).toEqual(['kept', 'written']);
  expect(readFileSync(join(dir, 'awb.yaml'), 'utf8')).toBe('label: mine\n');
});

test('says where it cannot write', async () => {
  const dir = cwd();
  writeFileSync(join(dir, 'file'), '');
  const { code, stderr } = await awb(['init', 'file/below'], { cwd: dir });
  expect([code, stderr]).toEqual([73, expect.stringContaining('name another folder')]);
  const inFile = await awb(['init', 'file'], { cwd: dir });
  expect([inFile.code, inFile.stdout]).toEqual([73, '']);
});
