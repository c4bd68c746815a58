// What a SQLite file is to hold of a run.

import { join } from 'node:path';
import { expect, test } from 'vitest';
import { madeWith } from '../../../src/run/made-with.js';
import { readManifest } from '../../../src/run/manifest-file.js';
import { recordOf } from '../../../src/runs/score/record.js';
import { openExistingStore } from '../../../src/store/store.js';
import { ROOT } from '../../support/cli.js';

const OLD = join(ROOT, 'fixtures/runs-0.1');

test('a run of version 0.1 is known by the text that its SQLite file has of it', async () => {
  const store = openExistingStore(join(OLD, 'runs.sqlite'));
  try {
    const stored = store.runs();
    expect(stored).toHaveLength(3);
    for (const {
      identity,
      label,
      kind,
      worldModel,
      judgeModel,
      rubricPack,
      rubricFingerprint,
      protocol,
      meta,
    } of stored) {
      const folder = label === undefined ? 'persistence' : label;
      const manifest = await readManifest(join(OLD, folder, 'judged.manifest.json'));
      const record = recordOf({ source: 'x', sha256: 'y', manifest, made: madeWith(manifest) }, undefined);
      const known = { identity, label, kind, worldModel, judgeModel, rubricPack, rubricFingerprint, protocol, meta };
      expect(record).toMatchObject(known);
    }
  } finally {
    store.close();
  }
});

test('a file without a manifest is known by its bytes, and called as the user says', () => {
  const run = { source: '/x', sha256: 'abc', manifest: undefined, made: madeWith(undefined) };
  expect(recordOf(run, 'mine')).toMatchObject({ identity: 'file abc', label: 'mine', kind: 'rubric' });
});
