// Where models lie.

import { isAbsolute, join } from 'node:path';
import { expect, test } from 'vitest';
import { cacheFolder } from '../../../src/benchmark/hub/client.js';

test.each([
  ['/home/you', '/home/you/.cache/agentworldbench'],
  ['', undefined],
  [undefined, undefined],
])('with HOME %j the cache folder is absolute', (HOME, expected) => {
  const folder = cacheFolder({ HOME });
  expect(isAbsolute(folder)).toBe(true);
  expect(folder.endsWith(join('.cache', 'agentworldbench'))).toBe(true);
  if (expected !== undefined) expect(folder).toBe(expected);
});
