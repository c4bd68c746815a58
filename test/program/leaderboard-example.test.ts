// The leaderboard in README and docs is one that the program prints.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { expect, it } from 'vitest';
import type { Domain } from '../../src/core/types.js';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { judgedRun } from '../support/judged-runs.js';

const LEVELS: Readonly<Record<Domain, number>> = {
  mcp: 3.6,
  search: 2.5,
  terminal: 3.2,
  swe: 3.6,
  android: 3.3,
  web: 3,
  os: 3.7,
};

/** A random-looking number from 0 to 1, the same for the same text (FNV-1a). */
function chance(text: string): number {
  let hash = 2166136261;
  for (const character of text) hash = Math.imul(hash ^ character.charCodeAt(0), 16777619);
  hash = Math.imul(hash ^ (hash >>> 15), 2246822519);
  return ((hash ^ (hash >>> 13)) >>> 0) / 2 ** 32;
}

/** Rows that are hard for one checkpoint are hard for all, apart from its own random part. */
const ratings = (label: string, lift: number) => (domain: Domain, row: number) => {
  const hard = chance(`${domain} ${row}`) - 0.5;
  const own = chance(`${label} ${domain} ${row}`) - 0.5;
  return Math.min(5, Math.max(1, Math.round(((LEVELS[domain] as number) + lift - 1.6 * hard + 0.9 * own) * 5) / 5));
};

it('is what README and docs show', async () => {
  const dir = await temporaryFolder();
  const db = join(dir, 'runs.sqlite');
  for (const [label, lift] of [
    ['step-100', 0],
    ['step-200', 0.14],
    ['step-300', 0.16],
  ] as const) {
    await judgedRun(join(dir, label), { label, rows: 120, rating: ratings(label, lift) }, db);
  }
  const refuses = (domain: Domain, row: number) => chance(`${domain} ${row}`) > 0.8;
  await judgedRun(join(dir, 'refuser'), { label: 'refuser', rows: 120, rating: ratings('refuser', 0.1), refuses }, db);
  const shown = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os', 'overall', 'official'].join(',');
  const { stdout } = await awb(['leaderboard', '--db', db, '--columns', shown]);
  const table = stdout.split('\n').filter((line) => /^(?:Run|step-|refuser)/.test(line));
  expect(table).toHaveLength(5);
  const [overall, official] = ['refuser', 'step-300'].map((name) => table.findIndex((line) => line.startsWith(name)));
  expect(overall).toBeGreaterThan(official as number);
  for (const page of ['README.md', 'docs/leaderboard-and-report.md']) {
    expect(await readFile(join(ROOT, page), 'utf8')).toContain(`\`\`\`\n${table.join('\n')}\n\`\`\`\n`);
  }
});
