// What a copy of the benchmark is told to differ in.

import { describe, expect, test } from 'vitest';
import { checkRows } from '../../src/benchmark/survey.js';
import { RELEASED } from '../../src/core/domains.js';
import { DOMAINS } from '../../src/core/types.js';
import { surveyOf } from '../support/surveys.js';

const RELEASE = { rows: { mcp: 2, web: 1 }, contextTokens: 1_000 };
const place = (line: number) => ({ file: 'a_test.jsonl', line });

describe('a copy of the benchmark', () => {
  test('is counted by domain next to the release, including domains that either lacks', () => {
    const { domains, rows, released, trajectories } = checkRows(
      surveyOf([{ trajectory: 4 }, { trajectory: 4 }, { trajectory: 5, domain: 'gui' }]),
      RELEASE,
    );
    expect({ rows, released, trajectories }).toEqual({ rows: 3, released: 3, trajectories: 2 });
    expect(Object.entries(domains).map(([name, own]) => [name, own.rows, own.released, own.trajectories])).toEqual([
      ['mcp', 2, 2, 1],
      ['web', 0, 1, 0],
      ['gui', 1, null, 1],
    ]);
  });

  test('of the size of the release has 2,170 rows', () => {
    const rows = DOMAINS.flatMap((domain) => Array.from({ length: RELEASED.rows[domain] }, () => ({ domain })));
    const { released, domains } = checkRows(surveyOf(rows), RELEASED);
    expect([rows.length, released]).toEqual([2_170, 2_170]);
    expect(Object.values(domains).every((own) => own.rows === own.released)).toBe(true);
  });

  test('has its equal rows named', () => {
    const { equal_rows: equal } = checkRows(surveyOf([{}, { equals: place(1) }, {}]), RELEASE);
    expect(equal).toEqual([{ ...place(2), equals: place(1) }]);
  });

  test('has its longest contexts listed, and all that are beyond the context of the model', () => {
    const sizes = [10, 1_000, 5_000, 20, 1_001, 30];
    const {
      longest,
      beyond_context: beyond,
      domains,
    } = checkRows(surveyOf(sizes.map((contextTokens) => ({ contextTokens }))), RELEASE);
    expect(longest.map((row) => [row.line, row.context_tokens])).toEqual([
      [3, 5_000],
      [5, 1_001],
      [2, 1_000],
      [6, 30],
      [4, 20],
    ]);
    expect(beyond.map(({ line }) => line)).toEqual([3, 5]);
    expect(domains.mcp).toMatchObject({ context_tokens: { median: 515, max: 5_000 } });
  });
});
