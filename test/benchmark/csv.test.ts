// CSV as RFC 4180 has it, and what Python's csv module reads in the same text.

import { execFileSync } from 'node:child_process';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { csvRecords } from '../../src/benchmark/ratings.js';

const wrong = (line: number, reason: string) => new Error(`${line}: ${reason}`);
const cellsOf = (text: string) => csvRecords(text, wrong).map(({ cells }) => cells);

describe('records', () => {
  it.each([
    [
      'commas, quotes and line ends in quotes',
      'a,"b, c","d ""e""\nf"\r\n1,,3\r\n',
      [
        ['a', 'b, c', 'd "e"\nf'],
        ['1', '', '3'],
      ],
    ],
    [
      'no line end behind the last',
      'a,b\n1,2',
      [
        ['a', 'b'],
        ['1', '2'],
      ],
    ],
    [
      'an empty last cell',
      'a,b\n1,',
      [
        ['a', 'b'],
        ['1', ''],
      ],
    ],
    ['a byte order mark', '\ufeffa,b\n', [['a', 'b']]],
    ['empty lines', 'a\n\n\r\nb\n', [['a'], ['b']]],
    ['an empty quoted cell alone', '""\n', [['']]],
    ['nothing', '', []],
  ])('of a text with %s', (_name, text, expected) => {
    expect(cellsOf(text)).toEqual(expected);
  });

  it('stand on the lines on which they begin', () => {
    expect(csvRecords('a\n"x\ny\r\nz"\nb', wrong).map(({ line }) => line)).toEqual([1, 2, 5]);
  });

  it('come back as they were written', () => {
    const cell = fc.string({ unit: fc.constantFrom('a', ',', '"', '\n', '\r', ' ', 'ü') });
    const table = fc.array(fc.array(cell, { minLength: 2, maxLength: 4 }), { maxLength: 5 });
    fc.assert(
      fc.property(table, (rows) => {
        const text = rows.map((row) => row.map((each) => `"${each.replaceAll('"', '""')}"`).join(',')).join('\r\n');
        expect(cellsOf(text)).toEqual(rows);
      }),
    );
  });

  it('are those that Python reads', () => {
    const text = 'key,rater,note\nk1,"Ann, B.","said ""no""\nand went"\nk2,Ümit,\n';
    const python = execFileSync(
      'python3',
      [
        '-c',
        'import csv, io, json, sys; print(json.dumps(list(csv.reader(io.StringIO(sys.stdin.read(), newline="")))))',
      ],
      { input: text, encoding: 'utf8' },
    );
    expect(cellsOf(text)).toEqual(JSON.parse(python));
  });

  it('of a text of megabytes in one cell are read', () => {
    expect(cellsOf(`"${'x""y\n'.repeat(1_000_000)}",b`)[0]?.[1]).toBe('b');
  });
});

it.each([
  ['a quote that is never closed', 'a,b\n1,"2\n3\n', 2],
  ['a quote inside of a cell', 'a,b\n\n1,2"3\n', 3],
  ['text behind a quoted cell', '"a"b\n', 1],
])('%s is named with its line', (_name, text, line) => {
  expect(() => csvRecords(text, wrong)).toThrow(new RegExp(`^${line}: a quote is not closed`));
});
