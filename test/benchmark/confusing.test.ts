// Which rows are at fault that their judge could not be read.

import { describe, expect, test } from 'vitest';
import { openConfusing } from '../../src/benchmark/judged.js';
import type { JudgedRow } from '../../src/core/types.js';

interface Given {
  readonly read: number;
  readonly unread: number;
  /** Judgements of the last unread prediction that could be read. */
  readonly rescued?: number;
  readonly measure?: string;
  readonly class?: string;
}

/** The places of the rows at fault: those that were read come first. */
function atFault({ read, unread, rescued = 0, measure, class: failure = 'unreadable' }: Given) {
  const rows = openConfusing();
  const row = (key: number, index = 0): JudgedRow => ({
    ...{
      key: `row-${key}`,
      trajectory: 't',
      repeat: 0,
      index,
      domain: 'web',
      turnIdx: 1,
      total: 0,
      ratings: {},
      flags: [],
    },
    ...(measure === undefined && { failed: 1 }),
  });
  let place = 0;
  const take = (key: number, isRead: boolean, index = 0) => {
    if (isRead) {
      const rated = measure === undefined ? { failed: 0, total: 3 } : { measures: { [measure]: 100 } };
      rows.take(place++, { ...row(key, index), ...rated }, { awb: { judge: { status: 'ok', raw_outputs: ['A'] } } });
      return;
    }
    const failed = { ...row(key, index), failure: { class: 'unreadable', reason: 'no block' } } as const;
    rows.take(place++, failed, { awb: { judge: { status: 'failed', class: failure } } });
  };
  for (let key = 0; key < read; key++) take(key, true);
  for (let key = 0; key < unread; key++) take(read + key, false);
  for (let index = 1; index <= rescued; index++) take(read + unread - 1, true, index);
  return rows.found();
}

describe('a prediction that left its judge unreadable', () => {
  test.each<[string, Given, number]>([
    ['is at fault where all of twenty others could be read', { read: 20, unread: 1 }, 1],
    ['is not where there are fewer than twenty others', { read: 19, unread: 1 }, 0],
    ['is at fault where 95 % of the others could be read', { read: 38, unread: 3 }, 3],
    ['is not where fewer could', { read: 37, unread: 3 }, 0],
    ['is not where another judgement of it could be read', { read: 40, unread: 2, rescued: 1 }, 1],
    ['is not where the judge was not asked, or not reached', { read: 40, unread: 2, class: 'judge-timeout' }, 0],
    ['is not of an agent that decides, which is no judge of it', { read: 40, unread: 1, measure: 'agreement' }, 0],
  ])('%s', (_, given, count) => {
    expect(atFault(given).size).toBe(count);
  });

  test('counts as the lowest rating, or where judges choose as the worst choice, and keeps its reason', () => {
    const [rated] = atFault({ read: 20, unread: 1 }).values();
    expect(rated).toMatchObject({ failed: 1, failure: { class: 'confusing', reason: 'no block' } });
    expect(rated).not.toHaveProperty('measures');
    const [[place, chosen] = []] = atFault({ read: 20, unread: 1, measure: 'win_rate' });
    expect(place).toBe(20);
    expect(chosen).toMatchObject({ failure: { class: 'confusing' }, measures: { win_rate: 0 } });
  });
});
