// The published results, and where they appear in a leaderboard.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { PUBLISHED, PUBLISHED_SOURCE } from '../../src/report/published.js';
import { blocksOf, names, OFFICIAL, run } from '../support/boards.js';

describe('published rows', () => {
  const published = JSON.parse(readFileSync(new URL('../../fixtures/published.json', import.meta.url), 'utf8'));

  it('are those of the model card', () => {
    expect(PUBLISHED.map((row) => ({ ...row, scores: Object.fromEntries(row.scores) }))).toEqual(published.rows);
    expect(PUBLISHED_SOURCE).toMatchObject({ text: published.source, judge: published.judge });
  });

  it('appear only in the official block, unmarked, with their source and the one odd Overall', () => {
    const other = run('other', 99, { judgedWith: { ...OFFICIAL, judge: 'other', snapshot: undefined } });
    const [official, rest] = blocksOf([run('a', 57), run('b', 56), other], { withPublished: true }, () => true);
    expect(official?.rows).toHaveLength(16);
    expect(names(official)?.slice(0, 5)).toEqual(['a', 'b', 'Qwen-AgentWorld-397B-A17B', 'GPT-5.4', 'Claude Opus 4.6']);
    expect(official?.notes.join()).toContain('official figures, not ranked, tested or marked');
    expect(official?.rows.filter((row) => row.marked.size > 0).map((row) => row.name)).toEqual(['a', 'b']);
    const notes = official?.notes.join('\n') ?? '';
    expect(notes).toContain(published.source);
    expect(notes.match(/published as .*/g)).toEqual(['published as 58.71, the mean of its columns is 58.76.']);
    expect(names(rest)).toEqual(['other']);
  });

  it('have their own block if no run was judged as they were', () => {
    const strict = run('a', 57, { judgedWith: { ...OFFICIAL, verdicts: 'strict' } });
    const blocks = blocksOf([strict], { withPublished: true });
    expect(blocks.map((block) => [block.isOfficial, block.rows.length])).toEqual([
      [true, 14],
      [false, 1],
    ]);
  });
});
