import { expect, it } from 'vitest';
import { groupedLists } from '../src/grouped-lists.js';
import { groupBy } from '../src/groups.js';
import { randomOf } from '../src/random.js';
import { atOnce } from '../src/steps.js';

it.each([1, 3, 400, 100_000])('groups of %i keys are those of groupBy, in its order', (keys) => {
  const { uniform } = randomOf(keys);
  const items = Array.from({ length: 1000 }, (_, place) => ({ place, key: `k${Math.floor(uniform() * keys)}` }));
  const groups = atOnce(groupedLists(items, 3, ({ key }) => key));
  expect(Array.from(groups, (group) => [...group])).toEqual([...groupBy(items, ({ key }) => key).values()]);
});

it('no items are in no group', () => {
  expect(atOnce(groupedLists([], 3, String)).length).toBe(0);
});
