// The document of a run: its figures are those of `awb score`, and it says what a reader must know before trusting them.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it, test } from 'vitest';
import { rowId } from '../../src/core/row-id.js';
import { DIMENSIONS, type JudgedRow } from '../../src/core/types.js';
import { readJudgedRun } from '../../src/results/read-run.js';
import { aggregate } from '../../src/stats/aggregate.js';
import type { Figure, PageBlock, RunDocument } from '../../src/view/documents.js';
import { leadingOf } from '../../src/view/listed-run.js';
import { binsOf, runDocument } from '../../src/view/run-document.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { ioIn } from '../support/io.js';
import { around, judgedRun } from '../support/judged-runs.js';
import { type MadeStep, steppedRow } from '../support/rollouts.js';
import { COSTS, documentOf, measuredRow, rowOf, runWith } from '../support/run-documents.js';

const REFUSED = { failed: 1, total: 0, failure: { class: 'refused', reason: 'no' } } as const;
const UNREADABLE = { failed: 1, total: 0, failure: { class: 'unreadable', reason: 'x' } } as const;

/** A key figure, by what its title begins with. */
const keyOf = ({ page }: RunDocument, title: string) => page.figures?.find((each) => each.title.startsWith(title));
/** A block, wherever it stands. */
function blockOf({ page }: RunDocument, title: string): PageBlock | undefined {
  const all = page.blocks.flatMap((block) => [block, ...(block.pair ?? [])]);
  return all.find((block) => block.title?.startsWith(title));
}
const tableOf = (document: RunDocument, title: string) => blockOf(document, title)?.tables?.[0];
/** Names and figures of a chart. */
function charted(document: RunDocument, title: string): (readonly [name: string, figure: Figure | null])[] {
  const { groups = [], drawings } = tableOf(document, title) ?? {};
  const figures = drawings && 'figures' in drawings ? drawings.figures : [];
  return groups.flat().map(([name = ''], at) => [typeof name === 'string' ? name : name.text, figures[at] ?? null]);
}

describe('the document of a judged run', () => {
  async function made() {
    const dir = await temporaryFolder();
    const file = await judgedRun(dir, {
      ...{ label: 'step-200', rating: around(2), meta: { step: '200' } },
      refuses: (domain, row) => domain === 'web' && row === 3,
    });
    const run = await readJudgedRun(file, [], () => {}, ioIn(dir));
    const document = runDocument(run, 'r1', { notes: ['A note.'] });
    const { stdout } = await awb(['score', '--predictions', file, '--db', join(dir, 'db.sqlite'), '--json']);
    return { dir, document, score: JSON.parse(stdout) };
  }

  it('has the numbers of awb score, unrounded', async () => {
    const { document, score } = await made();
    const { with_failures: web } = score.domains.web;
    const domains = charted(document, 'Scores by domain');
    const [, overall] = domains.pop() ?? [];
    expect(overall?.value).toBe(score.overall_with_failures.total_score);
    expect(keyOf(document, 'Overall')?.under).toContain(`official: ${score.overall.total_score.toFixed(1)}`);
    expect(overall).toMatchObject({
      low: score.overall_with_failures.intervals.total_score.low,
      high: score.overall_with_failures.intervals.total_score.high,
    });
    expect(domains.map(([, figure]) => figure?.value)).toEqual(
      Object.values<typeof score.domains.web>(score.domains).map((own) => own.with_failures.total_score),
    );
    expect(keyOf(document, 'Predictions')).toMatchObject({
      figure: String(score.valid),
      under: [`valid, of ${score.chosen} chosen`],
    });
    expect(keyOf(document, 'Failed')?.figure).toBe('1');
    expect(keyOf(document, 'Coverage')?.figure).toBe('100 %');
    const table = tableOf(document, 'Dimensions');
    const cells = table?.groups[0]?.find(([name]) => name === 'Web') ?? [];
    const texts = cells.map((cell) => (typeof cell === 'string' ? cell : cell.text));
    expect(texts.slice(2, 8)).toEqual([...DIMENSIONS, 'total_score'].map((name) => web[name].toFixed(2)));
    const { low, high } = web.intervals.total_score;
    expect(cells[7]).toMatchObject({ under: [`${low.toFixed(1)} to ${high.toFixed(1)}`] });
    expect(table?.columns.map(({ heading }) => heading)).not.toContain('95 % interval');
  });

  it('says how it was made, what its judge is worth, and what was noted; and it is JSON', async () => {
    const { dir, document } = await made();
    const { facts, title, lines, warnings, blocks } = document.page;
    expect(facts).toEqual(
      expect.arrayContaining([
        ['world model', 'wm'],
        ['judge', 'judge-model'],
        ['step', '200'],
        ['file', 'judged.jsonl'],
      ]),
    );
    expect([title, lines, warnings]).toEqual(['step-200', ['judge: uncalibrated'], ['A note.']]);
    expect(JSON.parse(blocks.at(-1)?.folds?.[0]?.blocks[0]?.text ?? '')).toEqual(
      JSON.parse(await readFile(join(dir, 'judged.manifest.json'), 'utf8')),
    );
    expect(JSON.parse(JSON.stringify(document))).toEqual(document);
  });
});

describe('what a run leads with', () => {
  it('counts failures at rating 1, and has the official figure if it differs', () => {
    const score = (...rows: readonly JudgedRow[]) => keyOf(documentOf(rows), 'Score');
    expect(score(rowOf(0), rowOf(1), rowOf(2, REFUSED))).toMatchObject({
      figure: '33.3',
      under: ['no interval', 'official: 50.0'],
    });
    expect(score(rowOf(0), rowOf(1))?.under).toEqual(['no interval']);
  });

  it('is a measure if nothing was rated: with its own scale, decimals and better side, and without ratings', () => {
    const rows = [0.5, 1.25, 3.5].map((bits, index) => measuredRow(index, { bits_per_byte: bits }));
    const document = documentOf(rows);
    expect(blockOf(document, 'Ratings')).toBeUndefined();
    expect(keyOf(document, 'bits_per_byte (macro of 1)')).toMatchObject({ figure: '1.75', under: ['no interval'] });
    const { tables } = blockOf(document, 'Dimensions') ?? {};
    expect(tables?.map(({ columns }) => columns.map(({ heading }) => heading))).toEqual([
      ['Domain', 'Rows', 'bits_per_byte'],
    ]);
    const text = [0, 1].map((index) => measuredRow(index, { chrf: 40, exact_match: 0 }));
    const lead = { name: 'chrf', decimals: 1, from: 0, to: 100, better: 'larger' };
    expect(leadingOf(runWith(text).card).lead).toEqual(lead);
    expect(blockOf(documentOf(text), 'Dimensions')?.note).toContain('on a scale of 0 to 100');
  });
});

describe('coverage', () => {
  it('of an incomplete run never reads as 100 %', () => {
    const rows = Array.from({ length: 3000 }, (_, index) => rowOf(index));
    expect(keyOf(documentOf([...rows, rowOf(3000, UNREADABLE)]), 'Coverage')?.figure).toBe('99.9 %');
  });

  it('names the domain with the least, rounded down as everywhere, and warns', () => {
    const rows = Array.from({ length: 31 }, (_, index) =>
      rowOf(index, { domain: 'web', ...(index < 21 ? UNREADABLE : {}) }),
    );
    const document = documentOf([...rows, rowOf(99)]);
    expect(keyOf(document, 'Coverage')?.under).toEqual(['least: Web 32.2 %']);
    expect(document.page.warnings?.[0]).toMatch(/^INCOMPLETE: step-1 has a coverage below 99 % \(Web 32\.2 %\)/);
  });

  it('counts rows that were chosen but are absent as missing', () => {
    const rows = [rowOf(0)];
    const document = documentOf(rows, {}, { card: aggregate(rows, new Map([['mcp', 4]])) });
    expect(keyOf(document, 'Failed')?.figure).toBe('3');
    expect(tableOf(document, 'Failures')?.groups).toEqual([[['not-judged', '3', '3']]]);
  });
});

describe('counts', () => {
  it('of failures and flags are by domain, the largest first', () => {
    const rows = [
      rowOf(0, { flags: ['untagged'] }),
      rowOf(1, { domain: 'web', flags: ['truncated'] }),
      rowOf(2, { domain: 'web', ...REFUSED, flags: ['truncated'] }),
    ];
    const document = documentOf(rows);
    const failures = tableOf(document, 'Failures');
    expect(failures?.columns.map(({ heading }) => heading)).toEqual(['Failure', 'All', 'MCP', 'Web']);
    const refused = { text: 'refused', link: '#/run/r1/samples?failure=refused' };
    expect(failures?.groups).toEqual([[[refused, '1', '0', '1']]]);
    expect(tableOf(document, 'Flags')?.groups[0]?.[0]?.[0]).toMatchObject({ text: 'truncated' });
    expect(blockOf(documentOf([rowOf(0)]), 'Flags')).toEqual({ title: 'Flags', note: 'None.' });
  });

  const formats = (...ratings: readonly number[]) => {
    const rows = ratings.map((format, index) => rowOf(index, { total: format, ratings: { format } }));
    const { groups, drawings } = tableOf(documentOf(rows), 'Ratings') ?? {};
    const [name, ...cells] = groups?.[0]?.[0] ?? [];
    return { name, mean: cells.at(-1), counts: drawings && 'counts' in drawings ? drawings.counts[0] : [] };
  };

  it('of ratings round fractions to the nearest integer, and the mean uses them unrounded', () => {
    expect(formats(3.4, 3.4, 1.2)).toEqual({ name: 'Format', counts: [1, 0, 2, 0, 0], mean: '2.67' });
  });

  it('of ratings leave out a 0 and what cannot be', () => {
    expect(formats(5, 0, 80)).toMatchObject({ counts: [0, 0, 0, 0, 1], mean: '5.00' });
  });
});

describe('its cost', () => {
  it('is shown by domain and in total for world model and judge, with the price and what is unknown', () => {
    const document = documentOf([rowOf(0)], COSTS);
    const costs = tableOf(document, 'Tokens and cost');
    expect(costs?.groups).toEqual([
      [
        ['World model', '19,000', '-', '280', '-', '≥ $12.35'],
        ['  MCP', '19,000', '-', '280', '-', '≥ $12.35'],
      ],
      [['Judge', '19,000', '-', '280', '-', 'unknown']],
    ]);
    expect(costs?.footnotes?.join(' ')).toContain(
      'World model: price of gpt-5.2 by prices.yaml; without 3 rows of unknown cost.',
    );
    expect(keyOf(document, 'Tokens')).toMatchObject({
      figure: '38.6 k',
      under: ['world model ≥ $12.35, judge unknown'],
    });
  });

  it('is absent if no model was asked, and has no dollars if no price is known', () => {
    expect(keyOf(documentOf([rowOf(0)]), 'Tokens')).toBeUndefined();
    expect(blockOf(documentOf([rowOf(0)]), 'Tokens')).toBeUndefined();
    const { judge } = COSTS;
    const document = documentOf([rowOf(0)], judge === undefined ? {} : { judge });
    expect(keyOf(document, 'Tokens')?.under).toEqual(['judge']);
  });
});

describe('a rollout', () => {
  const rowsWith = (more: Partial<MadeStep>, lost: number) =>
    (['mcp', 'web'] as const).flatMap((domain) =>
      Array.from({ length: 12 }, (_, trajectory) =>
        [1, 2, 9].map((step) =>
          steppedRow({
            ...{ domain, trajectory, step },
            rating: 4.5 - 0.05 * (trajectory % 4) - lost * step * (1 + (trajectory % 2)),
            ...(step === 9 && trajectory < 3 ? more : { ...more, offScript: [] }),
          }),
        ),
      ).flat(),
    );
  const rolloutIn = (rows: readonly JudgedRow[], forced?: readonly JudgedRow[]) => {
    const other = forced && runWith(forced, { name: 'true one' });
    return blockOf(runDocument(runWith(rows), 'r1', { forced: other }), 'Score by distance');
  };

  it('has a curve for all rows and for each domain, and the tables of awb score', () => {
    const rollout = rolloutIn(rowsWith({}, 0.1));
    expect(rollout?.curves?.curves.map(({ name, isSum }) => [name, isSum])).toEqual([
      ['All rows', true],
      ['MCP', false],
      ['Web', false],
    ]);
    expect(rollout?.curves?.curves[0]?.points.map(({ label, other }) => [label, other])).toEqual([
      ['1', undefined],
      ['2', undefined],
      ['9', undefined],
    ]);
    expect(rollout?.tables?.map(({ columns }) => columns[0]?.heading)).toEqual(['Distance']);
    expect(rollout?.note).not.toContain('Dashed');
    expect(rolloutIn([rowOf(0)])).toBeUndefined();
  });

  it('has the drift next to a run with true histories, and says what is off-script', () => {
    const rollout = rolloutIn(rowsWith({ offScript: ['/a'] }, 0.1), rowsWith({ isTrue: true }, 0));
    expect(rollout?.note).toContain('Dashed: the same rows predicted with true histories (true one).');
    expect(rollout?.curves?.curves[0]?.points[0]?.other).toBeGreaterThan(80);
    const [distance, drift] = rollout?.tables ?? [];
    expect(distance?.footnotes?.join(' ')).toContain('6 predictions of 72');
    expect(drift?.columns.map(({ heading }) => heading)).toContain('On script');
    expect(drift?.groups.at(-1)?.[0]?.slice(0, 4).join(' ')).toMatch(/^macro of 2 72 24 -3\.[78]/);
  });

  it('is not compared with a run that is also a rollout', () => {
    expect(rolloutIn(rowsWith({}, 0.1), rowsWith({}, 0))?.note).not.toContain('Dashed');
  });
});

describe('parts of the rows', () => {
  const SCORES = { measure: undefined, range: [0, 100] } as const;
  const turnOf = ({ turnIdx }: JudgedRow) => turnIdx;
  const rated = (turnIdx: number, rating: number, change: Partial<JudgedRow> = {}) =>
    rowOf(turnIdx, { key: `k${turnIdx}-${rating}`, turnIdx, total: rating, ratings: { format: rating }, ...change });

  test('contain about as many rows each, and every row with a score', () => {
    const bins = binsOf(
      Array.from({ length: 60 }, (_, index) => rated(index, 3)),
      turnOf,
      SCORES,
    );
    expect(bins.map(({ figure }) => figure.rows)).toEqual([10, 10, 10, 10, 10, 10]);
    expect(bins[0]?.name).toBe('0 to 9');
  });

  test('never share a value', () => {
    const rows = Array.from({ length: 60 }, (_, index) => rated(index < 50 ? 1 : 2, 3, { key: `k${index}` }));
    expect(binsOf(rows, turnOf, SCORES).map(({ name, figure }) => [name, figure.rows])).toEqual([
      ['1', 50],
      ['2', 10],
    ]);
  });

  test('are named in thousands if they are large; without a score or a quantity there are none', () => {
    expect(binsOf([rated(1, 1), rated(2, 2)], (row) => row.turnIdx * 12_345, SCORES)[1]?.name).toBe('25k');
    expect(binsOf([rowOf(1, REFUSED)], turnOf, SCORES)).toEqual([]);
    expect(binsOf([rated(1, 1)], () => undefined, SCORES)).toEqual([]);
  });

  test('count the judgements of a prediction as one row, those without a score not at all', () => {
    const rows = [rated(1, 1), rowOf(1, { ...REFUSED, key: 'k1-1', index: 1 }), rated(1, 3, { key: 'k1-1', index: 2 })];
    const bins = binsOf([...rows, rated(2, 5)], turnOf, SCORES);
    expect(bins.map(({ figure: { value, rows } }) => [value, rows])).toEqual([
      [25, 1],
      [100, 1],
    ]);
  });

  test('have intervals that stay within the range, and plain ones if it is open', () => {
    const bits = Array.from({ length: 7 }, (_, index) => measuredRow(index, { bits: index < 6 ? 1 : 99 }));
    const lowest = (range: readonly [number, number]) =>
      binsOf(bits, () => 1, { measure: 'bits', range })[0]?.figure.low;
    expect(lowest([0, 100])).toBeGreaterThan(0);
    expect(lowest([0, Number.POSITIVE_INFINITY])).toBeLessThan(0);
  });

  test('by context length contain the rows whose texts were read', () => {
    const excerpts = new Map(
      [rowOf(0), rowOf(1)].map(({ key }, at) => [
        rowId(key, 0, 0),
        { offset: 0, length: 1, checksum: 1, chars: 1000 * (at + 1) },
      ]),
    );
    const run = runWith([rowOf(0), rowOf(1), rowOf(2)], { excerpts });
    const contexts = charted(runDocument(run, 'r1'), 'Score by context length');
    expect(contexts.map(([name, figure]) => [name, figure?.rows])).toEqual([
      ['1.0k', 1],
      ['2.0k', 1],
    ]);
  });
});
