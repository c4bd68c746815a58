// The costs of runs in a leaderboard.

import { describe, expect, it } from 'vitest';
import type { Cost, RunCosts } from '../../../src/core/costs.js';
import { TEXT_FORMATS } from '../../../src/report/formats.js';
import { leaderboard } from '../../../src/report/leaderboard/leaderboard.js';
import { boardDocument } from '../../../src/view/result-documents.js';
import { blocksOf, cellsOf, DEFAULTS, headings, LOOK, names, never, run } from '../../support/boards.js';

function costs(usd: number | undefined, more: Partial<Cost> = {}): RunCosts {
  const usage = { promptTokens: 9, completionTokens: 12_345_678 };
  const total = { rows: 1000, unpriced: 0, usage, ...(usd === undefined ? {} : { usd }), ...more };
  return { world_model: { total, domains: new Map() }, judge: { total: { ...total, usd: 80.1 }, domains: new Map() } };
}

const runs = [
  run('dear', 60, { costs: costs(12.35) }),
  run('partly', 70, { costs: costs(3.1, { unpriced: 12 }) }),
  run('cheap', 50, { costs: costs(0.0034) }),
  run('unknown', 80, { costs: costs(undefined, { unpriced: 1000 }) }),
  run('early', 90),
  run('baseline', 40, {
    costs: { world_model: { total: { rows: 0, unpriced: 0, usage: {}, usd: 0 }, domains: new Map() } },
  }),
];
const columns = ['cost', 'judge-cost', 'tokens'];
const board = leaderboard(runs, { ...DEFAULTS, columns }, never);
const printed = (format: keyof typeof TEXT_FORMATS) => TEXT_FORMATS[format].print(board, LOOK);

describe('the costs of runs', () => {
  it('are shown on request', () => {
    expect(headings(blocksOf(runs)[0])).not.toContain('Cost');
    const [block] = blocksOf(runs, { columns });
    expect(block?.columns.map(({ heading }) => heading)).toEqual(['Run', 'Cost', 'Judge cost', 'Tokens per row']);
    expect(cellsOf(block, 'dear')).toEqual(['dear', '$12.35', '$80.10', '12,346']);
    expect(cellsOf(block, 'partly')).toEqual(['partly', '≥ $3.10', '≥ $80.10', '12,346']);
    expect(cellsOf(block, 'unknown')).toEqual(['unknown', '-', '≥ $80.10', '12,346']);
    expect(cellsOf(block, 'early')).toEqual(['early', '-', '-', '-']);
    expect(cellsOf(block, 'baseline')).toEqual(['baseline', '$0.00', '-', '-']);
  });

  it('sort from the lowest: partly known costs after that, and unknown ones last', () => {
    const [block] = blocksOf(runs, { sort: 'cost' });
    expect(names(block)).toEqual(['baseline', 'cheap', 'dear', 'partly', 'early', 'unknown']);
  });

  it('are neither tested nor marked, and notes say what they are', () => {
    const [block] = blocksOf(runs, { columns }, () => true);
    expect(block?.rows.every(({ marked }) => marked.size === 0)).toBe(true);
    const notes = block?.legend.join('\n');
    expect(notes).toContain(
      "Cost: US dollars of the world model's calls, including failed ones; ≥: the cost of some rows is unknown.",
    );
    expect(notes).toContain('Tokens per row: output of the world model, thinking included, as counted by its server.');
  });

  it('are a lower bound and no value for programs if they are only partly known', () => {
    const [block] = JSON.parse(printed('json')).blocks;
    const row = (name: string) => block.rows.find((one: { name: string }) => one.name === name);
    expect(row('dear').figures.cost).toMatchObject({ value: 12.35, best: false });
    expect(row('partly').figures.cost).toMatchObject({ value: null, low: 3.1 });
    expect(row('dear').costs.judge).toMatchObject({ usd: 80.1, unpriced: 0 });
    expect(row('early').costs).toEqual({ world_model: null, judge: null });
    const [head, ...lines] = printed('csv')
      .split('\r\n')
      .map((line) => line.split(','));
    const cells = (name: string) => {
      const line = lines.find((one) => one[3] === name);
      return ['cost', 'cost_low'].map((id) => line?.[head?.indexOf(id) ?? -1]);
    };
    expect(cells('dear')).toEqual(['12.35', '']);
    expect(cells('partly')).toEqual(['', '3.1']);
  });

  it('are text that every format can represent', () => {
    expect(printed('latex')).toContain('partly & \\ensuremath{\\geq} \\$3.10 &');
    expect(printed('md')).toContain('| partly | ≥ \\$3.10 |');
    const [block] = boardDocument(board).page.blocks;
    expect(block?.tables?.[0]?.groups.flat(2)).toContainEqual(expect.objectContaining({ text: '≥ $3.10' }));
    expect(printed('terminal')).toMatch(/^partly +≥ \$3\.10 +≥ \$80\.10 +12,346$/m);
  });
});
