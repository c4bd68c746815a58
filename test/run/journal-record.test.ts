// A record's line, of which no damage goes unseen.

import { expect, test } from 'vitest';
import { readRecord, sealed } from '../../src/run/journal.js';

const RECORD = { id: 'a#0', row: { gen: 'an é\n\u2028', awb: { flags: [] } }, log: { attempts: 1 } };
const LINE = sealed(RECORD).subarray(0, -1);

test('a record is one line, and read from it again, be there space before it or not', () => {
  expect(sealed(RECORD).toString().split('\n')).toHaveLength(2);
  expect(readRecord(LINE)).toEqual(RECORD);
  expect(readRecord(Buffer.concat([Buffer.from(' \t\r'), LINE]))).toEqual(RECORD);
});

test('a line in which any bit has flipped is no record, or one that says the same', () => {
  for (let place = 0; place < LINE.length * 8; place++) {
    const flipped = Uint8Array.from(LINE, (byte, at) => (at === place >> 3 ? byte ^ (1 << (place & 7)) : byte));
    expect([undefined, RECORD]).toContainEqual(readRecord(flipped));
  }
});

test('a line without a checksum, of other members or of another form is no record', () => {
  expect(readRecord(Buffer.from(JSON.stringify(RECORD)))).toBeUndefined();
  expect(readRecord(sealed({ ...RECORD, id: 1 as never }).subarray(0, -1))).toBeUndefined();
});
