// In which form a command writes.

import { expect, test } from 'vitest';
import { formatOf } from '../../src/runs/output.js';

const FORMATS = {
  terminal: { endings: [] },
  md: { endings: ['.md', '.markdown'] },
  csv: { endings: ['.csv'] },
  json: { endings: ['.json'] },
};

test.each([
  [{ json: true, output: 'x.md' }, 'json'],
  [{ json: true, format: 'json' as const }, 'json'],
  [{ json: false, format: 'csv' as const, output: 'x.md' }, 'csv'],
  [{ json: false, output: 'x.MD' }, 'md'],
  [{ json: false, output: 'x.markdown' }, 'md'],
  [{ json: false, output: 'x.txt' }, 'terminal'],
  [{ json: false }, 'terminal'],
])('%j is written as %s', (settings, format) => {
  expect(formatOf(settings, FORMATS)).toBe(format);
});

test('two forms at once are refused', () => {
  expect(() => formatOf({ json: true, format: 'md' }, FORMATS)).toThrow('--json and --format md exclude each other');
});
