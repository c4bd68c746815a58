// A manifest on disk: written with its checksum, read back, and how a later change to it or its file shows.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { changeSince, type Manifest, readManifest, writeManifest } from '../../src/run/manifest.js';
import { temporaryFolder } from '../support/cli.js';

const MANIFEST: Manifest = {
  schema: 'awb.manifest/1',
  kind: 'infer',
  tool: { name: 'agentworldbench', version: '1' },
  meta: {},
  identity: { model: 'm' },
  fingerprint: 'f',
  settings: {},
  endpoints: [],
  servedModels: [],
  data: {},
  chosen: { mcp: 1 },
  counts: { chosen: 1, ok: 1, failed: 0, notDone: 0, absent: 0, failures: {}, flags: {} },
  tokens: {},
  notices: [],
  startedAt: 'then',
  state: 'complete',
  process: { pid: 1, host: 'here' },
  output: { file: 'predictions.jsonl', bytes: 2, form: 'x', sha256: 'aa' },
};

let path = '';
beforeEach(async () => {
  path = join(await temporaryFolder(), 'predictions.manifest.json');
});

test('a missing manifest reads as undefined', async () => {
  expect(await readManifest(path)).toBeUndefined();
});

test('a manifest is read back as it was written, with nothing to report', async () => {
  await writeManifest(path, MANIFEST);
  const read = await readManifest(path);
  expect(read).toMatchObject(MANIFEST);
  expect(changeSince(read, 'predictions.jsonl', 'aa')).toBeUndefined();
});

test('other bytes in the file, and other figures in the manifest, are reported as changes', async () => {
  await writeManifest(path, MANIFEST);
  expect(changeSince(await readManifest(path), 'p.jsonl', 'bb')).toMatch(/^p\.jsonl was edited or damaged .*SHA-256/);
  await writeFile(path, (await readFile(path, 'utf8')).replace('"ok": 1', '"ok": 2'));
  expect(changeSince(await readManifest(path), 'p.jsonl', 'aa')).toMatch(/^the manifest of p\.jsonl was edited/);
});

test('without a manifest, or with one that has no hashes, nothing is reported', () => {
  const { output: _, ...older } = MANIFEST;
  expect(changeSince(undefined, 'p.jsonl', 'aa')).toBeUndefined();
  expect(changeSince(older, 'p.jsonl', 'aa')).toBeUndefined();
});
