// The rows of a leaderboard: which runs they show, in which order, and with what.

import { describe, expect, it } from 'vitest';
import { DOMAINS } from '../../../src/core/types.js';
import type { BoardOptions, BoardRun } from '../../../src/report/leaderboard/runs.js';
import { blocksOf, cellsOf, headings, names, run } from '../../support/boards.js';

describe('rows', () => {
  it('have the published columns in the published order', () => {
    expect(headings(blocksOf([run('a', 60)])[0])?.slice(0, 9)).toEqual([
      'Run',
      'MCP',
      'Search',
      'Term.',
      'SWE',
      'Android',
      'Web',
      'OS',
      'Overall',
    ]);
  });

  it('with fewer than seven domains show a macro mean instead of Overall, and with more the Overall of the seven', () => {
    const six = run('six', 80, { domains: DOMAINS.slice(1) });
    const eight = run('eight', 80, { domains: [...DOMAINS, 'robotics'] });
    const [block] = blocksOf([run('seven', 50), six, eight]);
    const columns = block?.columns.map((column) => column.id) ?? [];
    const shown = (name: string) => ['overall', 'macro'].map((id) => cellsOf(block, name)?.[columns.indexOf(id)]);
    expect(shown('seven')).toEqual(['50.00', '-']);
    expect(shown('six')).toEqual(['-', 'macro of 6: 80.00']);
    expect(shown('eight')).toEqual(['80.00', '-']);
    expect(cellsOf(block, 'eight')?.[columns.indexOf('robotics')]).toBe('80.00');
    expect(names(block)).toEqual(['eight', 'seven', 'six']);
    expect(block?.legend).toContain('Overall: mean of the seven domains; other domains have their own columns.');
  });

  it('have no column for a further domain that no shown run has', () => {
    const runs = [run('a', 60, { domains: [...DOMAINS, 'robotics'] }), run('a', 50)];
    const columnsOf = (options: Partial<BoardOptions>) =>
      blocksOf(runs, options)[0]?.columns.flatMap(({ id }) => (id === 'robotics' ? [id] : []));
    expect(columnsOf({ show: 'all', withPublished: true })).toEqual(['robotics']);
    expect(columnsOf({ show: 'latest', withPublished: true })).toEqual([]);
    // Programs that read columns by name find it.
    expect(columnsOf({ show: 'latest', columns: ['overall', 'robotics'] })).toEqual(['robotics']);
  });

  it.each([
    ['latest', ['a', 'b'], ['40.00', '30.00']],
    ['best', ['a', 'b'], ['60.00', '30.00']],
    ['all', ['a', 'a', 'b'], ['60.00', '40.00', '30.00']],
  ] as const)('are the %s of each label', (show, labels, overall) => {
    const runs = [run('a', 60), run('a', 40), run('b', 30)];
    const [block] = blocksOf(runs, { show, columns: ['overall'] });
    expect(block?.rows.map((row) => row.run?.label)).toEqual(labels);
    expect(block?.rows.map((row) => row.texts[1])).toEqual(overall);
    expect(block?.notes.join().includes('best of several runs')).toBe(show === 'best');
  });

  it('are one per model if models identify them', () => {
    const runs = [run('a', 60), run('b', 40, { worldModel: 'other' }), run('c', 30)];
    expect(names(blocksOf(runs, { per: 'model' })[0])).toEqual(['other', 'model']);
  });

  it('an incomplete run is never the best of its label, comes last and is not marked', () => {
    const lucky = run('a', 99, { coverage: 0.5 });
    const [best] = blocksOf([run('a', 50), lucky], { show: 'best', columns: ['overall'] });
    expect(best?.rows[0]?.texts[1]).toBe('50.00');
    const [all] = blocksOf([run('a', 50), lucky, run('c', 40)], { show: 'all' }, () => true);
    expect(all?.rows.map((row) => [row.run?.label, row.marked.size > 0])).toEqual([
      ['a', true],
      ['c', true],
      ['a', false],
    ]);
    expect(all?.notes.join()).toContain(
      "A domain's coverage is below 99 %, so the run is neither tested nor marked: a (run",
    );
  });

  it('are chosen, sorted and shown by the score with failures, next to the official one if that differs', () => {
    const runs = [run('refuser', 60, { withFailures: 45 }), run('honest', 50)];
    const [block] = blocksOf(runs);
    expect(names(block)).toEqual(['honest', 'refuser']);
    const of = (name: string, id: string) =>
      cellsOf(block, name)?.[block?.columns.findIndex((column) => column.id === id) ?? -1];
    expect(['mcp', 'overall', 'official'].map((id) => of('refuser', id))).toEqual(['45.00', '45.00', '60.00']);
    expect(['mcp', 'overall', 'official'].map((id) => of('honest', id))).toEqual(['50.00', '50.00', '50.00']);
    expect(headings(blocksOf([run('b', 50)])[0])).not.toContain('Official');
    const [best] = blocksOf([run('a', 60, { withFailures: 45 }), run('a', 50)], { show: 'best', columns: ['overall'] });
    expect(best?.rows.map((row) => row.texts[1])).toEqual(['50.00']);
    expect(names(blocksOf(runs, { sort: 'official' })[0])).toEqual(['refuser', 'honest']);
  });

  it('with the same name are distinguished by step and number, and by file if they are in several', () => {
    const alike = (more: readonly Partial<BoardRun>[]) =>
      names(
        blocksOf(
          more.map((one, index) => run('a', 60 - index, { number: index + 1, ...one })),
          { show: 'all' },
        )[0],
      );
    expect(alike([{ step: '100' }, { step: '200' }])).toEqual(['a (step 100, run 1)', 'a (step 200, run 2)']);
    expect(alike([{}, {}])).toEqual(['a (run 1)', 'a (run 2)']);
    expect(alike([{ db: 'x' }, { db: 'y', number: 1 }])).toEqual(['a (run 1 of x)', 'a (run 1 of y)']);
  });

  it('are sorted and shown by the requested columns', () => {
    const runs = [run('a', 50), run('c', 60), run('b', 40)];
    expect(names(blocksOf(runs)[0])).toEqual(['c', 'a', 'b']);
    expect(names(blocksOf(runs, { sort: 'name' })[0])).toEqual(['a', 'b', 'c']);
    expect(headings(blocksOf(runs, { columns: ['web', 'mcp', 'date'] })[0])).toEqual(['Run', 'Web', 'MCP', 'Date']);
    expect(headings(blocksOf(runs, { dimensions: true })[0])).toContain('Factuality');
    expect(() => blocksOf(runs, { columns: ['overal'] })).toThrow('did you mean "overall"?');
    expect(() => blocksOf(runs, { sort: 'nonsense-column' })).toThrow('the columns are mcp, search');
  });

  it('a domain named like another column gets another name', () => {
    const [block] = blocksOf([run('a', 50, { domains: ['overall', '__proto__'] })]);
    expect(block?.columns.map((column) => column.id)).toEqual(expect.arrayContaining(['domain:overall', '__proto__']));
    expect(cellsOf(block, 'a')?.slice(1, 3)).toEqual(['50.00', '50.00']);
  });
});
