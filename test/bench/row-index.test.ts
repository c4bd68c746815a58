import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { ColumnsBuilder } from '../../src/bench/row-columns.js';
import { RowIndex } from '../../src/bench/row-index.js';
import { keyOf, rowIndexOf } from '../support/row-index.js';

type Row = Parameters<typeof rowIndexOf>[0][number];

/** Rows of few keys, trajectories and domains, so that many are equal; ids are any text. */
const rows: fc.Arbitrary<Row[]> = fc.array(
  fc.record({
    key: fc.nat(9).map((key) => keyOf(`key ${key}`)),
    trajectory: fc.nat(5).map((trajectory) => keyOf(`trajectory ${trajectory}`)),
    domain: fc.constantFrom('mcp', 'web', '天気'),
    id: fc.string({ unit: 'binary' }),
    turnIdx: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
    line: fc.integer({ min: 1, max: 2 ** 32 - 1 }),
    offset: fc.maxSafeNat(),
    length: fc.integer({ min: 1, max: 2 ** 27 }),
  }),
  { maxLength: 60 },
);

/** What an index of these rows holds, by the book: the Nth further row of a key has `-N` behind it. */
function byTheBook(given: readonly Row[]) {
  return given.map((row, position) => {
    const before = given.slice(0, position).filter((earlier) => earlier.key === row.key).length;
    return { ...row, key: before === 0 ? row.key : `${row.key}-${before}`, position, file: 0 };
  });
}

describe('an index', () => {
  test('gives every row back as it was added, equal ones with ordinals', () => {
    fc.assert(
      fc.property(rows, (given) => {
        expect([...rowIndexOf(given)]).toEqual(byTheBook(given));
      }),
    );
  });

  test('finds every row by its key, and no other', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const index = rowIndexOf(given);
        for (const { key, position } of byTheBook(given)) expect(index.find(key)).toBe(position);
        for (const key of ['', 'x', keyOf('another'), `${keyOf('key 0')}-99`]) expect(index.find(key)).toBeUndefined();
      }),
    );
  });

  test('of pieces is that of the whole', () => {
    fc.assert(
      fc.property(rows, fc.array(fc.nat(60), { maxLength: 5 }), (given, cuts) => {
        const columns = new ColumnsBuilder();
        const ends = [...cuts, given.length].sort((a, b) => a - b);
        let start = 0;
        for (const end of ends) {
          const piece = new ColumnsBuilder();
          // A piece counts its lines from its own start.
          for (const row of given.slice(start, end))
            piece.add({ ...row, line: row.line - 1, id: JSON.stringify(row.id), checksum: 0 });
          columns.addPiece(piece.columns(), 1);
          start = Math.max(start, end);
        }
        columns.endFile();
        expect([...new RowIndex(columns.columns())]).toEqual(byTheBook(given));
      }),
    );
  });

  test('knows the file of a row, also beside files without rows', () => {
    const columns = new ColumnsBuilder();
    const [row] = fc.sample(
      rows.filter((some) => some.length > 0),
      1,
    )[0] as [Row];
    for (const count of [0, 2, 0, 1]) {
      for (let added = 0; added < count; added++) columns.add({ ...row, id: '1', checksum: 0 });
      columns.endFile();
    }
    expect([...new RowIndex(columns.columns())].map(({ file }) => file)).toEqual([1, 1, 3]);
  });

  test('a number as id keeps its digits, and no id is empty', () => {
    const columns = new ColumnsBuilder();
    const [row] = fc.sample(
      rows.filter((some) => some.length > 0),
      1,
    )[0] as [Row];
    for (const id of ['900719925474099312', '', '"é"', '1.0']) columns.add({ ...row, id, checksum: 0 });
    columns.endFile();
    expect([...new RowIndex(columns.columns())].map(({ id }) => id)).toEqual(['900719925474099312', '', 'é', '1.0']);
  });

  test('trajectories have one number each, in the order of their first rows', () => {
    fc.assert(
      fc.property(rows, (given) => {
        const index = rowIndexOf(given);
        const known = [...new Set(given.map((row) => row.trajectory))];
        expect(given.map((_, row) => index.trajectoryNumber(row))).toEqual(
          given.map((row) => known.indexOf(row.trajectory)),
        );
        expect(index.domains).toEqual([...new Set(given.map((row) => row.domain))]);
      }),
    );
  });
});
