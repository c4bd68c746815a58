// A stage: rows asked again, rows whose records have become stale, and what remains after an error.

import { expect, test } from 'vitest';
import { EXIT, UserError } from '../../src/core/errors.js';
import { oneByOne, type StageJob } from '../../src/run/stage-contract.js';
import { temporaryFolder } from '../support/cli.js';
import { recordOf, runMadeUp } from '../support/made-up-stage.js';

test('a row that must be asked again is asked before the next row', async () => {
  let tries = 0;
  const settle = async (...[job, outcome]: Parameters<typeof recordOf>) =>
    job.id === 'row-1' && ++tries < 3 ? ('again' as const) : recordOf(job, outcome);
  const { asked, result } = await runMadeUp({ dir: await temporaryFolder(), rows: 3, settle });
  expect(asked).toEqual(['row-0', 'row-1', 'row-1', 'row-1', 'row-2']);
  expect(await result).toMatchObject({ exitCode: EXIT.done, asked: 3, manifest: { counts: { ok: 3 } } });
});

test('rows whose records become stale during a session are asked again in that session', async () => {
  let form = 'old';
  const stage = { stampOf: () => form };
  const settle = async (...[job, outcome]: Parameters<typeof recordOf>) => {
    if (job.id === 'row-2') form = 'new';
    const { log, ...record } = recordOf(job, outcome);
    return { ...record, log: { ...log, dropped: form } };
  };
  const { asked, result } = await runMadeUp({ dir: await temporaryFolder(), rows: 4, stage, settle });
  expect(asked).toEqual(['row-0', 'row-1', 'row-2', 'row-3', 'row-0', 'row-1']);
  expect(await result).toMatchObject({ exitCode: EXIT.done, manifest: { state: 'complete', counts: { ok: 4 } } });
});

test('rows that need no model are settled without a backend', async () => {
  const fine = { status: 'ok', content: '', log: { attempts: 0, usage: {}, ms: 0, host: '' } } as const;
  const stage = {
    asks: () => false,
    solve: oneByOne(async (job: StageJob) => recordOf(job, fine)),
  };
  const openBackend = () => Promise.reject(new Error('nothing is to be asked'));
  const { asked, result } = await runMadeUp({ dir: await temporaryFolder(), rows: 150, stage, openBackend });
  expect(asked).toEqual([]);
  expect(await result).toMatchObject({ exitCode: EXIT.done, asked: 150 });
});

test('an error that stops the asking is thrown after the rows before it are saved', async () => {
  const dir = await temporaryFolder();
  const broken = new UserError('the key was refused', EXIT.authRefused);
  const answer = ({ id }: { id: string }) => {
    if (id === 'row-4') throw broken;
    return { status: 'ok', content: '', log: { attempts: 1, usage: {}, ms: 1, host: 'here' } } as const;
  };
  const first = await runMadeUp({ dir, answer });
  await expect(first.result).rejects.toBe(broken);
  const second = await runMadeUp({ dir });
  expect(second.asked).toEqual(['row-4', 'row-5']);
  expect(await second.result).toMatchObject({ exitCode: EXIT.done });
});
