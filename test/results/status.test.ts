// The status of working runs, read repeatedly: only what was appended is read, and sums cover the entire journal.

import { appendFile, mkdir, rename, rmdir, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeEach, expect, test } from 'vitest';
import { type Readings, readStatuses } from '../../src/results/status.js';
import { sealed } from '../../src/run/journal.js';
import { type Manifest, writeManifest } from '../../src/run/manifest.js';
import { temporaryFolder } from '../support/cli.js';

const MANIFEST: Manifest = {
  schema: 'awb.manifest/1',
  kind: 'infer',
  tool: { name: 'agentworldbench', version: '1' },
  ...{ meta: {}, identity: {}, fingerprint: 'f', settings: {}, endpoints: [], servedModels: [], data: {} },
  chosen: { mcp: 9 },
  counts: { chosen: 9, ok: 0, failed: 0, notDone: 9, absent: 0, failures: {}, flags: {} },
  ...{ tokens: {}, notices: [], startedAt: '2026-11-25T00:00:00.000Z', state: 'running' },
  price: { model: 'wm', source: 'prices.yaml', input: 10, output: 100 },
  unrecorded: { calls: 1, usage: { promptTokens: 1000, completionTokens: 0 } },
  process: { pid: 1, host: 'elsewhere', totals: { mcp: 9 } },
};
const NOW = Date.parse('2026-11-25T01:00:00.000Z');

const lineOf = (row: number, failed?: string) =>
  sealed({
    id: `row ${row}`,
    row: {
      awb: {
        ...{ key: `row ${row}`, repeat: 0, trajectory: 't', flags: [] },
        ...(failed === undefined ? { status: 'ok' } : { status: 'failed', class: failed, reason: `${failed} ${row}` }),
      },
    },
    log: {
      domain: 'mcp',
      at: new Date(NOW - (100 - row) * 1000).toISOString(),
      attempts: 1,
      usage: { promptTokens: 100, completionTokens: 10 },
    },
  });

let dir = '';
let journal = '';
let readings: Readings = new Map();
beforeEach(async () => {
  dir = await temporaryFolder();
  journal = join(dir, 'predictions.journal.jsonl');
  readings = new Map();
  await writeManifest(join(dir, 'predictions.manifest.json'), MANIFEST);
});

/** The status from an incremental read; it must equal that of a first read. */
async function statusNow() {
  const again = await readStatuses(dir, 'out', NOW, readings);
  expect(again).toEqual(await readStatuses(dir, 'out', NOW));
  return again;
}

test('appended lines are added, half a line once it is complete, and a row that is asked again counts once', async () => {
  await writeFile(journal, Buffer.concat([lineOf(1), lineOf(2, 'timeout'), lineOf(3).subarray(0, 40)]));
  expect(await statusNow()).toMatchObject([{ ok: 1, failed: 1, left: 7, tokens: 1220, usd: 0.014 }]);
  await appendFile(journal, Buffer.concat([lineOf(3).subarray(40), lineOf(2)]));
  expect(await statusNow()).toMatchObject([{ ok: 3, failed: 0, left: 6, tokens: 1440, failures: [] }]);
  await truncate(journal, lineOf(1).length);
  expect(await statusNow()).toMatchObject([{ ok: 1, failed: 0, tokens: 1110 }]);
});

test('a record that was read still counts if it is damaged afterwards', async () => {
  await writeFile(journal, lineOf(1));
  await readStatuses(dir, 'out', NOW, readings);
  await writeFile(journal, Buffer.concat([lineOf(1).fill('x', 0, 9), lineOf(2)]));
  expect(await readStatuses(dir, 'out', NOW, readings)).toMatchObject([{ ok: 2 }]);
  expect(await readStatuses(dir, 'out', NOW)).toMatchObject([{ ok: 1 }]);
});

test('two readers at once count nothing twice', async () => {
  await writeFile(journal, Buffer.concat([lineOf(1), lineOf(2)]));
  const both = await Promise.all([1, 2].map(() => readStatuses(dir, 'out', NOW, readings)));
  expect(both).toMatchObject([[{ ok: 2, tokens: 1220 }], [{ ok: 2, tokens: 1220 }]]);
});

test('another journal in its place is read from the start, and new initial sums are read again', async () => {
  await writeFile(journal, lineOf(1));
  await statusNow();
  await writeFile(join(dir, 'other'), Buffer.concat([lineOf(4), lineOf(5), lineOf(6)]));
  await rename(join(dir, 'other'), journal);
  expect(await statusNow()).toMatchObject([{ ok: 3, tokens: 1330 }]);
  await writeManifest(join(dir, 'predictions.manifest.json'), { ...MANIFEST, unrecorded: undefined });
  expect(await statusNow()).toMatchObject([{ ok: 3, tokens: 330 }]);
});

test('an unreadable journal is an error each time, and is read in full once it is readable', async () => {
  await mkdir(journal);
  await expect(readStatuses(dir, 'out', NOW, readings)).rejects.toThrow('regular file');
  await rmdir(journal);
  await writeFile(journal, lineOf(1));
  expect(await statusNow()).toMatchObject([{ ok: 1 }]);
});
