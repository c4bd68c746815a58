// The final message of a run that a listener ended early.

import { expect, test } from 'vitest';
import type { Io } from '../../src/core/types.js';
import { printStageResult } from '../../src/run/summary.js';
import { temporaryFolder } from '../support/cli.js';
import { runMadeUp } from '../support/made-up-stage.js';

test('a run that was stopped early says why and how to continue, as text and as a document', async () => {
  const dir = await temporaryFolder();
  const { result } = await runMadeUp({ dir, listeners: [{ begins: ({ stop }) => stop('the budget is spent') }] });
  const printed: string[] = [];
  const sink = { isTTY: false, columns: 80, write: (text: string) => void printed.push(text) };
  const io: Io = {
    ...{ stdout: sink, stderr: sink, env: {}, cwd: dir, stop: new AbortController().signal },
    setLastWords() {},
    stdinClosed: () => new Promise(() => {}),
  };
  for (const json of [false, true]) {
    printStageResult(io, { json, fresh: true }, await result, { noun: 'rows', absent: 'absent', next: 'awb judge' });
  }
  const [text = '', document = ''] = printed;
  expect(text.trim().split('\n').at(-1)).toBe(
    'stopped: the budget is spent; all finished work is saved; the same command without --fresh resumes the run',
  );
  expect(JSON.parse(document)).toMatchObject({ state: 'stopped', stop_reason: 'the budget is spent', exit_code: 3 });
});
