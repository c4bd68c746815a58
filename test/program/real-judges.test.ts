// A small real model as judge. It is not part of the project: `node bench/real-judges.mjs fetch` gets it with pip.

import { existsSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { RECORDED, startAwb, temporaryFolder } from '../support/cli.js';
import { rowsOf } from '../support/judging.js';

const MODEL = join(tmpdir(), 'awb-real-judges/smollm2.gguf');
const isThere = existsSync(MODEL);
// The model has 100 MB and takes minutes to answer, so this runs only if it was fetched; otherwise the title says why not.
const given = isThere ? it : it.skip;
const reason = isThere ? '' : ` (skipped: there is no ${MODEL}; node bench/real-judges.mjs fetch brings it)`;

describe('SmolLM2-135M as judge', () => {
  given(
    `rates known predictions, held to the form of its verdicts${reason}`,
    async () => {
      const dir = await temporaryFolder();
      const where = ['--data-dir', RECORDED, '--output-dir', dir, '--db', join(dir, 'awb.sqlite'), '--domains', 'mcp'];
      const how = [
        '--corruptions',
        'shuffled',
        '--attacks',
        'none',
        '--max-calls',
        '6',
        '--max-tokens',
        '600',
        '--seed',
        '1',
      ];
      const { ended } = startAwb(['calibrate', ...where, ...how, '--local', MODEL], { AWB_CONTEXT: '8192' });
      expect((await ended).stdout).toContain('judge: ceiling ');
      const rows = await rowsOf(join(dir, 'calibration.jsonl'));
      expect(rows.some(({ awb: { judge } }) => judge.status === 'ok')).toBe(true);
    },
    900_000,
  );
});
