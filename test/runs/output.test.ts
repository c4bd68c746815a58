// In which form a command writes.

import { expect, test } from 'vitest';
import { formatOf } from '../../src/runs/output.js';

const ENDINGS = { '.md': 'md', '.csv': 'csv' } as const;

test.each([
  [{ json: true, output: 'x.md' }, 'json'],
  [{ json: true, format: 'json' as const }, 'json'],
  [{ json: false, format: 'csv' as const, output: 'x.md' }, 'csv'],
  [{ json: false, output: 'x.MD' }, 'md'],
  [{ json: false, output: 'x.txt' }, 'terminal'],
  [{ json: false }, 'terminal'],
])('%j is written as %s', (settings, format) => {
  expect(formatOf<'md' | 'csv' | 'json' | 'terminal'>(settings, ENDINGS)).toBe(format);
});

test('two forms at once are refused', () => {
  expect(() => formatOf({ json: true, format: 'md' }, {})).toThrow('--json and --format md exclude each other');
});
