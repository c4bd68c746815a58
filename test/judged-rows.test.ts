import { expect, it } from 'vitest';
import { JudgedRows } from '../src/judged-rows.js';
import { measuresOf } from '../src/measures.js';
import { randomOf } from '../src/random.js';
import { aggregate, aggregateInSteps } from '../src/score/aggregate.js';
import { atOnce } from '../src/steps.js';
import type { JudgedRow } from '../src/types.js';

/** Rows of all kinds: rated, failed, measured, in a rollout, with odd keys and numbers. */
function madeUp(count: number): JudgedRow[] {
  const { uniform } = randomOf(1);
  const pick = <T>(items: readonly T[]): T => items[Math.floor(uniform() * items.length)] as T; // within its length
  return Array.from({ length: count }, (_, at) => ({
    key:
      at % 7 === 0
        ? `odd#${at}`
        : Math.floor(at / 4)
            .toString(16)
            .padStart(24, '0'),
    trajectory: Math.floor(at / 12)
      .toString(16)
      .padStart(24, 'a'),
    repeat: at % 7 === 0 ? 0 : (at >> 1) % 2,
    index: at % 7 === 0 ? 0 : at % 2,
    domain: pick(['web', 'os', 'own']),
    turnIdx: at,
    total: pick([0, 3, 3.4, 0.1 + 0.2]),
    ratings: pick([{}, { format: 4, quality: 2.5 }, { format: 0, realism: 7 }]),
    flags: pick([[], ['truncated'], ['truncated', 'untagged']] as const),
    ...pick([{ failed: 0 }, { failed: 1, failure: { class: 'empty', reason: 'none' } } as const, {}]),
    ...pick([{}, { measures: { chrf: uniform(), exact: 1 } }, { measures: { exact: 0 } }]),
    ...pick([{}, { rollout: { chain: 'c', from: 1, step: 3, distance: 2, offScript: ['x'] } }]),
  }));
}

const membersOf = ({ ...row }: JudgedRow) => row;

it('a row comes back as it was added, member by member', () => {
  const rows = madeUp(2000);
  const columns = new JudgedRows();
  for (const row of rows) columns.add(row);
  expect(columns.length).toBe(rows.length);
  const back = Array.from(columns, (row, place) =>
    Object.fromEntries(
      Object.keys(membersOf(rows[place] as JudgedRow)).map((name) => [name, row[name as keyof JudgedRow]]),
    ),
  );
  expect(back).toEqual(rows);
  expect(Array.from(columns, ({ failed, failure, measures, rollout }) => [failed, failure, measures, rollout])).toEqual(
    rows.map(({ failed, failure, measures, rollout }) => [failed, failure, measures, rollout]),
  );
});

it('rows in columns score to the last bit what the same rows in a list do', () => {
  const rows = madeUp(3000);
  const columns = new JudgedRows();
  for (const row of rows) columns.add(row);
  const chosen = new Map([['web', 2000]]);
  expect(atOnce(aggregateInSteps(columns, chosen, measuresOf()))).toEqual(aggregate(rows, chosen));
});

it("a row that is added twice is the caller's mistake", () => {
  const [row] = madeUp(1) as [JudgedRow];
  const columns = new JudgedRows();
  columns.add(row);
  expect(() => columns.add({ ...row })).toThrow('added twice');
});
