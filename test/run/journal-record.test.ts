// A record's line, in which any damage is detected.

import { expect, test } from 'vitest';
import { readRecord, sealed } from '../../src/run/journal.js';

const RECORD = { id: 'a#0', row: { gen: 'an é\n\u2028', awb: { flags: [] } }, log: { attempts: 1 } };
const LINE = sealed(RECORD).subarray(0, -1);

test('a record is one line and is read back from it, with or without leading space', () => {
  expect(sealed(RECORD).toString().split('\n')).toHaveLength(2);
  expect(readRecord(LINE)).toEqual(RECORD);
  expect(readRecord(Buffer.concat([Buffer.from(' \t\r'), LINE]))).toEqual(RECORD);
});

test('a line with any bit flipped is rejected, or reads as the same record', () => {
  for (let place = 0; place < LINE.length * 8; place++) {
    const flipped = Uint8Array.from(LINE, (byte, at) => (at === place >> 3 ? byte ^ (1 << (place & 7)) : byte));
    expect([undefined, RECORD]).toContainEqual(readRecord(flipped));
  }
});

test('a line without a checksum, with other members or in another format is rejected', () => {
  expect(readRecord(Buffer.from(JSON.stringify(RECORD)))).toBeUndefined();
  expect(readRecord(sealed({ ...RECORD, id: 1 as never }).subarray(0, -1))).toBeUndefined();
});
