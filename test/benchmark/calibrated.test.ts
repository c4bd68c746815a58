// calibration.jsonl read back: what stands in it, and lines that cannot be right.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { readCalibrated } from '../../src/benchmark/judged.js';
import { EXIT } from '../../src/core/errors.js';
import { temporaryFolder } from '../support/cli.js';

const line = (awb: object = {}, rest: object = {}) =>
  JSON.stringify({
    ...{ task: 'terminal', id: 7, turn_idx: 2, variant: 'light', gen: 'a', failed: 0 },
    ...{ total_score: 4.2, format: 5, factuality: 4, consistency: 4, realism: 4, quality: 4 },
    awb: { key: 'k', trajectory: 't', repeat: 0, flags: [], variant: 'light', judge: { status: 'ok' }, ...awb },
    ...rest,
  });

async function read(text: string) {
  const path = join(await temporaryFolder(), 'calibration.jsonl');
  await writeFile(path, text);
  return readCalibrated(path);
}

describe('calibration.jsonl', () => {
  it('is read as judgements of variants, distinguished by row, variant and index', async () => {
    const second = line({ judge: { status: 'ok', index: 1 } }, { factuality: 2 });
    const rows = await read(`${line()}\n${second}\n${line({ variant: 'truth' })}\n`);
    expect(rows.map(({ key, variant, index }) => [key, variant, index])).toEqual([
      ['k', 'light', 0],
      ['k', 'light', 1],
      ['k', 'truth', 0],
    ]);
    expect(rows[1]?.ratings.factuality).toBe(2);
  });

  it.each([
    ['a judgement that stands there twice', `${line()}\n${line()}\n`, /:2: the same judgement as in line 1/],
    [
      'a line without a variant',
      line({ variant: undefined }),
      /:1: not a judgement of awb calibrate; run the same awb/,
    ],
    ['a torn last line', `${line()}\n${line().slice(0, 50)}`, /:2: the last line is cut off; run awb calibrate again/],
    ['a rating that cannot be', line({}, { format: 1e9 }), /:1: .*; fix the line or remove it/],
  ])('is refused for %s, with file, line and remedy', async (_name, text, message) => {
    await expect(read(text)).rejects.toMatchObject({ exitCode: EXIT.badData, message: expect.stringMatching(message) });
  });
});
