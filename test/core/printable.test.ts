// Hostile text on a terminal: what is taken out, what stays.

import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { oneLine, openGrowingPrintable, printable } from '../../src/core/printable.js';

const ATTACKS: readonly (readonly [what: string, text: string, printed: string])[] = [
  ['colours', 'a\x1b[31mred\x1b[0mb', 'aredb'],
  ['cursor movement over the line above', 'a\x1b[1A\x1b[2Kb', 'ab'],
  ['private mode (alternate screen)', '\x1b[?1049ha', 'a'],
  ['CSI with intermediates', 'a\x1b[1 qb', 'ab'],
  ['CSI that is not ended', 'a\x1b[12;3', 'a'],
  ['8-bit CSI', 'a\x9b31mb', 'ab'],
  ['OSC title, ended by BEL', 'a\x1b]0;title\x07b', 'ab'],
  ['OSC 52 (clipboard), ended by ST', 'a\x1b]52;c;cm0gLXJm\x1b\\b', 'ab'],
  ['OSC 8 (link)', '\x1b]8;;http://evil\x1b\\text\x1b]8;;\x1b\\', 'text'],
  ['OSC that is not ended', 'a\x1b]52;c;cm0gLXJm', 'a'],
  ['OSC cut short by another sequence', 'a\x1b]52;c;cm0\x1b[31mb', 'ab'],
  ['OSC cancelled', 'a\x1b]0;title\x18b', 'ab'],
  ['8-bit OSC ended by 8-bit ST', 'a\x9d0;title\x9cb', 'ab'],
  ['OSC over several lines', 'a\x1b]0;one\ntwo\x07b', 'ab'],
  ['DCS', 'a\x1bPq#0;2;0\x1b\\b', 'ab'],
  ['8-bit DCS, not ended', 'a\x90q#0;2;0', 'a'],
  ['APC', 'a\x1b_Gf=100;AAAA\x1b\\b', 'ab'],
  ['8-bit APC', 'a\x9fGf=100\x9cb', 'ab'],
  ['PM', 'a\x1b^secret\x1b\\b', 'ab'],
  ['8-bit PM', 'a\x9esecret\x9cb', 'ab'],
  ['SOS', 'a\x1bXsecret\x1b\\b', 'ab'],
  ['8-bit SOS', 'a\x98secret\x9cb', 'ab'],
  ['reset', 'a\x1bcb', 'ab'],
  ['character set', 'a\x1b(0b', 'ab'],
  ['ESC at the end', 'a\x1b', 'a'],
  ['ESC before another letter of the text', 'a\x1béb', 'aéb'],
  ['a sequence put together by taking one out', '\x1b\x1b[31m[32ma', '[32ma'],
  ['other C1 controls', 'a\x84\x8d\x80b', 'ab'],
  ['backspace, bell, NUL and DEL', 'a\b\x07\0\x7fb', 'ab'],
  ['carriage return that overwrites', 'PASSED\rFAILED', 'PASSED FAILED'],
  ['form feed, vertical tab, NEL', 'a\fb\vc\x85d', 'a b c d'],
  ['U+2028 and U+2029', 'a\u2028b\u2029c', 'a b c'],
  ['BIDI override', 'a\u202egnp.exe\u202c', 'agnp.exe'],
  ['BIDI isolates and marks', '\u2066a\u2067b\u2068c\u2069\u200e\u200f\u061c', 'abc'],
  ['zero-width characters', 'a\u200bb\u200cc\u200dd\u2060e\ufefff', 'abcdef'],
  ['Unicode tags', 'a\u{e0049}\u{e0047}\u{e007f}b', 'ab'],
  ['lone surrogates', 'a\ud83d b\ude00', 'a\ufffd b\ufffd'],
  ['a surrogate pair torn by a sequence', '\ud83d\x1b[0m\ude00', '\ufffd\ufffd'],
];

/** Short texts rich in what matters here. */
const hostile = fc
  .array(
    fc.oneof(
      fc.constantFrom('\x1b', '\x1b[', '\x1b]', '\x1bP', '\x9b', '\x9d', '\x9c', '\x07', '\x1b\\', '\n', '\r', '\t'),
      fc.constantFrom('\ud83d', '\ude00', '😀', '\u202e', '漢', 'é', 'm', '31', ';', ' ', 'text'),
      fc.string({ unit: 'binary' }),
    ),
    { maxLength: 30 },
  )
  .map((parts) => parts.join(''));

describe('printable', () => {
  test.each(ATTACKS)('takes out: %s', (_, text, printed) => {
    expect(printable(text)).toBe(printed);
    expect(printable(text, { multiline: true })).toBe(printed);
  });

  test('leaves ordinary text of any language as it is', () => {
    const text = 'Grüße, 漢字, עברית, हिन्दी, 😀 — “x” {"a": [1]} $(rm) <b>';
    expect(printable(text)).toBe(text);
  });

  test('keeps newlines and tabs only where several lines are wanted', () => {
    expect(printable('a\r\n\tb\nc')).toBe('a  b c');
    expect(printable('a\r\n\tb\nc', { multiline: true })).toBe('a\n\tb\nc');
  });

  test('leaves no control, no hidden character and no broken text, whatever comes in', () => {
    const left =
      /[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2066-\u2069\u{e0000}-\u{e007f}]|\p{Cs}/u;
    fc.assert(fc.property(hostile, (text) => !left.test(printable(text, { multiline: true }))));
    fc.assert(fc.property(hostile, (text) => !/[\n\t]/.test(printable(text))));
  });

  test('changes nothing the second time', () => {
    fc.assert(
      fc.property(hostile, fc.boolean(), (text, multiline) => {
        const once = printable(text, { multiline });
        return printable(once, { multiline }) === once;
      }),
    );
  });

  test('looks at no character of a sequence more than a few times, so that no repeated start is a trap', () => {
    for (const start of ['\x1b[', '\x1b]', '\x1b', '\x9b1;', '\x1bP\x1b', '\r', '\x1b[0 ', '\u202e']) {
      expect(printable(start.repeat(100_000)).length).toBeLessThanOrEqual(100_000);
    }
  });
});

describe('oneLine', () => {
  test.each([
    ['fits', 10, 'fits'],
    ['exactly ten', 11, 'exactly ten'],
    ['one too many', 11, 'one too ma…'],
    ['two\n lines\tand   spaces ', 80, 'two lines and spaces'],
    ['漢字漢字', 8, '漢字漢字'],
    ['漢字漢字', 7, '漢字漢…'],
    ['漢字漢字', 6, '漢字…'],
    ['😀😀', 3, '😀…'],
    ['e\u0301e\u0301e\u0301', 3, 'e\u0301e\u0301e\u0301'],
    ['abc', 1, '…'],
    ['abc', 0, ''],
    ['a\x1b[31m\x1b[0mb', 2, 'ab'],
  ])('%j in %d columns is %j', (text, columns, line) => {
    expect(oneLine(text, columns)).toBe(line);
  });

  test('is a start of the printable text, and changes nothing the second time', () => {
    fc.assert(
      fc.property(hostile, fc.nat(20), (text, columns) => {
        const line = oneLine(text, columns);
        expect(oneLine(line, columns)).toBe(line);
        const whole = oneLine(text, Number.MAX_SAFE_INTEGER);
        expect(line === whole || whole.startsWith(line.slice(0, -1))).toBe(true);
      }),
    );
  });
});

describe('text that comes in pieces', () => {
  const HOSTILE = [
    'plain \x1b[31mred\x1b[0m text',
    '\x1b]0;title\x07shown\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\',
    'a\x9b2Jb\x9d52;c;AAAA\x9cc\x90payload',
    'line\r\nnext\rover\r',
    '\u{1f600}\ud83d x\ud83d',
    '\x1b\x1b[\x1b[1;\x1b]ab\x9dcd\x07ef\x1b(Bok\x1b',
    '\u202eright\u202c\u200bto\ttab\n',
  ];

  test.each(HOSTILE)('is printable as the whole is, wherever it is cut: %j', (text) => {
    for (let size = 1; size <= 5; size++) {
      const growing = openGrowingPrintable();
      const shown: string[] = [];
      for (let at = 0; at < text.length; at += size) shown.push(growing.add(text.slice(at, at + size)));
      shown.push(growing.end());
      expect(shown.join('')).toBe(printable(text, { multiline: true }));
      for (const piece of shown) expect(piece).toBe(printable(piece, { multiline: true }));
    }
  });

  test('is shown at once where nothing in it steers', () => {
    expect(openGrowingPrintable().add('as it is [31m')).toBe('as it is [31m');
  });
});
