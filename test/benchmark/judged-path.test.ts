// Where a judged file lies, and what lies beside it.

import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, test } from 'vitest';
import { journalBeside, judgedFileOf, manifestBeside } from '../../src/benchmark/judged-path.js';
import { temporaryFolder } from '../support/cli.js';

test('a folder means the judged file in it, and everything else means itself', async () => {
  const cwd = await temporaryFolder();
  expect(judgedFileOf('.', { cwd })).toBe(cwd);
  await writeFile(join(cwd, 'judged.jsonl'), '');
  expect(judgedFileOf('.', { cwd })).toBe(join(cwd, 'judged.jsonl'));
  expect(judgedFileOf('other.jsonl', { cwd })).toBe(join(cwd, 'other.jsonl'));
});

test.each(['/out/judged', '/out/judged.jsonl', '/out/judged.JSONL'])('manifest and journal are next to %s', (path) => {
  expect(manifestBeside(path)).toBe('/out/judged.manifest.json');
  expect(journalBeside(path)).toBe('/out/judged.journal.jsonl');
});
