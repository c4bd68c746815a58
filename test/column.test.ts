// A column gives back what was put, at whatever index.

import fc from 'fast-check';
import { expect, test } from 'vitest';
import { Column } from '../src/column.js';

test.each([
  ['whole numbers of 32 bits', Uint32Array, fc.integer({ min: 0, max: 2 ** 32 - 1 })],
  ['any number', Float64Array, fc.double({ noNaN: true })],
] as const)('it holds %s, and 0 where none was put', (_what, type, value) => {
  const put = fc.tuple(fc.integer({ min: 0, max: 20_000 }), value);
  fc.assert(
    fc.property(fc.array(put), fc.array(fc.integer({ min: 0, max: 20_000 })), (puts, others) => {
      const column = new Column(type);
      for (const [index, number] of puts) column.put(index, number);
      const expected = new Map(puts);
      // -0 takes no room, and is 0.
      for (const index of [...expected.keys(), ...others])
        expect(column.at(index) + 0).toBe((expected.get(index) ?? 0) + 0);
    }),
  );
});
