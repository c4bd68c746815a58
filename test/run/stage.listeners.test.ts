// Listeners of a stage: what they hear, how one can end a run, and what happens if one fails.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXIT, type ExitCode, UserError } from '../../src/core/errors.js';
import type { Beginning, StageListener } from '../../src/run/stage-contract.js';
import { temporaryFolder } from '../support/cli.js';
import { fine, type MadeUp, runMadeUp } from '../support/made-up-stage.js';

/** Records everything that it hears. */
function scribe(): StageListener & { readonly heard: string[] } {
  const heard: string[] = [];
  return {
    heard,
    begins: ({ kind, totals, already }) =>
      void heard.push(`begins ${kind} ${JSON.stringify([...totals])} ${JSON.stringify([...already])}`),
    answered: ({ id }, { usage }) => void heard.push(`answered ${id} ${usage.completionTokens}`),
    settled: ({ id }, { status, usage }) => void heard.push(`settled ${id} ${status} ${usage.completionTokens}`),
    notice: (text) => void heard.push(`notice ${text}`),
    ends: () => void heard.push('ends'),
  };
}

/** Stops the run once `rows` rows are settled. */
function stopper(rows: number): StageListener {
  let settled = 0;
  let stop: Beginning['stop'] = () => {};
  return {
    begins(beginning) {
      stop = beginning.stop;
    },
    settled() {
      if (++settled === rows) stop('the budget of two rows is spent');
    },
  };
}

async function output(dir: string): Promise<string[]> {
  return (await readFile(join(dir, 'predictions.jsonl'), 'utf8')).trim().split('\n');
}

test('every listener hears the start, each row with its cost, and the end, in the same order', async () => {
  const dir = await temporaryFolder();
  const [one, two] = [scribe(), scribe()];
  await (await runMadeUp({ dir, rows: 3, listeners: [one, two] })).result;
  expect(one.heard).toEqual([
    'begins infer [["mcp",2],["terminal",1]] []',
    ...['row-0', 'row-1', 'row-2'].flatMap((id) => [`answered ${id} 10`, `settled ${id} ok 10`]),
    'ends',
  ]);
  expect(two.heard).toEqual(one.heard);
});

test('a reply whose row is asked again is reported with its cost, like any other', async () => {
  const listener = scribe();
  let asked = 0;
  const settle: MadeUp['settle'] = async ({ id }) => (asked++ === 0 ? 'again' : { id, row: { status: 'ok' }, log: {} });
  await (await runMadeUp({ dir: await temporaryFolder(), rows: 1, listeners: [listener], settle })).result;
  expect(listener.heard.slice(1, -1)).toEqual(['answered row-0 10', 'answered row-0 10', 'settled row-0 ok 20']);
});

test('the first listener to stop a run decides the exit code and the reason', async () => {
  const stopping = (code: ExitCode): StageListener => ({ begins: ({ stop }) => stop(`code ${code}`, code) });
  const listeners = [stopping(EXIT.later), stopping(EXIT.unavailable)];
  const { exitCode, stopReason } = await (await runMadeUp({ dir: await temporaryFolder(), listeners })).result;
  expect([exitCode, stopReason]).toEqual([75, 'code 75']);
});

test('the start reports what is already done, and a run with nothing left to ask reports nothing', async () => {
  const dir = await temporaryFolder();
  await (await runMadeUp({ dir, rows: 3, listeners: [stopper(2)] })).result;
  const listener = scribe();
  await (await runMadeUp({ dir, rows: 3, listeners: [listener] })).result;
  expect(listener.heard[0]).toBe('begins infer [["mcp",2],["terminal",1]] [["mcp",1],["terminal",1]]');
  const silent = scribe();
  await (await runMadeUp({ dir, rows: 3, listeners: [silent] })).result;
  expect(silent.heard).toEqual([]);
});

test('the start reports what earlier sessions spent, including rows that were asked again since', async () => {
  const dir = await temporaryFolder();
  const told: number[] = [];
  const ledger: StageListener = { begins: ({ ledger: { tokens } }) => void told.push(tokens) };
  const log = { attempts: 1, usage: { promptTokens: 5 }, ms: 1, host: 'here' };
  const failing = () => ({ status: 'failed', class: 'timeout', reason: 'too slow', log }) as const;
  await (await runMadeUp({ dir, rows: 2, answer: failing, listeners: [ledger] })).result;
  await (await runMadeUp({ dir, rows: 2, listeners: [stopper(1), ledger] })).result;
  await (await runMadeUp({ dir, rows: 2, listeners: [ledger] })).result;
  expect(told).toEqual([0, 10, 20]);
});

test("the backend's status is available once it is open", async () => {
  const statuses: unknown[] = [];
  let status: Beginning['status'] = () => undefined;
  const listener: StageListener = {
    begins(beginning) {
      status = beginning.status;
      statuses.push(status());
    },
    settled: () => void statuses.push(status()?.limit),
  };
  await (await runMadeUp({ dir: await temporaryFolder(), rows: 1, slots: 4, listeners: [listener] })).result;
  expect(statuses).toEqual([undefined, 4]);
});

describe('a listener that stops the run', () => {
  test('starts no more rows and keeps all finished ones, and the same command continues with the others', async () => {
    const dir = await temporaryFolder();
    const [before, after] = [scribe(), scribe()];
    const first = await runMadeUp({ dir, listeners: [before, stopper(2), after] });
    expect(await first.result).toMatchObject({
      exitCode: EXIT.incomplete,
      asked: 2,
      stopReason: 'the budget of two rows is spent',
      manifest: { state: 'stopped', counts: { ok: 2, notDone: 4 }, notices: [] },
    });
    expect(first.asked).toEqual(['row-0', 'row-1']);
    expect(await output(dir)).toHaveLength(2);
    expect(before.heard.slice(-3)).toEqual([
      'settled row-1 ok 10',
      'notice stopping: the budget of two rows is spent; calls in flight will finish first',
      'ends',
    ]);
    expect(after.heard).toEqual(before.heard);

    const second = await runMadeUp({ dir });
    expect(await second.result).toMatchObject({ exitCode: EXIT.done, asked: 4, manifest: { state: 'complete' } });
    expect(second.asked).toEqual(['row-2', 'row-3', 'row-4', 'row-5']);
    expect(await output(dir)).toHaveLength(6);
  });

  test('lets calls in flight finish, and keeps their rows', async () => {
    const dir = await temporaryFolder();
    let letGo = () => {};
    const slow = new Promise<void>((resolve) => {
      letGo = resolve;
    });
    const answer = async ({ id }: { id: string }) => {
      if (id === 'row-0') await slow;
      return fine();
    };
    const opener: StageListener = { notice: letGo };
    const { asked, result } = await runMadeUp({ dir, slots: 2, answer, listeners: [stopper(2), opener] });
    expect((await result).manifest.counts).toMatchObject({ ok: 3, notDone: 3 });
    expect(asked).toEqual(['row-0', 'row-1', 'row-2']);
  });

  test('before the first row asks nothing', async () => {
    const listener: StageListener = { begins: ({ stop }) => stop('no money') };
    const { asked, result } = await runMadeUp({ dir: await temporaryFolder(), listeners: [listener] });
    expect(await result).toMatchObject({ exitCode: EXIT.incomplete, asked: 0, manifest: { state: 'stopped' } });
    expect(asked).toEqual([]);
  });

  test('at the last row leaves the run complete', async () => {
    const { result } = await runMadeUp({ dir: await temporaryFolder(), listeners: [stopper(6)] });
    expect(await result).toMatchObject({ exitCode: EXIT.done, manifest: { state: 'complete' } });
  });

  test('yields to the user who interrupts the run', async () => {
    const interrupt = new AbortController();
    const user: StageListener = { notice: () => interrupt.abort('SIGINT') };
    const options = { dir: await temporaryFolder(), listeners: [stopper(2), user], stop: interrupt.signal };
    const { result } = await runMadeUp(options);
    expect(await result).toMatchObject({ exitCode: EXIT.interrupted, manifest: { state: 'interrupted' } });
  });
});

describe('a listener that throws', () => {
  const broken = new UserError('cannot write events.jsonl: the disk is full', EXIT.cannotWrite);
  const fail = () => {
    throw broken;
  };

  test.each<[string, StageListener, number]>([
    ['at the beginning', { begins: fail }, 0],
    ['at a row', { settled: fail }, 1],
    ['at the end', { ends: fail }, 6],
  ])('%s ends the run with its error, and no finished row is lost', async (_, listener, kept) => {
    const dir = await temporaryFolder();
    const [before, after] = [scribe(), scribe()];
    const first = await runMadeUp({ dir, listeners: [before, listener, after] });
    await expect(first.result).rejects.toBe(broken);
    expect(first.asked).toHaveLength(kept);
    expect(after.heard).toEqual(before.heard);
    expect(after.heard.at(-1)).toBe('ends');
    const manifest = JSON.parse(await readFile(join(dir, 'predictions.manifest.json'), 'utf8'));
    expect(manifest).toMatchObject({ state: 'stopped', counts: { ok: kept, notDone: 6 - kept } });

    const second = await runMadeUp({ dir });
    expect(await second.result).toMatchObject({ exitCode: EXIT.done, asked: 6 - kept });
    expect(await output(dir)).toHaveLength(6);
  });
});
