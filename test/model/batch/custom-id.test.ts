import { describe, expect, it } from 'vitest';
import { customId } from '../../../src/model/batch/custom-id.js';

const KEY = '0123456789abcdef01234567';
const body = '{"model":"m"}';

describe('the id of a request', () => {
  it('shows the row, the repeat, the judgement and the attempt', () => {
    expect(customId({ job: `${KEY}#0#2`, attempt: 3, body })).toMatch(new RegExp(`^${KEY}\\.0\\.2_3_[0-9a-f]{12}$`));
  });

  it('has 64 characters of a safe alphabet at most, whatever the job is called', () => {
    const jobs = [
      `${KEY}-12#999#999`,
      `${KEY}#foreign-tool-with-a-very-long-name-of-a-variant#12`,
      'ключ#0',
      '',
      'a b#0',
    ];
    for (const job of jobs) {
      expect(customId({ job, attempt: 99_999, body })).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
    }
  });

  it('is that of one job alone', () => {
    const jobs = [`${KEY}#1`, `${KEY}#1#0`, `${KEY}.1`, `${KEY}_1`, `${KEY}#10`, `${KEY}-1#0`];
    expect(new Set(jobs.map((job) => customId({ job, attempt: 0, body }))).size).toBe(jobs.length);
  });

  it('changes with the attempt, and with what is asked', () => {
    const first = customId({ job: 'a#0', attempt: 0, body });
    expect(customId({ job: 'a#0', attempt: 1, body })).not.toBe(first);
    expect(customId({ job: 'a#0', attempt: 0, body: `${body} ` })).not.toBe(first);
    expect(customId({ job: 'a#0', attempt: 0, body })).toBe(first);
  });
});
