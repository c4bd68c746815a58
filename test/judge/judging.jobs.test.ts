// Which judgements a judging consists of, the order in which they are asked for, and their seeds.

import { describe, expect, it } from 'vitest';
import type { PredictionRef } from '../../src/benchmark/predictions.js';
import { MOST_JUDGEMENTS } from '../../src/core/judgement.js';
import { inJudgeOrder, type JudgeJob, jobsOf, judgeJob, recordedCount, seedOffsetOf } from '../../src/judge/judging.js';

function refOf(key: string, more: Partial<PredictionRef> = {}): PredictionRef {
  const place = { line: 1, offset: 0, length: 1, checksum: 0, stamp: 's' };
  return { key, id: '1', trajectory: 't', repeat: 0, domain: 'web', turnIdx: 1, ...place, ...more };
}

const idsOf = (jobs: Iterable<JudgeJob>) => Array.from(jobs, ({ id }) => id);

describe('the judgements', () => {
  it('of one prediction follow each other, and the first has the id that single judgements always had', () => {
    const jobs = jobsOf([refOf('a'), refOf('a', { repeat: 1 })], 3);
    expect(idsOf(jobs)).toEqual(['a#0', 'a#0#1', 'a#0#2', 'a#1', 'a#1#1', 'a#1#2']);
    expect(Array.from(jobs, ({ isFurther = false }) => isFurther)).toEqual([false, true, true, false, true, true]);
  });

  it('of a missing prediction are just one', () => {
    const jobs = jobsOf([refOf('a', { failure: { class: 'timeout', reason: 'r' } }), refOf('b')], 2);
    expect(idsOf(jobs)).toEqual(['a#0', 'b#0', 'b#0#1']);
  });

  it('are asked for by domain, trajectory and turn, those of one prediction one after the other', () => {
    const refs = [
      refOf('a', { turnIdx: 2 }),
      refOf('b', { domain: 'os' }),
      refOf('c'),
      refOf('d', { trajectory: 'u' }),
    ];
    expect(idsOf(inJudgeOrder(jobsOf(refs, 2)))).toEqual([
      'c#0',
      'c#0#1',
      'a#0',
      'a#0#1',
      'd#0',
      'd#0#1',
      'b#0',
      'b#0#1',
    ]);
  });

  it('in a journal are counted by their ids', () => {
    expect(recordedCount([])).toBe(0);
    expect(recordedCount(['a-2#0', 'a#7'])).toBe(1);
    expect(recordedCount(['a#0#2', 'a#0'])).toBe(3);
    expect(recordedCount(['a#0#99999999999'])).toBe(MOST_JUDGEMENTS);
  });
});

describe('seeds', () => {
  const jobOf = (repeat: number, index: number) => judgeJob(refOf('a', { repeat }), index);

  it('of the first judgement depend only on repeat and try', () => {
    expect(seedOffsetOf(jobOf(0, 0), 0, 0, 3)).toBe(0);
    expect(seedOffsetOf(jobOf(2, 0), 0, 1, 3)).toBe(7);
  });

  it('are unique per try, part, judgement and repeat', () => {
    const given = new Set<number>();
    let count = 0;
    for (const repeat of [0, 1, 2, 998, 999]) {
      for (const index of [0, 1, 2, 999]) {
        for (const part of [0, 1, 15]) {
          for (const tried of [0, 1, 2]) {
            given.add(seedOffsetOf(jobOf(repeat, index), part, tried, 3));
            count++;
          }
        }
      }
    }
    expect(given.size).toBe(count);
    expect(Math.max(...given)).toBeLessThan(2 ** 31);
  });
});
