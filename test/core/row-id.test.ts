// The id of a record, made and parsed.

import { expect, test } from 'vitest';
import { parseRowId, rowId } from '../../src/core/row-id.js';

test('an id names key and repeat, and the judgement from the second on', () => {
  expect(rowId('k', 2)).toBe('k#2');
  expect(rowId('k', 2, 0)).toBe('k#2');
  expect(rowId('k', 2, 1)).toBe('k#2#1');
});

test.each([
  ['k', 0, 0],
  ['a-2', 7, 0],
  ['a-2', 7, 3],
  ['not#ours', 0, 2],
])('the id of %s, repeat %d, judgement %d names them again', (key, repeat, index) => {
  expect(parseRowId(rowId(key, repeat, index))).toEqual({ key, repeat, index });
});

test.each(['', 'k', 'k#', 'k#x', 'k#1#', 'k#-1'])('%j is not an id', (id) => {
  expect(parseRowId(id)).toBeUndefined();
});
