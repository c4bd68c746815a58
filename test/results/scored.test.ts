// What a SQLite file is to hold of a run.

import { describe, expect, test } from 'vitest';
import { isGiven, keptLabel, recordOf } from '../../src/results/stored-runs.js';
import { madeWith } from '../../src/run/made-with.js';

test('a file without a manifest is known by its bytes, and called as the user says', () => {
  const run = { source: '/x', sha256: 'abc', manifest: undefined, made: madeWith(undefined) };
  expect(recordOf(run, 'mine')).toMatchObject({ identity: 'file abc', label: 'mine', kind: 'rubric' });
});

describe('the label of a run that is scored again', () => {
  const manifest = (label: string) =>
    JSON.stringify({ schema: 'awb.manifest/1', identity: {}, label: 'of the judging', predictions: { label } });

  test.each<[string, string | undefined, string | undefined, string | undefined]>([
    ['is its own, whatever that is by now', 'step-1', manifest('step-1'), 'now'],
    ['is the one that it was given', 'mine', manifest('step-1'), 'mine'],
    ['is the one that it was given, where there is no manifest', 'mine', undefined, 'mine'],
    ['is its own, where it had none', undefined, manifest('step-1'), 'now'],
    ['is kept where a damaged manifest cannot tell whose it was', 'mine', '{"schema":1}', 'mine'],
    ['is kept where the manifest is no JSON', 'mine', '{', 'mine'],
  ])('%s', (_, label, stored, expected) => {
    expect(keptLabel({ label, manifest: stored }, 'now')).toBe(expected);
    expect(isGiven({ label, manifest: stored })).toBe(expected === 'mine');
  });
});
