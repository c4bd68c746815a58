// Paths as people are shown them.

import { expect, test } from 'vitest';
import { shownPath } from '../../src/settings/shown-path.js';

test.each([
  ['/home/u/work/out/x', 'out/x'],
  ['/home/u/work', '/home/u/work'],
  ['/home/u/other/x', '/home/u/other/x'],
  ['/tmp/x', '/tmp/x'],
  ['/home/u/work/a\x1b[31mb', 'ab'],
])('%j is shown as %s', (path, shown) => {
  expect(shownPath(path, { cwd: '/home/u/work' })).toBe(shown);
});
