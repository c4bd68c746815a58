// The samples of a report, in the order in which they are read.

import { expect, test } from 'vitest';
import type { JudgedRow } from '../../src/core/types.js';
import { madeWith } from '../../src/run/made-with.js';
import { aggregate } from '../../src/stats/aggregate.js';
import type { RunWithTexts } from '../../src/view/reading.js';
import { gather } from '../../src/view/report-samples.js';
import { collectTexts } from '../../src/view/texts.js';
import { ioIn } from '../support/io.js';

const TEXTS = {
  prediction: 'p',
  truth: 't',
  action: 'do',
  history: [{ action: 'ab', observation: 'cde' }],
  systemPrompt: 'four',
  strengths: [],
  weaknesses: ['weak\nat this'],
};

function row(key: string, more: Partial<JudgedRow> = {}): JudgedRow {
  const place = { trajectory: 't', repeat: 0, index: 0, domain: 'web', turnIdx: 1 };
  const ratings = { format: 3, factuality: 3, consistency: 3, realism: 3, quality: 3 };
  return { key, ...place, failed: 0, total: 3, ratings, flags: [], ...more };
}

/** A row of a mode that rates nothing. */
function measuredRow(key: string, measures: NonNullable<JudgedRow['measures']>): JudgedRow {
  const { failed: _, ...rest } = row(key, { total: 0, ratings: {}, measures });
  return rest;
}

function run(rows: readonly JudgedRow[], read: RunWithTexts['read'] = async () => TEXTS): RunWithTexts {
  const made = madeWith(undefined);
  return {
    name: 'r',
    source: '/r/judged.jsonl',
    sha256: 's',
    trust: undefined,
    rows,
    manifest: undefined,
    made,
    card: aggregate(rows),
    costs: {},
    read,
  };
}

async function gathered(own: RunWithTexts, other?: RunWithTexts, io = ioIn('/')) {
  const texts = collectTexts();
  const found = await gather(own, other, texts, io);
  return { found, rows: JSON.parse(texts.json()).rows };
}

test('come by domain, trajectory, turn, repeat and judgement, whatever the order of the file', async () => {
  const rows = [
    row('e', { domain: 'kitchen', trajectory: 'u' }),
    row('c', { turnIdx: 2, repeat: 1 }),
    row('c', { turnIdx: 2 }),
    row('d', { trajectory: 'v' }),
    row('a', { index: 1 }),
    row('a'),
  ];
  const { found, rows: held } = await gathered(run(rows));
  expect(found?.samples.map((sample) => [sample.row.key, sample.row.repeat, sample.row.index])).toEqual([
    ['a', 0, 0],
    ['a', 0, 1],
    ['c', 0, 0],
    ['c', 1, 0],
    ['d', 0, 0],
    ['e', 0, 0],
  ]);
  expect(held).toHaveLength(6);
  // The system prompt, a turn of the history, and the action.
  expect(found?.contexts.get('a#0')).toBe(4 + 5 + 2);
  expect(found?.samples[0]?.note).toBe('weak at this');
});

test('stand beside the same repeat of the other run, or else beside its first', async () => {
  const rated = (level: number) => ({ total: level, ratings: { ...row('a').ratings, format: level } });
  const other = run([row('a', rated(5)), row('a', { repeat: 1, ...rated(1) })]);
  const { found } = await gathered(run([row('a'), row('a', { repeat: 1 }), row('a', { repeat: 2 })]), other);
  expect(found?.samples.map((sample) => sample.other?.row.repeat)).toEqual([0, 1, 0]);
});

test('moved only against what is like them: a rating against a rating, a measure against the same measure', async () => {
  const measured = run([measuredRow('a', { chrf: 40, exact: 0 })]);
  const { found } = await gathered(run([row('a')]), measured);
  expect(found?.samples[0]).toMatchObject({ points: 50, other: { row: { key: 'a' } } });
  expect(found?.samples[0]?.change).toBeUndefined();
  const { found: alike } = await gathered(measured, run([measuredRow('a', { exact: 100, chrf: 30 })]));
  expect(alike?.samples[0]).toMatchObject({ points: 40, change: 10 });
});

test('moved by what their predictions moved, over all judgements of each', async () => {
  const once = run([row('a', { total: 5 })]);
  const thrice = run([row('a', { total: 5 }), row('a', { index: 1, total: 3 }), row('a', { index: 2, total: 1 })]);
  const changes = async (own: RunWithTexts, other: RunWithTexts) =>
    (await gathered(own, other)).found?.samples.map(({ change }) => change);
  expect(await changes(thrice, once)).toEqual([-50, -50, -50]);
  expect(await changes(once, thrice)).toEqual([50]);
});

test('a file that was changed meanwhile is named, and what was stopped gives nothing', async () => {
  await expect(gathered(run([row('a')], async () => undefined))).rejects.toThrow('/r/judged.jsonl was changed');
  const stopped = { ...ioIn('/'), stop: AbortSignal.abort('SIGINT') };
  expect((await gathered(run([row('a')]), undefined, stopped)).found).toBeUndefined();
});
