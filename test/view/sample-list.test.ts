// The list of a run's samples: reading order, scores, figures and excerpts; and a run's leading figure.

import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import type { JudgedRow } from '../../src/core/types.js';
import { measureOf } from '../../src/judge/modes.js';
import { readRun } from '../../src/results/find.js';
import type { ReadRun } from '../../src/results/read-run.js';
import { madeWith } from '../../src/run/made-with.js';
import { aggregate } from '../../src/stats/aggregate.js';
import { leadingOf } from '../../src/view/listed-run.js';
import { inReadingOrder, sampleList } from '../../src/view/sample-list.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { ioIn } from '../support/io.js';
import { keyOf, sampleRun } from '../support/sample-runs.js';

function row(key: string, more: Partial<JudgedRow> = {}): JudgedRow {
  const ratings = { format: 5, factuality: 1, consistency: 3, realism: 10 / 3, quality: 3 };
  const place = { trajectory: 't', repeat: 0, index: 0, domain: 'web', turnIdx: 1 };
  return { key, ...place, failed: 0, total: 3, ratings, flags: [], ...more };
}

function runOf(rows: readonly JudgedRow[]): ReadRun {
  const card = aggregate(rows, undefined, measureOf);
  const known = { name: 'r', source: '/r/judged.jsonl', sha256: 'abc', trust: undefined, manifest: undefined };
  return { ...known, rows, made: madeWith(undefined), card, costs: {} };
}

/** A row of a mode that rates nothing. */
function measured(key: string, measures: NonNullable<JudgedRow['measures']>): JudgedRow {
  const { failed: _, ...rest } = row(key, { total: 0, ratings: {}, measures });
  return rest;
}

describe('the list', () => {
  it('comes by domain, trajectory, turn, repeat and judgement, whatever the order of the file', () => {
    const run = runOf([
      row('e', { domain: 'kitchen', trajectory: 'u' }),
      row('c', { turnIdx: 2, repeat: 1 }),
      row('c', { turnIdx: 2 }),
      row('d', { trajectory: 'v' }),
      row('a', { index: 1 }),
      row('a'),
    ]);
    const { samples, trajectories, domains } = sampleList(run);
    expect(samples.map(({ k, r, j, d, g, t }) => [k, r, j, d, g, t])).toEqual([
      ['a', undefined, undefined, 0, 0, 1],
      ['a', undefined, 1, 0, 0, 1],
      ['c', undefined, undefined, 0, 0, 2],
      ['c', 1, undefined, 0, 0, 2],
      ['d', undefined, undefined, 0, 1, 1],
      ['e', undefined, undefined, 1, 2, 1],
    ]);
    expect(inReadingOrder(run).map(({ key }) => key)).toEqual(samples.map(({ k }) => k));
    expect(trajectories).toEqual(['t', 'v', 'u']);
    expect(domains).toEqual([
      { domain: 'web', name: 'Web' },
      { domain: 'kitchen', name: 'kitchen' },
    ]);
  });

  it("scores rated samples, and the model's failures at rating 1; other failures have no score", () => {
    const failed = (name: 'refused' | 'judge-timeout') => ({
      ...{ failed: 1, total: 0, ratings: {} },
      failure: { class: name, reason: `${name}\nof the \u001b[31mrow` },
    });
    const rows = [row('a', { flags: ['truncated'] }), row('b', failed('refused')), row('c', failed('judge-timeout'))];
    const { samples, figures } = sampleList(runOf(rows));
    expect(figures.map(([name]) => name)).toEqual(['Format', 'Factuality', 'Consistency', 'Realism', 'Quality']);
    expect(samples[0]).toMatchObject({ v: 50, f: [5, 1, 3, 3.33, 3], l: ['truncated'] });
    expect(samples[1]).toMatchObject({ v: 0, x: 'refused', y: 'refused of the row' });
    expect(samples[2]?.v).toBeUndefined();
    expect([samples[0]?.x, samples[1]?.f, samples[1]?.l, samples[1]?.s]).toEqual(Array(4).fill(undefined));
  });

  it('has the contents of excerpts: the weakness of rated samples, and the facts', () => {
    const place = { offset: 0, length: 1, checksum: 1 };
    const excerpts = new Map([
      ['a#0', { ...place, note: 'wrong user', unmet: ['root'], determined: 3 }],
      ['b#0', { ...place, note: 'nothing came' }],
    ]);
    const failure = { class: 'empty', reason: 'nothing came' } as const;
    const run = runOf([row('a'), row('b', { failed: 1, failure, rollout: rolloutAt(2) })]);
    const { samples } = sampleList({ ...run, excerpts });
    expect(samples[0]).toMatchObject({ n: 'wrong user', u: ['root'], o: 3 });
    expect(samples[1]).toMatchObject({ y: 'nothing came', n: undefined, s: 2 });
  });

  it('with only measures shows these, and scores by the leading one', () => {
    const list = sampleList(runOf([measured('a', { chrf: 40, exact: 0 }), measured('b', { chrf: 60 })]));
    expect(list.figures).toEqual([
      ['chrf', 100],
      ['exact', 100],
    ]);
    expect(list.samples.map(({ v, f }) => [v, f])).toEqual([
      [40, [40, 0]],
      [60, [60, null]],
    ]);
  });
});

function rolloutAt(distance: number) {
  return { chain: 't', from: 0, step: distance, distance, offScript: [] };
}

describe('a run leads with', () => {
  it.each([
    ['the mean over its domains', [row('a')], { name: 'macro of 1', decimals: 1, from: 0, to: 100, better: 'larger' }],
    [
      'a measure for which less is better',
      [measured('a', { nats_per_token: 2, bits_per_byte: 1 })],
      { name: 'bits_per_byte', decimals: 2, from: 0, to: null, better: 'smaller' },
    ],
  ])('%s', (_, rows, lead) => {
    expect(leadingOf(runOf(rows).card).lead).toEqual(lead);
  });
});

it('a stored run and its judged file give the same list, under a name that stays', async () => {
  const dir = await temporaryFolder();
  const rows = [
    { rated: { factuality: 2 }, weaknesses: ['wrong'] },
    { turn: 2, rated: 'empty' },
  ];
  const file = await sampleRun(dir, rows);
  const db = join(dir, 'awb.sqlite');
  expect((await awb(['score', file, '--db', db, '--label', 'one'])).code).toBe(0);
  const naming = { db: [db], quiet: true };
  const [stored, read] = [await readRun('1', naming, ioIn(dir)), await readRun(file, naming, ioIn(dir))];
  const lists = [stored, read].map((run) => sampleList(run));
  expect(lists[0]?.samples).toEqual(lists[1]?.samples);
  expect(lists[0]?.samples.map(({ k, n, y }) => [k, n, y])).toEqual([
    [keyOf({}), 'wrong', undefined],
    [keyOf({ turn: 2 }), undefined, 'empty: nothing came'],
  ]);
  expect(lists[0]?.ref).toMatch(/^[0-9a-f]{12}$/);
  await awb(['runs', 'rename', '1', 'two', '--db', db]);
  const renamed = await readRun('two', naming, ioIn(dir));
  expect(sampleList(renamed).ref).toBe(lists[0]?.ref);
});
