import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { compilePattern } from '../../../src/simulate/scenarios/forms.js';

const compile = (source: string, ignoreCase?: true) =>
  compilePattern({ source, ...(ignoreCase === undefined ? {} : { ignoreCase }) });

/** Patterns of small pieces, nested and repeated. */
const { pattern } = fc.letrec<{ pattern: string; piece: string }>((tie) => ({
  pattern: fc
    .array(tie('piece'), { minLength: 1, maxLength: 3 })
    .map((pieces) => pieces.join(''))
    .chain((text) => fc.constantFrom(text, `${text}|a`, `b|${text}`)),
  piece: fc.oneof(
    { maxDepth: 3, withCrossShrink: true },
    fc.constantFrom(
      'a',
      'b',
      '[ab]',
      '[^a]',
      '.',
      '\\d',
      '\\w',
      '\\s',
      '^',
      '$',
      '\\b',
      '\\n',
      'é',
      '\\u{1F600}',
      '[.\\sé]',
    ),
    fc
      .tuple(
        tie('pattern'),
        fc.constantFrom('(?:', '(', '(?<g>').chain((open) => fc.constant(open)),
      )
      .map(([text, open]) => `${open}${text})`),
    fc
      .tuple(tie('pattern'), fc.constantFrom('*', '+', '?', '{2}', '{1,3}', '{0,2}?', '*?', '+?', '{2,}'))
      .map(([text, count]) => `(?:${text})${count}`),
  ),
}));

describe('a pattern', () => {
  test('finds what JavaScript finds', () => {
    const texts = fc.string({
      unit: fc.constantFrom('a', 'b', 'A', ' ', '\u00a0', '\n', '1', 'é', '😀'),
      maxLength: 12,
    });
    fc.assert(
      fc.property(pattern, texts, fc.boolean(), (source, text, ignoreCase) => {
        let theirs: RegExp;
        try {
          theirs = new RegExp(source, ignoreCase ? 'uim' : 'um');
        } catch {
          // A group's name stands twice.
          return;
        }
        expect(compile(source, ignoreCase || undefined).test(text)).toBe(theirs.test(text));
      }),
      { numRuns: 5000 },
    );
  });

  test.each([
    ['(?<path>\\S+)\\.txt', 'cp notes.txt b.txt'],
    ['(?<a>a+?)(?<b>a*)', 'aaaa'],
    ['(?<a>a+)(?<b>a*)', 'aaaa'],
    ['(?:(?<x>a)|(?<y>b))+$', 'ab'],
    ['"name": "(?<name>[^"]+)"', '{"name": "read_file", "name": "b"}'],
    ['^(?<line>.*)\\n\\$ ', 'one\ntwo\n$ ls'],
    ['(?<n>\\d{2,3})(?<rest>\\d*)', '12345'],
    ['(?<word>\\w+) (?<same>\\w+)$', 'a b c d'],
  ])('catches in %s what JavaScript catches', (source, text) => {
    const theirs = new RegExp(source, 'um').exec(text)?.groups ?? {};
    const last = Object.fromEntries(Object.entries(theirs).filter(([, caught]) => caught !== undefined));
    // JavaScript forgets a group at each repetition around it; here it keeps what it caught last.
    const ours = compile(source).groups(text);
    expect(ours).toMatchObject(last);
  });

  test('takes no longer for a text that makes other engines hang', () => {
    const text = 'a'.repeat(50_000);
    for (const source of ['(?:a+)+$b', '(?:a|a)*b', '(?:a|aa)+b', 'a*a*a*a*a*b', '.*.*.*=.*', '(?:.*a){12}b']) {
      expect(compile(source).test(text)).toBe(false);
    }
  });

  test.each([
    ['[(?=]', '?'],
    ['\\\\1', '\\1'],
    ['a.b', 'a\rb'],
    ['\\S', '\ufeff'],
    ['[^\\s]', '\u00a0\v'],
  ])('reads %s as JavaScript does', (source, text) => {
    expect(compile(source).test(text)).toBe(new RegExp(source, 'um').test(text));
  });

  test('ends lines only at line feeds', () => {
    expect(compile('^b$').test('a\nb\nc')).toBe(true);
    expect(compile('^b$').test('a\r\nb\r\nc')).toBe(false);
    expect(compile('^b\\r?$').test('a\r\nb\r\nc')).toBe(true);
  });

  test('names its groups once each', () => {
    expect(compile('(?<b>x)|(?<a>y)+').names).toEqual(['b', 'a']);
  });

  test.each([
    ['(', 'missing closing'],
    ['a**', 'invalid nested repetition operator'],
    ['(a)\\1', 'invalid escape sequence'],
    ['a(?=b)', 'invalid or unsupported Perl syntax'],
    ['a{1001}', 'invalid repeat count: `{1001}`'],
    ['(?:[ab]{900}){900}', 'invalid repeat count'],
  ])('%s is refused with its reason', (source, reason) => {
    expect(() => compile(source)).toThrow(reason);
    expect(() => compile(source)).toThrow(SyntaxError);
  });
});
