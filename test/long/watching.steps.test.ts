// `awb watch` end to end: checkpoints are served, judged, scored and gated.

import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { isAlive } from '../../src/run/run.js';
import { awb } from '../support/cli.js';
import { complete, KEY, setUp, watchesCheckpoints } from '../support/watch.js';

watchesCheckpoints();

test('checkpoints are processed in the order of their numbers, compared with the base, reported, and not processed again', async () => {
  const run = await setUp(
    { ...complete('step-10', { answer: 'bad' }), ...complete('step-9', {}), ...complete('step-11', {}) },
    `
  on-result: [sh, -c, 'cat > "$0"; env > env.txt', "{name}.told.json"]
`,
  );
  const first = await run.once();
  expect(first.stderr).toMatch(/step-10: NO-GO: /);
  expect(first.code).toBe(EXIT.noGo);
  expect(await run.served()).toEqual(['step-9', 'step-10', 'step-11']);
  for (const pid of await run.pids()) expect(isAlive(pid)).toBe(false);
  expect(await run.result('step-9')).toMatchObject({ verdict: 'GO', exit_code: 0, last_go: null, base: 'base' });
  expect(await run.result('step-10')).toMatchObject({
    ...{ schema: 'awb.watch-result/1', verdict: 'NO-GO', exit_code: 4, summary: expect.any(String) },
    checkpoint: { name: 'step-10', path: join(run.dir, 'checkpoints/step-10') },
    last_go: { name: 'step-9', difference: { difference: expect.any(Number) } },
    difference: { low: expect.any(Number), high: expect.any(Number) },
  });
  expect((await run.result('step-11')).last_go.name).toBe('step-9');
  const told = JSON.parse(await readFile(join(run.dir, 'step-10.told.json'), 'utf8'));
  expect(told).toEqual(await run.result('step-10'));
  expect(await readFile(join(run.dir, 'env.txt'), 'utf8')).not.toContain(KEY);
  const stored = JSON.parse((await awb(['runs', 'list', '--json'], { cwd: run.dir })).stdout);
  expect(JSON.stringify(stored)).toContain('step-11');
  expect(first.stdout).toMatch(/^step-9: GO: .*\nstep-10: NO-GO: .*\nstep-11: GO: .*against the last GO, step-9\)\n$/);
  const again = await run.once('--json');
  expect([again.code, (await run.served()).length]).toEqual([EXIT.done, 3]);
  expect(JSON.parse(again.stdout)).toEqual({ schema: 'awb.watch-results/1', exit_code: 0, results: [] });
  const types = (await run.log())
    .filter(({ checkpoint }) => checkpoint === 'step-9')
    .map(({ type, step }) => step ?? type);
  expect(types).toEqual(['serving', 'infer', 'judge', 'score', 'gate', 'result']);
}, 300_000);

test('names are never interpreted by a shell', async () => {
  const hostile = "step '1'; touch gone $(touch gone) {port} --help";
  const run = await setUp({
    ...complete(hostile, {}),
    'step-2/config.json': {},
    'step-3.bin': {},
    'step-3.bin.COMPLETE': {},
  });
  expect((await run.once()).code).toBe(EXIT.done);
  expect(await run.served()).toEqual([hostile, 'step-3.bin']);
  expect(await readdir(run.dir)).not.toContain('gone');
}, 300_000);

test('a setting that a step would refuse is refused before anything is served', async () => {
  const run = await setUp(complete('step-1', {}));
  await writeFile(
    join(run.dir, 'awb.yaml'),
    `${await readFile(join(run.dir, 'awb.yaml'), 'utf8')}score: { no-such: 1 }\n`,
  );
  const { code, stderr } = await run.once();
  expect([code, await run.served()]).toEqual([EXIT.usage, []]);
  expect(stderr).toMatch(/unknown setting "no-such"/);
});
