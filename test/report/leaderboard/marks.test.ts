// What is marked in a leaderboard.

import { describe, expect, it } from 'vitest';
import { DOMAINS, type Estimate } from '../../../src/core/types.js';
import { blocksOf, run } from '../../support/boards.js';

describe('marks', () => {
  it('go to the best of a column and to what is indistinguishable from it', () => {
    const runs = [run('best', 60), run('near', 58), run('far', 30)];
    const asked: string[] = [];
    const [block] = blocksOf(runs, { columns: ['mcp', 'overall'] }, (best, other, { domain, name }) => {
      asked.push(`${best.label}:${other.label}:${domain ?? 'all'}:${name}`);
      return other.label === 'best' || (other.label === 'near' && domain === undefined);
    });
    expect(block?.rows.map((row) => [...row.marked])).toEqual([['mcp', 'overall'], ['overall'], []]);
    expect(asked.slice(0, 4)).toEqual([
      'near:best:mcp:total',
      'far:best:mcp:total',
      'best:near:mcp:total',
      'best:far:mcp:total',
    ]);
  });

  it('are omitted if there is nothing to compare with', () => {
    const [block] = blocksOf([run('only', 60)], { withPublished: true }, () => true);
    expect(block?.rows.flatMap((row) => [...row.marked])).toEqual([]);
    expect(block?.hasMarks).toBe(false);
  });

  it('go to no run if none could be tested against the best, and a note says so', () => {
    const [block] = blocksOf([run('a', 60), run('b', 50)], {}, () => undefined);
    expect(block?.rows.map((row) => row.marked.size > 0)).toEqual([false, false]);
    expect(block?.notes.join()).toContain('too few in common with the best, so not tested: b.');
  });

  it('never go to a figure without a standard error, which comes from too few trajectories', () => {
    const lucky = run('lucky', 99);
    const bare = ({ value, rows, clusters }: Estimate) => ({ value, rows, clusters });
    const domains = lucky.card.domains.map((score) =>
      score.domain === 'mcp'
        ? { ...score, withFailures: { total: bare(score.withFailures.total as Estimate) } }
        : score,
    );
    const runs = [{ ...lucky, card: { ...lucky.card, domains } }, run('a', 60), run('b', 50)];
    const [block] = blocksOf(runs, { columns: ['mcp', 'web'] }, () => true);
    expect(block?.rows.map((row) => [row.name, [...row.marked]])).toEqual([
      ['lucky', ['web']],
      ['a', ['mcp', 'web']],
      ['b', ['mcp', 'web']],
    ]);
    expect(block?.notes.join()).toContain('not tested: lucky (MCP).');
  });

  it('take into account how many runs the best was chosen from', () => {
    const counts = new Set<number>();
    const runs = [1, 2, 3, 4].map((place) => run(`r${place}`, 50 + place));
    blocksOf([...runs, run('lacking', 99, { coverage: 0.5 })], {}, (_best, _other, _figure, of) => {
      counts.add(of);
      return true;
    });
    expect([...counts]).toEqual([4]);
  });

  it('compare means only over the same domains', () => {
    const runs = [
      run('four', 90, { domains: DOMAINS.slice(0, 4) }),
      run('three', 80, { domains: DOMAINS.slice(0, 3) }),
    ];
    const [block] = blocksOf(runs, { columns: ['mcp', 'macro'] }, () => true);
    expect(block?.rows.map((row) => [...row.marked])).toEqual([['mcp'], ['mcp']]);
    const [mixed] = blocksOf([...runs, run('x', 50), run('y', 40)], { columns: ['overall', 'format'] }, () => true);
    const marked = mixed?.rows.map((row) => [row.name, [...row.marked]]);
    expect(marked).toEqual([
      ['x', ['overall', 'format']],
      ['y', ['overall', 'format']],
      ['four', []],
      ['three', []],
    ]);
  });
});
