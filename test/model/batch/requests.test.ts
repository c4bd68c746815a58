import { describe, expect, it } from 'vitest';
import { customId, readCustomId, requestName } from '../../../src/model/batch/requests.js';

const KEY = '0123456789abcdef01234567';
const content = '{"model":"m"}';

describe('the id of a request', () => {
  it('shows the row, the repeat, the judgement and the attempt, and the characters in base 36', () => {
    const id = customId(requestName({ job: `${KEY}#0#2`, attempt: 3, content }), 20_000);
    expect(id).toMatch(new RegExp(`^${KEY}\\.0\\.2_3_[0-9a-f]{10}\\.ffk$`));
  });

  const jobs = [
    `${KEY}-12#999#999`,
    `${KEY}#foreign-tool-with-a-very-long-name-of-a-variant#12`,
    'ключ#0',
    '',
    'a b#0',
    'a#0',
  ];

  it('has 64 characters of a safe alphabet at most, whatever the job is called', () => {
    for (const job of jobs) {
      expect(customId(requestName({ job, attempt: 9_999, content }), 2 ** 30)).toMatch(/^[A-Za-z0-9_.-]{1,64}$/);
    }
  });

  it('is read into its name and the characters again', () => {
    for (const job of jobs) {
      const name = requestName({ job, attempt: 1, content });
      expect(readCustomId(customId(name, 123_456))).toEqual({ name, chars: 123_456 });
    }
    expect(readCustomId('made elsewhere')).toEqual({ name: 'made elsewhere', chars: 0 });
    expect(readCustomId('a_b.?')).toEqual({ name: 'a_b', chars: 0 });
  });

  it('is that of one job alone', () => {
    const similar = [`${KEY}#1`, `${KEY}#1#0`, `${KEY}.1`, `${KEY}_1`, `${KEY}#10`, `${KEY}-1#0`];
    expect(new Set(similar.map((job) => requestName({ job, attempt: 0, content }))).size).toBe(similar.length);
  });

  it('changes with the attempt, and with what is asked', () => {
    const first = requestName({ job: 'a#0', attempt: 0, content });
    expect(requestName({ job: 'a#0', attempt: 1, content })).not.toBe(first);
    expect(requestName({ job: 'a#0', attempt: 0, content: `${content} ` })).not.toBe(first);
    expect(requestName({ job: 'a#0', attempt: 0, content })).toBe(first);
  });
});
