import { describe, expect, test } from 'vitest';
import { programOf } from '../src/pattern-program.js';

describe('texts that a match has to hold', () => {
  test.each<[string, string[] | undefined]>([
    ['git diff', ['git diff']],
    ['"name": "bash"', ['"name": "bash"']],
    ['index\\.lock', ['index.lock']],
    ['click|goto|press', ['click', 'goto', 'press']],
    ['"keystrokes": "(?<tool>git|python3?)\\b', ['"keystrokes": "']],
    ['(?:cookie|privacy)+!', ['cookie', 'privacy']],
    ['a(?:long)?b+', ['a']],
    ['x(?<inner>ab)y', ['ab']],
    ['[Ss]ign in', ['ign in']],
    ['one^two', ['onetwo']],
    ['a|b*', undefined],
    ['.*', undefined],
    ['\\d{3}', undefined],
    ['\\n\\u{e9}\\x41', undefined],
  ])('%s', (source, needed) => {
    expect(programOf(source, false).needed).toEqual(needed);
  });

  test('are none where letters may stand in either case', () => {
    expect(programOf('index', true).needed).toBeUndefined();
  });
});
