import { describe, expect, it } from 'vitest';
import { jobIn, jobName, requestId } from '../../../src/model/batch/folder.js';

const KEY = '0123456789abcdef01234567';
const BODY = '{"model":"m"}';

describe('the id of a request', () => {
  it('shows the row, the repeat, the judgement and the attempt', () => {
    expect(requestId(`${KEY}#0#2`, 3, BODY)).toMatch(new RegExp(`^${KEY}\\.0\\.2_3_[0-9a-f]{10}$`));
  });

  const jobs = [
    `${KEY}-12#999#999`,
    `${KEY}#foreign-tool-with-a-very-long-name-of-a-variant#12`,
    'ключ#0',
    '',
    'a b#0',
    'a#0',
  ];

  it('has at most 64 characters of a safe alphabet, whatever the job’s name, and identifies its job', () => {
    for (const job of jobs) {
      const id = requestId(job, 9_999, BODY);
      expect(id).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
      expect(jobIn(id)).toBe(jobName(job));
    }
  });

  it('belongs to only one job', () => {
    const similar = [`${KEY}#1`, `${KEY}#1#0`, `${KEY}.1`, `${KEY}_1`, `${KEY}#10`, `${KEY}-1#0`];
    expect(new Set(similar.map((job) => requestId(job, 0, BODY))).size).toBe(similar.length);
  });

  it('changes with the attempt, and with what is asked', () => {
    const first = requestId('a#0', 0, BODY);
    expect(requestId('a#0', 1, BODY)).not.toBe(first);
    expect(requestId('a#0', 0, `${BODY} `)).not.toBe(first);
    expect(requestId('a#0', 0, BODY)).toBe(first);
  });
});
