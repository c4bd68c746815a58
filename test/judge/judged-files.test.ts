// Which file a judging writes to, decided by the mode's part of its identity.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { Identity } from '../../src/core/identity.js';
import { chooseFile } from '../../src/judge/judging.js';
import { temporaryFolder } from '../support/cli.js';

const COUNTS = { chosen: 1, ok: 1, failed: 0, notDone: 0, absent: 0, failures: {}, flags: {} };
const BEGUN: Identity = {
  mode: 'gauge',
  predictions: { file: 'p' },
  judge: 'j',
  version: 1,
  rubrics: { name: 'r', fingerprint: 'a' },
};

/** The file for a judging with another identity, next to one that was started. */
async function chosenFor(identity: Identity) {
  const dir = await temporaryFolder();
  const manifest = { schema: 'awb.manifest/1', kind: 'judge', identity: BEGUN, state: 'complete', counts: COUNTS };
  await writeFile(join(dir, 'judged.manifest.json'), JSON.stringify(manifest));
  return chooseFile(dir, () => identity, { label: undefined, judge: 'j-gauge' });
}

describe('a judging next to one that was started', () => {
  it('continues it under the same identity', async () => {
    expect(await chosenFor({ ...BEGUN })).toEqual({ name: 'judged', replaces: false });
  });

  it.each<[string, Identity]>([
    ['another version of the mode', { version: 2 }],
    ['another judge', { judge: 'k' }],
    ['another judge and version', { judge: 'k', version: 2 }],
    ['other rubrics', { rubrics: { name: 's', fingerprint: 'a' }, version: 2 }],
    ['the rubrics, reworded', { rubrics: { name: 'r', fingerprint: 'b' } }],
    ['another reading of verdicts', { verdicts: 'official', version: 2 }],
  ])('writes to its own file for %s', async (_, change) => {
    const { name, why } = await chosenFor({ ...BEGUN, ...change });
    expect(name).toMatch(/^judged\.j-gauge-[0-9a-f]{6}$/);
    expect(why).toContain('judged.jsonl contains another judging');
  });
});
