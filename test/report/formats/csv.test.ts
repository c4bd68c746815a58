// A leaderboard as CSV.

import { expect, it } from 'vitest';
import { csvText } from '../../../src/report/markup.js';
import { format, hostileRuns } from '../../support/boards.js';

/** RFC 4180 fields, by line. */
function readCsv(text: string): string[][] {
  const lines: string[][] = [[]];
  const field = /("(?:[^"]|"")*"|[^",\r\n]*)(,|\r\n)/y;
  for (let match = field.exec(text); match !== null; match = field.exec(text)) {
    const [, raw = '', end] = match;
    lines.at(-1)?.push(raw.startsWith('"') ? raw.slice(1, -1).replaceAll('""', '"') : raw);
    if (end === '\r\n') lines.push([]);
    if (field.lastIndex === text.length) break;
  }
  expect(field.lastIndex).toBe(text.length);
  return lines.slice(0, -1);
}

it.each([
  [85.00000000000001, '85'],
  [0.1 + 0.2, '0.3'],
  [2 / 3, '0.666666666666667'],
  [1e-9, '1e-9'],
])('%d is %s: fifteen digits, without rounding artefacts', (value, text) => {
  expect(csvText([[value]])).toBe(`${text}\r\n`);
});

it('hostile names stay text: no field is a formula and every text is read back', () => {
  const lines = readCsv(format('csv', hostileRuns));
  expect(new Set(lines.map((line) => line.length)).size).toBe(1);
  const fields = lines.flat().filter((field) => !/^-?[\d.]+$/.test(field));
  expect(fields.filter((field) => /(^|;)\s*[=+\-@\t\r]/.test(field))).toEqual([]);
  expect(fields).toContain('line one line two | --- | x');
  expect(lines.flat().join('')).not.toMatch(/[\x00-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]/);
  expect(fields).toContain(`'=HYPERLINK("http://evil.example";"x")`);
});

it.each([
  ['plain', 'plain'],
  ['a,b', '"a,b"'],
  ['say "x"', '"say ""x"""'],
  ['=1', "'=1"],
  [' =1', "' =1"],
  ['＝1', "'＝1"],
  ['a;=1', '"a;\'=1"'],
  ['a-b=c', 'a-b=c'],
  [-25.5, '-25.5'],
  [null, ''],
  [false, 'false'],
])('CSV writes %j as %s', (value, text) => {
  expect(csvText([[value]])).toBe(`${text}\r\n`);
});
