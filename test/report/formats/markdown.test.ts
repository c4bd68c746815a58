// A leaderboard in Markdown.

import { expect, it } from 'vitest';
import { format, HOSTILE, hostileRuns } from '../../support/boards.js';

it('hostile names stay text: every row keeps its cells and nothing opens', () => {
  const text = format('md', hostileRuns);
  const tables = text.match(/(?:^\|.*\n)+/gm) ?? [];
  expect(tables).toHaveLength(HOSTILE.length + 1);
  for (const table of tables) {
    const widths = table.split('\n').map((line) => line.replace(/\\[\\|]/g, '').split('|').length);
    expect(new Set(widths.slice(0, -1)).size).toBe(1);
  }
  const unescaped = text.replace(/\\[\\`*_[\]<>&|~#$:.]/g, '');
  expect(unescaped).not.toMatch(/<(?!!-- -->)|`|\[|https?:\/\/|www\.|(?<!\*)\*(?!\*)/);
  expect(unescaped).not.toMatch(/@(?!<!-- -->)/);
});
