// What a server says of its batches and files: known fields are read, whatever else stands there is passed over.

import { expect, test } from 'vitest';
import { readServedBatch, readServedFile } from '../../../src/model/batch/api.js';

const keep = (text: string) => text;
const BATCH = { id: 'batch_1', object: 'batch', status: 'in_progress' };

test('a batch needs an id and a state, and nothing else', () => {
  expect(readServedBatch(BATCH, keep)).toEqual({
    id: 'batch_1',
    status: 'in_progress',
    isEnded: false,
    problems: [],
    metadata: {},
  });
  for (const value of [null, [], 'batch', {}, { id: 'batch_1' }, { ...BATCH, id: 7 }, { ...BATCH, status: null }]) {
    expect(readServedBatch(value, keep)).toBeUndefined();
  }
});

test('fields of another type than they have are passed over', () => {
  const odd = {
    ...BATCH,
    created_at: 'yesterday',
    expires_at: -1,
    input_file_id: 7,
    output_file_id: '',
    request_counts: { total: 3, completed: 'two', failed: 0 },
    errors: 'none',
    metadata: ['x'],
  };
  expect(readServedBatch(odd, keep)).toEqual({ ...readServedBatch(BATCH, keep) });
});

test.each(['completed', 'failed', 'expired', 'cancelled'])('%s is an end', (status) => {
  expect(readServedBatch({ ...BATCH, status }, keep)?.isEnded).toBe(true);
});

test.each([
  ['validating', {}, false],
  ['cancelling', { cancelling_at: 5 }, false],
  ['succeeded', {}, false],
  ['succeeded', { completed_at: 5 }, true],
  ['succeeded', { completed_at: null, failed_at: 0 }, false],
])('%s with %j: the end is %s', (status, more, isEnded) => {
  expect(readServedBatch({ ...BATCH, status, ...more }, keep)?.isEnded).toBe(isEnded);
});

test('an id that no address can carry is none', () => {
  for (const id of ['', 'a b', 'a\n', 'ü', 'x'.repeat(3000)]) expect(readServedFile({ id })).toBeUndefined();
  expect(readServedFile({ id: 'file-1/../../x?y#z', bytes: -1, filename: 3 })).toEqual({ id: 'file-1/../../x?y#z' });
});

test('what a server says of errors is made harmless, cut, and has no secret in it', () => {
  const data = [{ code: 'bad\u001b[2J', message: `key sk-secret ${'x'.repeat(1000)}`, line: 3, param: {} }, 'no error'];
  const read = readServedBatch({ ...BATCH, errors: { data } }, (text) => text.replaceAll('sk-secret', '[redacted]'));
  expect(read?.problems[0]).toMatchObject({ code: 'bad', line: 3 });
  expect(read?.problems[0]?.message).toMatch(/^key \[redacted\] x+…$/);
  expect(read?.problems[0]?.message.length).toBeLessThanOrEqual(300);
  expect(read?.problems[1]).toEqual({ code: '', message: '' });
  const many = { data: Array.from({ length: 10_000 }, () => ({ code: 'x', message: 'y' })) };
  expect(readServedBatch({ ...BATCH, errors: many }, keep)?.problems.length).toBeLessThanOrEqual(20);
});
