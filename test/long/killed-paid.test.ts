// Kills when money is at stake: a budget is exceeded at most by the calls in flight, and no part of a batch is submitted twice.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { batchFolder } from '../support/batch-folder.js';
import { startBatchServer } from '../support/batch-server.js';
import { awb, startAwb, temporaryFolder } from '../support/cli.js';
import { startLoopbackServer } from '../support/loopback-server.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';

const closers: (() => Promise<void>)[] = [];
afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

const TOKENS = 110;
const KILLS = 6;

test('a run that is killed again and again exceeds its budget at most by the calls in flight', async () => {
  const usage = { prompt_tokens: 100, completion_tokens: 10, total_tokens: TOKENS };
  const server = await startLoopbackServer(() => ({ content: 'fine', usage, latencyMs: 15 }));
  closers.push(server.close);
  const dir = await temporaryFolder();
  const data = await writeDataset(join(dir, 'data'), { 'mcp_test.jsonl': madeUpRows('mcp', 120) });
  const infer = ['infer', '--data-dir', data, '--model-base-url', server.url, '--model-name', 'wm', '--quiet'];
  const args = [...infer, '--output-dir', join(dir, 'out')];
  const within = [...args, '--budget-tokens', `${60 * TOKENS}`, '--concurrency', '4'];
  for (let kill = 0; kill < KILLS; kill++) {
    const seen = server.count;
    const { child, ended } = startAwb(within);
    const isOver = ended.then(() => true);
    while (server.count < seen + 9 && !(await Promise.race([isOver, wait(3, false)])));
    child.kill('SIGKILL');
    await ended;
  }
  const last = await startAwb(within).ended;
  expect(last.code).toBe(EXIT.later);
  expect(server.count).toBeGreaterThanOrEqual(60);
  expect(server.count).toBeLessThanOrEqual(59 + 4 * (KILLS + 1));
  expect((await awb(args)).code).toBe(EXIT.done);
  await awb([...infer, '--output-dir', join(dir, 'elsewhere')]);
  const [output, elsewhere] = [join(dir, 'out'), join(dir, 'elsewhere')].map((folder) =>
    join(folder, 'predictions.jsonl'),
  );
  expect(await readFile(String(output), 'utf8')).toBe(await readFile(String(elsewhere), 'utf8'));
});

describe('awb batch submit that is killed', () => {
  test('at any request, before or after its effect, submits every part once', { timeout: 180_000 }, async () => {
    for (const moment of ['reset', 'reset-after'] as const) {
      let wasKilled = true;
      let kills = 0;
      for (let at = 0; wasKilled; at++) {
        let kill: (() => void) | undefined;
        const server = await startBatchServer({
          trouble({ index }) {
            if (index !== at || kill === undefined) return undefined;
            kill();
            return moment;
          },
        });
        closers.push(server.close);
        const dir = await batchFolder([2, 1]);
        const args = ['batch', 'submit', dir, '--base-url', server.url, '--poll', '0.01'];
        const { child, ended } = startAwb(args);
        kill = () => child.kill('SIGKILL');
        wasKilled = (await ended).signal === 'SIGKILL';
        kill = undefined;
        if (wasKilled) kills++;
        expect((await awb(args)).code).toBe(EXIT.later);
        const names = server.batches.map(
          ({ input_file_id }) => server.files.find(({ id }) => id === input_file_id)?.filename,
        );
        expect(names.map((name) => String(name).replace(/^awb-[0-9a-f]{12}-/, ''))).toEqual([
          'requests-0001.jsonl',
          'requests-0002.jsonl',
        ]);
        const { sent } = JSON.parse(await readFile(join(dir, 'submission.json'), 'utf8'));
        const ids = sent.map(({ batchId }: { batchId: string }) => batchId);
        expect(ids).toEqual(server.batches.map(({ id }) => id));
        expect(at).toBeLessThan(20);
      }
      // Each of the two parts is uploaded, and a batch is made of it.
      expect(kills).toBeGreaterThanOrEqual(4);
    }
  });
});
