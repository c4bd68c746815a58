import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { canonicalText, membersOf, withMembers } from '../../src/benchmark/row-text.js';

const NONE: ReadonlySet<string> = new Set();
const space = fc.array(fc.constantFrom(' ', '\t', '\r', '\n'), { maxLength: 2 }).map((parts) => parts.join(''));

/** A JSON string's text, each character plain or escaped in one of its spellings. */
const stringText = fc
  .array(
    fc.oneof(
      fc.constantFrom(
        '\\"',
        '\\\\',
        '\\/',
        '\\n',
        '\\u0022',
        '\\u005c',
        '\\ud800',
        ',',
        ':',
        '{',
        '}',
        '[',
        ']',
        '\u2028',
        '😀',
      ),
      fc.string({ maxLength: 4 }).map((text) => JSON.stringify(text).slice(1, -1)),
    ),
    { maxLength: 6 },
  )
  .map((parts) => `"${parts.join('')}"`);
const scalarText = fc.oneof(
  stringText,
  fc.constantFrom('null', 'true', 'false', '0', '-0', '1.50', '1E+2', '12345678901234567890123', '0.1e-400'),
);
const { value: valueText } = fc.letrec<{ value: string; list: string; object: string }>((tie) => ({
  value: fc.oneof({ maxDepth: 3, withCrossShrink: true }, scalarText, tie('list'), tie('object')),
  list: fc
    .tuple(fc.array(tie('value'), { maxLength: 3 }), space)
    .map(([items, gap]) => `[${gap}${items.join(`,${gap}`)}]`),
  object: fc
    .tuple(fc.array(fc.tuple(stringText, tie('value')), { maxLength: 3 }), space)
    .map(
      ([members, gap]) =>
        `{${gap}${members.map(([key, value]) => `${key}${gap}:${gap}${value}`).join(`,${gap}`)}${gap}}`,
    ),
}));
const keyText = fc.oneof(
  { weight: 1, arbitrary: stringText },
  {
    weight: 2,
    arbitrary: fc.constantFrom(
      '"gen"',
      '"g\\u0065n"',
      '"awb"',
      '"id"',
      '"__proto__"',
      '"constructor"',
      '"toString"',
      '""',
    ),
  },
);
const members = fc.array(fc.record({ key: keyText, value: valueText, gap: fc.tuple(space, space, space, space) }), {
  maxLength: 6,
});

function objectText(list: readonly { key: string; value: string; gap: readonly string[] }[]): string {
  const parts = list.map(({ key, value, gap }) => `${gap[0]}${key}${gap[1]}:${gap[2]}${value}${gap[3]}`);
  return ` {${parts.join(',')}\t}\r`;
}

describe('membersOf', () => {
  test('every member of an object with any spelling and spacing is found in its place', () => {
    fc.assert(
      fc.property(members, (list) => {
        const text = objectText(list);
        const found = membersOf(text).map((member) => [member.key, text.slice(member.valueStart, member.valueEnd)]);
        expect(found).toEqual(list.map(({ key, value }) => [JSON.parse(key), value]));
      }),
      { numRuns: 500 },
    );
  });
});

describe('withMembers', () => {
  test('keys are replaced and dropped, and every other member keeps its own text', () => {
    const add = { gen: 'said "\\" 日\u2028\ud800', awb: { key: 'k' } };
    fc.assert(
      fc.property(members, (list) => {
        const dropped = ['id', 'gen', 'awb'];
        const kept = list.filter(({ key }) => !dropped.includes(JSON.parse(key)));
        const result = withMembers(objectText(list), new Set(['id']), add);
        const found = membersOf(result).map((member) => result.slice(member.start, member.valueEnd));
        expect(found.slice(0, -2)).toEqual(kept.map(({ key, value, gap }) => `${key}${gap[1]}:${gap[2]}${value}`));
        const entries = [...kept.map(({ key, value }) => [JSON.parse(key), JSON.parse(value)]), ...Object.entries(add)];
        expect(JSON.parse(result)).toEqual(Object.fromEntries(entries));
      }),
      { numRuns: 500 },
    );
  });

  test('adding and taking away again gives the same bytes', () => {
    const text = '{ "a":1,\t"b" : [ 1 , {"gen":2} ],"c":"x"}';
    const added = withMembers(text, NONE, { gen: 'g', awb: 1 });
    expect(added).toBe('{ "a":1,\t"b" : [ 1 , {"gen":2} ],"c":"x", "gen":"g","awb":1}');
    expect(withMembers(added, new Set(['gen', 'awb']), {})).toBe(text);
  });

  test.each([
    ['an empty object', '{}', '{"gen":1}'],
    ['an object of spaces', ' { } ', '{"gen":1}'],
    ['nothing but the replaced key', '{ "gen": 0 }', '{ "gen":1}'],
    ['the replaced key first', '{"gen":0,"a":1}', '{"a":1, "gen":1}'],
    ['the replaced key in between', '{"a":1,"gen":0, "b":2}', '{"a":1,"b":2, "gen":1}'],
    ['the replaced key twice', '{"gen":0,"a":1,"gen":{"gen":3}}', '{"a":1, "gen":1}'],
    ['a key that every object inherits', '{"constructor":1,"__proto__":2}', '{"constructor":1,"__proto__":2, "gen":1}'],
    ['a backslash before the closing quote', '{"a":"\\\\","gen":"\\""}', '{"a":"\\\\", "gen":1}'],
    ['a number of many digits', '{"id":900719925474099312345}', '{"id":900719925474099312345, "gen":1}'],
  ])('%s is handled', (_what, text, expected) => {
    expect(withMembers(text, NONE, { gen: 1 })).toBe(expected);
  });
});

describe('canonicalText', () => {
  test.each([
    ['spaces between tokens', '[ 1 ,\t2\r\n]', '[1,2]'],
    ['spaces within strings', '" a  b "', '" a  b "'],
    ['escapes of plain characters', '"\\u0061\\/\\u65e5"', '"a/日"'],
    ['integers beyond 2^53', '9007199254740993', '9007199254740993'],
    ['floats as they were written', '1.50', '1.50'],
    ['objects in their order', '{"b" : "\\"", "a": null}', '{"b":"\\"","a":null}'],
  ])('%s', (_what, text, expected) => {
    expect(canonicalText(text)).toBe(expected);
  });

  test('a string of 30 MB overflows no stack', () => {
    const text = JSON.stringify('a"'.repeat(10_000_000));
    expect(canonicalText(text) === text).toBe(true);
  });
});
