// Runs over fewer rows than others.

import { describe, expect, it } from 'vitest';
import { DOMAINS } from '../../../src/core/types.js';
import type { IsTied } from '../../../src/report/leaderboard/runs.js';
import { blocksOf, names, run } from '../../support/boards.js';

describe('a run over fewer rows than others', () => {
  const whole = run('whole', 50, { rows: 40 });
  const easy = run('easy', 90, { rows: 30 });

  it('comes last, whatever its figures, and is neither tested nor marked', () => {
    const [block] = blocksOf([easy, whole, run('other', 49, { rows: 40 })], {}, () => true);
    expect(names(block)).toEqual(['whole', 'other', 'easy']);
    expect(block?.rows.map((row) => [row.fewer.length > 0, row.marked.has('overall')])).toEqual([
      [false, true],
      [false, true],
      [true, false],
    ]);
    const notes = block?.notes.join(' ');
    expect(notes).toContain('ranked after the others and neither tested nor marked: easy (MCP 30, Search 30,');
  });

  it('over as many rows, but different ones, is not marked if it is behind on the shared ones', () => {
    const [lucky, better, third] = [run('lucky', 60), run('better', 50), run('third', 40)];
    const isTied: IsTied = (best, other) => !(best === better && other === lucky);
    const [block] = blocksOf([lucky, better, third], {}, isTied);
    expect(block?.rows.map((row) => [row.name, row.marked.has('overall')])).toEqual([
      ['lucky', false],
      ['better', true],
      ['third', true],
    ]);
    expect(block?.notes.join(' ')).toContain('behind another run on common rows, so not marked: lucky.');
  });

  it('is reported as behind only in the columns in which it is', () => {
    const [lucky, better] = [run('lucky', 60), run('better', 50)];
    const behindIn = (...names: string[]) => {
      const isTied: IsTied = (best, other, { domain = 'overall' }) =>
        !(best === better && other === lucky && names.includes(domain));
      const [block] = blocksOf([lucky, better], {}, isTied);
      return block?.notes.find((note) => note.includes('behind another run'))?.replace(/^.*not marked: /, '');
    };
    expect(behindIn('mcp', 'web')).toBe('lucky (MCP, Web).');
    expect(behindIn(...DOMAINS)).toBe('lucky (MCP, Search, Terminal, SWE, Android, Web, OS).');
    expect(behindIn(...DOMAINS, 'overall')).toBe('lucky.');
    expect(behindIn('swe', 'overall')).toBe('lucky (SWE, Overall).');
  });

  it('is not the best of its name', () => {
    const [block] = blocksOf([whole, run('whole', 90, { rows: 30 })], { show: 'best' });
    expect(block?.rows.map((row) => row.figures.get('overall')?.value)).toEqual([50]);
  });

  it.each([
    ['a few rows that the judge failed', 0.99, 995, false],
    ['those that --min-coverage allows', 0.5, 600, false],
    ['more', 0.99, 980, true],
  ])('is not excluded for %s', (_, minCoverage, rows, hasFewerRows) => {
    const [block] = blocksOf([run('a', 50, { rows: 1000 }), run('b', 60, { rows })], { minCoverage });
    expect(block?.rows.find(({ name }) => name === 'b')?.fewer.length !== 0).toBe(hasFewerRows);
  });
});
