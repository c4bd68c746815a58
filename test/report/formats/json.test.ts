// A leaderboard as JSON.

import { expect, it } from 'vitest';
import { format, HOSTILE, hostileRuns } from '../../support/boards.js';

it('is ASCII and reads back every label unchanged', () => {
  const text = format('json', hostileRuns);
  expect(text).toMatch(/^[\x20-\x7e]+\n$/);
  const { schema, blocks } = JSON.parse(text);
  expect(schema).toBe('awb.leaderboard/2');
  const labels = blocks.flatMap((block: { rows: { label: string | null }[] }) => block.rows.map((row) => row.label));
  expect(labels.filter((label: string | null) => label !== null).sort()).toEqual([...HOSTILE].sort());
});
