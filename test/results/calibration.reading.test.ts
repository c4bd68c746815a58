// A calibration in its folder.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { keysOf } from '../../src/core/groups.js';
import { DIMENSIONS } from '../../src/core/types.js';
import { VARIANTS } from '../../src/judge/calibrate/variants.js';
import { readCalibration } from '../../src/results/read-run.js';
import { calibrationManifest } from '../support/calibrations.js';
import { temporaryFolder } from '../support/cli.js';

/** A rating of 5 for the truth and its rewrites, and of 1 for everything else, over eight trajectories. */
async function calibrationFolder(): Promise<string> {
  const dir = await temporaryFolder();
  const lines = Array.from({ length: 8 }, (_, row) =>
    keysOf(VARIANTS).map((variant) => {
      const rating = variant === 'truth' || variant.startsWith('rewrite') ? 5 : 1;
      const ratings = Object.fromEntries([...DIMENSIONS, 'total_score'].map((name) => [name, rating]));
      const awb = { key: `k${row}`, trajectory: `t${row}`, repeat: 0, variant, judge: { status: 'ok' } };
      return JSON.stringify({ task: 'mcp', id: row, turn_idx: 1, variant, gen: 'x', ...ratings, failed: 0, awb });
    }),
  );
  await writeFile(join(dir, 'calibration.jsonl'), `${lines.flat().join('\n')}\n`);
  await writeFile(join(dir, 'calibration.manifest.json'), JSON.stringify(calibrationManifest()));
  return dir;
}

describe('a calibration in a folder', () => {
  it('is read with its manifest, and says about the judge what its judgements show', async () => {
    const source = join(await calibrationFolder(), 'calibration.jsonl');
    const { manifest, calibration } = await readCalibration(source);
    expect(manifest.identity.judge).toBe('judge-model');
    expect(calibration.overall).toMatchObject({ rows: 8, ceiling: { value: 100 }, floor: { value: 0 } });
  });

  it('without a manifest is refused', async () => {
    const source = join(await temporaryFolder(), 'calibration.jsonl');
    await expect(readCalibration(source)).rejects.toMatchObject({
      exitCode: 66,
      message: expect.stringContaining('calibration.manifest.json'),
    });
  });
});
