// What is stored about a run in a SQLite file.

import { describe, expect, test } from 'vitest';
import { isGiven, keptLabel, recordOf } from '../../src/results/stored-runs.js';
import { madeWith } from '../../src/run/made-with.js';

test('a file without a manifest is identified by its bytes, and named by the user', () => {
  const run = { source: '/x', sha256: 'abc', manifest: undefined, made: madeWith(undefined) };
  expect(recordOf(run, 'mine')).toMatchObject({ identity: 'file abc', label: 'mine', kind: 'rubric' });
});

describe('the label of a run that is scored again', () => {
  const manifest = (label: string) =>
    JSON.stringify({ schema: 'awb.manifest/1', identity: {}, label: 'of the judging', predictions: { label } });

  test.each<[string, string | undefined, string | undefined, string | undefined]>([
    ['is its own, whatever that is by now', 'step-1', manifest('step-1'), 'now'],
    ['is the one that it was given', 'mine', manifest('step-1'), 'mine'],
    ['is the one that it was given, if there is no manifest', 'mine', undefined, 'mine'],
    ['is its own, if it had none', undefined, manifest('step-1'), 'now'],
    ['is kept if a damaged manifest cannot say whose it was', 'mine', '{"schema":1}', 'mine'],
    ['is kept if the manifest is not JSON', 'mine', '{', 'mine'],
  ])('%s', (_, label, stored, expected) => {
    expect(keptLabel({ label, manifest: stored }, 'now')).toBe(expected);
    expect(isGiven({ label, manifest: stored })).toBe(expected === 'mine');
  });
});
