// What a run has come to, counted from its rows.

import { expect, test } from 'vitest';
import { temporaryFolder } from '../support/cli.js';
import { fine, runMadeUp } from '../support/made-up-stage.js';

const log = { attempts: 1, usage: { promptTokens: 5 }, ms: 1, host: 'here' };

test('rows are counted by what became of each, and those that cannot be asked among the chosen', async () => {
  const answer = ({ id }: { id: string }) =>
    id === 'row-1' ? ({ status: 'failed', class: 'timeout', reason: 'too slow', log } as const) : fine();
  const { result } = await runMadeUp({ dir: await temporaryFolder(), rows: 3, answer, stage: { absent: { web: 2 } } });
  const { manifest, reasons } = await result;
  expect(manifest.chosen).toEqual({ mcp: 2, terminal: 1, web: 2 });
  expect(manifest.counts).toEqual({
    ...{ chosen: 5, ok: 2, failed: 1, notDone: 0, absent: 2 },
    failures: { timeout: 1 },
    flags: {},
  });
  expect(manifest.tokens).toEqual({ promptTokens: 5, completionTokens: 20 });
  expect(reasons).toEqual({ timeout: 'too slow' });
});

test('a row that is judged again is chosen once, and each of its judgements is counted', async () => {
  const jobs = ['a#0', 'a#0#1', 'b#0', 'b#0#1'].map((id) => ({
    ...{ id, group: 'one', domain: 'mcp' },
    ...(id.endsWith('#1') ? { isFurther: true as const } : {}),
  }));
  const { result } = await runMadeUp({ dir: await temporaryFolder(), stage: { rows: jobs, order: jobs } });
  expect((await result).manifest).toMatchObject({ chosen: { mcp: 2 }, counts: { chosen: 4, ok: 4 } });
});
