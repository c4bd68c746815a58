// A job's log contains no command for its runner, however the text is cut into writes.

import { describe, expect, it, test } from 'vitest';
import { openCommandFilter } from '../../src/cli.js';

const written = (...texts: string[]) => texts.map(openCommandFilter()).join('');
const isCommand = /^[\s\x85]*::|##\[/m;

test.each([
  ['::error::x', ': :error::x'],
  ['  ::add-mask::x', '  : :add-mask::x'],
  ['\x85::x', '\x85: :x'],
  ['a\n::x', 'a\n: :x'],
  ['a\r::x', 'a\r: :x'],
  ['a ##[group]b', 'a ## [group]b'],
  ['####[error]', '#### [error]'],
  ['a::b', 'a::b'],
  ['# [link](x) ## head', '# [link](x) ## head'],
])('%j is written as %j', (text, expected) => {
  expect(written(text)).toBe(expected);
});

describe('a command cut into writes is none:', () => {
  const texts = ['::error::x', 'a ##[error]b\n  ::stop-commands::t\n', '\n\n::x\r\n##[x]', ':::x', '###[##[['];

  it.each(texts)('%j', (text) => {
    for (let first = 0; first <= text.length; first++) {
      for (let second = first; second <= text.length; second++) {
        const shown = written(text.slice(0, first), text.slice(first, second), text.slice(second));
        expect(shown).not.toMatch(isCommand);
        expect(shown.replace(/ /g, '')).toBe(text.replace(/ /g, ''));
      }
    }
  });
});

it('a JSON document stays the same document', () => {
  const value = { '##[error]': ['##[group]', '::error::', '\n::x'], nested: { a: '###[' } };
  for (const text of [JSON.stringify(value), `${JSON.stringify(value, null, 2)}\n`]) {
    const shown = written(text);
    expect(shown).not.toMatch(isCommand);
    expect(JSON.parse(shown)).toEqual(value);
  }
});

it('what only looks like JSON passes no command through', () => {
  expect(written('{\n::error::x\n##[error]}\n')).not.toMatch(isCommand);
});
