// In which form a command writes.

import { expect, test } from 'vitest';
import { formatOf } from '../../src/results/output.js';
import { awb, temporaryFolder } from '../support/cli.js';

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

test.each([
  ['report', '--run'],
  ['rate', '--run'],
])('%s does not let its page replace the judged file', async (command, flag) => {
  const cwd = await temporaryFolder();
  const { code, stderr } = await awb([command, flag, 'judged.jsonl', '--output', 'judged.jsonl'], { cwd });
  expect(stderr).toContain('--output judged.jsonl: a page would replace the file of that name');
  expect(code).toBe(2);
});
