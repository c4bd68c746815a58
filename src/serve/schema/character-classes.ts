// Sets of characters, and how one of a set is written in a string of JSON, in llama.cpp's grammar language (GBNF).

/** Ranges of code points, both ends included. */
export type Ranges = readonly (readonly [from: number, to: number])[];

/** Escapes of JSON for what may not stand in a string as it is. */
const JSON_ESCAPES: Readonly<Record<number, string>> = {
  8: '\\\\b',
  9: '\\\\t',
  10: '\\\\n',
  12: '\\\\f',
  13: '\\\\r',
  34: '\\\\\\"',
  92: '\\\\\\\\',
};
const NOT_AS_THEY_ARE: Ranges = [
  [0, 31],
  [34, 34],
  [92, 92],
  [127, 127],
  [0xd800, 0xdfff],
];

/** The letters of regular expressions that stand for sets. */
export const CLASSES: Readonly<Record<string, Ranges>> = {
  d: [[48, 57]],
  w: [
    [48, 57],
    [65, 90],
    [95, 95],
    [97, 122],
  ],
  s: [
    [9, 13],
    [32, 32],
    [0xa0, 0xa0],
    [0x1680, 0x1680],
    [0x2000, 0x200a],
    [0x2028, 0x2029],
    [0x202f, 0x202f],
    [0x205f, 0x205f],
    [0x3000, 0x3000],
    [0xfeff, 0xfeff],
  ],
};
export const LINE_ENDS: Ranges = [
  [10, 10],
  [13, 13],
  [0x2028, 0x2029],
];

export function single(code: number): Ranges {
  return [[code, code]];
}

/** All characters that are in none of the ranges. */
export function complement(ranges: Ranges): Ranges {
  const found: [number, number][] = [];
  let next = 0;
  for (const [from, to] of [...ranges].sort(([a], [b]) => a - b)) {
    if (from > next) found.push([next, from - 1]);
    next = Math.max(next, to + 1);
  }
  if (next <= 0x10ffff) found.push([next, 0x10ffff]);
  return found;
}

/** One character of the ranges, as it stands in a string of JSON. Throws RangeError where none can stand there. */
export function classOf(ranges: Ranges): string {
  const plain = complement([...complement(ranges), ...NOT_AS_THEY_ARE]);
  const isIn = (code: number) => ranges.some(([from, to]) => code >= from && code <= to);
  const parts = [
    ...(plain.length === 0
      ? []
      : [`[${plain.map(([from, to]) => (from === to ? hex(from) : `${hex(from)}-${hex(to)}`)).join('')}]`]),
    ...Object.entries(JSON_ESCAPES).flatMap(([code, text]) => (isIn(Number(code)) ? [`"${text}"`] : [])),
  ];
  if (parts.length === 0) throw new RangeError('has a place at which no character can stand');
  return parts.length === 1 ? String(parts[0]) : `( ${parts.join(' | ')} )`;
}

function hex(code: number): string {
  return `\\U${code.toString(16).padStart(8, '0')}`;
}
