// A terminal's screen: what output looks like once its sequences are carried out. Expected screens are those of pyte, a terminal emulator.

import { describe, expect, it, test } from 'vitest';
import { terminalScreen } from '../../../src/benchmark/screens/terminal.js';

function text(output: string): string[] {
  return terminalScreen(output).lines.map((line) => line.map(({ text }) => text).join(''));
}

function styled(output: string): string[] {
  return terminalScreen(output).lines.flatMap((line) => line.map(({ text, style }) => `${style}:${text}`));
}

test.each([
  ['overwrites behind a carriage return', '10%\r100%\rok', ['ok0%']],
  ['steps back', 'abc\b\bX', ['aXc']],
  ['goes to the next column of eight', 'a\tb\n12345678\tc', ['a       b', '12345678        c']],
  ['keeps lines of Windows', 'a\r\nb\r\n', ['a', 'b']],
  ['moves up and overwrites', 'one\ntwo\x1b[A!\x1b[2Dxy', ['onxy', 'two']],
  ['moves right over blanks', 'a\x1b[3Cb\x1b[2GX', ['aX  b']],
  ['goes to a place', '\x1b[2;3Hx\x1b[Hy\x1b[4dz', ['y', '  x', '', ' z']],
  ['erases to the end of the line', 'password\x1b[4D\x1b[K', ['pass']],
  ['erases the line', 'gone\x1b[2K\rkept', ['kept']],
  ['erases what is below', 'a\nb\nc\x1b[2A\x1b[J', ['a']],
  ['clears', 'a\nb\x1b[2J\x1b[Hnew', ['new']],
  [
    'drops titles, modes, bells and charsets',
    '\x1b]0;root@box\x07a\x1b[?2004hb\x07\x1b(Bc\x1b=d\x1b[>4;2me',
    ['abcde'],
  ],
  ['drops payloads that never end', 'a\x1b]8;;http://x', ['a']],
  ['drops what is no sequence', 'a\x1b[\nb\x1b', ['a', 'b']],
  ['keeps what is beyond ASCII', '└── ü 😀\rX', ['X── ü 😀']],
])('%s', (_, output, lines) => {
  expect(text(output)).toEqual(lines);
});

describe('styles', () => {
  it('begin and end where the output says so', () => {
    expect(styled('a\x1b[1;31mb\x1b[0mc\x1b[7md\x1b[27me')).toEqual([':a', 'bold red:b', ':c', 'inverse:d', ':e']);
    expect(styled('\x1b[3;4;9;92;44ma\x1b[23;29mb\x1b[39mc\x1b[49;24md')).toEqual([
      'underline green on-blue:ab',
      'underline on-blue:c',
      ':d',
    ]);
  });

  it('are whatever comes, never more than the known words, and sixteen colours', () => {
    expect(styled('\x1b[38;5;9ma\x1b[31;38;2;10;200;220mb\x1b[999;48;5;7;7mc\x1b[md\x1b[4:3me\x1b[38mf')).toEqual([
      ':a',
      'red:b',
      'red inverse:c',
      ':def',
    ]);
  });
});

test('lines and columns are counted, and the screen says that it is cut', () => {
  expect(terminalScreen('x'.repeat(1000))).toMatchObject({ cut: false });
  expect(terminalScreen('x'.repeat(1001))).toMatchObject({ cut: true, lines: [[{ text: 'x'.repeat(1000) }]] });
  expect(terminalScreen('x\n'.repeat(1000))).toMatchObject({ cut: false });
  const tall = terminalScreen('x\n'.repeat(1001));
  expect([tall.lines.length, tall.cut]).toEqual([1000, true]);
});
