// Readers find the same in a merged run as in the unsharded one: comparisons, gates and pages are equal.

import { rm } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb } from '../support/cli.js';
import { sharded } from '../support/shards.js';
import { documentsIn } from '../support/static-pages.js';

/** Both are put in the same place in turn, so no path differs. */
const CANDIDATE = 'candidate';

test('compare, gate and report give the same for merged shards as for the unsharded run', async () => {
  const run = await sharded();
  await awb(['infer', '--data-dir', run.data, '--baseline', 'shuffled', '--output-dir', run.path('other')]);
  await run.judge('other');
  for (const out of [CANDIDATE, '1', '2', '3']) {
    await run.infer(out, ...(out === CANDIDATE ? [] : ['--shard', `${out}/3`]));
    await run.judge(out);
  }
  const said = async () => {
    const runs = [run.path('other'), run.path(CANDIDATE)];
    const commands = [
      ['compare', ...runs, '--json'],
      ['gate', ...runs, '--max-drop', '1', '--json'],
    ];
    const results = [];
    for (const words of commands) results.push(await awb(words, { cwd: run.folder }));
    const page = run.path(`page.html`);
    const report = ['report', '--run', run.path(CANDIDATE), '--compare', run.path('other'), '-o', page];
    results.push(await awb(report, { cwd: run.folder }));
    const { run: shown, samples, index, ...documents } = await documentsIn(page);
    const { gate } = documents[`compare/${index.runs[1].ref}/${index.runs[0].ref}`];
    const { figures, blocks } = shown.page;
    const dimensions = blocks.find(({ title }: { title?: string }) => title === 'Dimensions');
    const drawn = blocks[0].tables[0].drawings;
    return { results, page: [figures, drawn, dimensions, samples.samples, gate.comparison] };
  };
  const unsharded = await said();
  expect(unsharded.results.map(({ code }) => code)).toEqual([EXIT.done, EXIT.inconclusive, EXIT.done]);
  const { difference } = JSON.parse(unsharded.results[0]?.stdout ?? '').overall.total;
  expect(Math.abs(difference)).toBeGreaterThan(0);
  await rm(run.path(CANDIDATE), { recursive: true });
  expect((await run.merge('3', '1', '2', CANDIDATE)).code).toBe(EXIT.done);
  const merged = await said();
  expect(merged.results).toEqual(unsharded.results);
  expect(merged.page).toEqual(unsharded.page);
});
