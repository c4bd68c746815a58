// Paths as people are shown them.

import { expect, test } from 'vitest';
import { shownPath, withShownPaths } from '../../src/core/printable.js';

test.each([
  ['/home/u/work/out/x', 'out/x'],
  ['/home/u/work', '/home/u/work'],
  ['/home/u/other/x', '/home/u/other/x'],
  ['/tmp/x', '/tmp/x'],
  ['/home/u/work/a\x1b[31mb', 'ab'],
])('%j is shown as %s', (path, shown) => {
  expect(shownPath(path, { cwd: '/home/u/work' })).toBe(shown);
});

const cwd = '/home/u/work';
test.each([
  ['/home/u/work/a/b.jsonl:3: torn', 'a/b.jsonl:3: torn'],
  ['--db=/home/u/work/a,/home/u/work/b', '--db=a,b'],
  ['/mnt/home/u/work/a and http://h/home/u/work/a', '/mnt/home/u/work/a and http://h/home/u/work/a'],
  ['the folder /home/u/work/ is empty', 'the folder /home/u/work/ is empty'],
  ['/home/u/workshop/a', '/home/u/workshop/a'],
])('in a text, %j becomes %j', (text, shown) => {
  expect(withShownPaths(text, { cwd })).toBe(shown);
});

test('below the root nothing is cut', () => {
  expect(withShownPaths('see http://h/x and /etc/x', { cwd: '/' })).toBe('see http://h/x and /etc/x');
});

test('next to the working folder, paths are shown relative to it if some were typed that way', () => {
  const place = { cwd, isBeside: true };
  expect(['/home/u/other/x', '/tmp/x', '/home/u/work/a'].map((path) => shownPath(path, place))).toEqual([
    '../other/x',
    '/tmp/x',
    'a',
  ]);
  expect(withShownPaths('/home/u/other/x:3 and /home/u/work/a in /home/u/work/ of /home/u', place)).toBe(
    '../other/x:3 and a in /home/u/work/ of /home/u',
  );
});
