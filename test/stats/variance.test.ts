// The split of a run's own variance: which parts each design gives, and what is said about the others.
import { describe, expect, test } from 'vitest';
import { documentOf } from '../../src/core/document.js';
import { randomOf } from '../../src/core/random.js';
import type { JudgedRow } from '../../src/core/types.js';
import { VARIANCE, varianceSource, varianceText } from '../../src/report/trust.js';
import { aggregate } from '../../src/stats/aggregate.js';

/** Rows of a domain, each in its own trajectory, with this many repeats and judgements. */
function design(domain: string, repeats: number, judgements: number, rows = 40): JudgedRow[] {
  const { uniform } = randomOf(rows * 100 + repeats * 10 + judgements);
  const noise = (spread: number) => spread * (uniform() - 0.5);
  return Array.from({ length: rows }, (_, row) => {
    const level = 3 + noise(2);
    return Array.from({ length: repeats }, (_, repeat) => {
      const generation = level + noise(1);
      return Array.from({ length: judgements }, (_, index): JudgedRow => {
        const total = generation + noise(1);
        const key = `${domain}${row}`;
        return { key, trajectory: key, repeat, index, domain, turnIdx: 1, failed: 0, total, ratings: {}, flags: [] };
      });
    });
  }).flat(2);
}

const textOf = (rows: readonly JudgedRow[]) => {
  const { variance, domains } = aggregate(rows);
  return varianceText(
    variance,
    domains.flatMap((domain) => domain.variance ?? []),
  );
};
const documentFor = (rows: readonly JudgedRow[]) =>
  documentOf(VARIANCE.nullable(), varianceSource(aggregate(rows).variance) ?? null);

describe('the variance of a run', () => {
  test('is split into rows, generation and judge if each row was predicted and each prediction judged more than once', () => {
    const rows = design('web', 3, 3);
    expect(textOf(rows)).toMatch(/^rows \d+ %, generation \d+ %, judge \d+ %$/);
    expect(documentFor(rows)?.not_separable).toEqual([]);
    const { variance, overallWithFailures } = aggregate(rows);
    const sum = (variance?.row ?? 0) + (variance?.generation ?? 0) + (variance?.judge ?? 0);
    expect(sum).toBeCloseTo((overallWithFailures.total?.se ?? 0) ** 2, 9);
  });

  test('leaves generation with the rows if nothing was predicted again, and says so', () => {
    const rows = design('web', 1, 3);
    expect(textOf(rows)).toMatch(/^rows \d+ %, generation not separable, judge \d+ %$/);
    expect(documentFor(rows)).toMatchObject({ generation: null, not_separable: ['generation from row'] });
  });

  test('leaves the judge with generation if nothing was judged again, and says so', () => {
    const rows = design('web', 3, 1);
    expect(textOf(rows)).toMatch(/^rows \d+ %, generation \d+ %, judge not separable$/);
    expect(documentFor(rows)).toMatchObject({ judge: null, not_separable: ['judge from generation'] });
  });

  test('is one part if nothing was repeated: JSON says so, and the text has no line for it', () => {
    const rows = design('web', 1, 1);
    expect(textOf(rows)).toBeUndefined();
    expect(documentFor(rows)).toMatchObject({
      row: expect.any(Number),
      generation: null,
      judge: null,
      not_separable: ['generation from row', 'judge from row'],
    });
  });

  test('over domains with different designs has the parts that all of them know, and says which are missing', () => {
    const [crossed, judged, repeated] = [design('web', 3, 3), design('os', 1, 3), design('mcp', 3, 1)];
    expect(textOf([...crossed, ...judged])).toMatch(/^rows \d+ %, generation not separable, judge \d+ %$/);
    expect(textOf([...crossed, ...repeated])).toMatch(/^rows \d+ %, generation \d+ %, judge not separable$/);
    expect(textOf([...judged, ...repeated])).toBe('rows 100 %, generation not separable, judge not separable');
    // Each domain keeps the parts that it knows.
    expect(aggregate([...judged, ...repeated]).domains.map(({ variance }) => Object.keys(variance ?? {}))).toEqual([
      ['row', 'generation', 'perRepeat'],
      ['row', 'judge'],
    ]);
  });

  test('is absent without a standard error', () => {
    expect(aggregate(design('web', 3, 3, 4)).variance).toBeUndefined();
    expect(documentFor(design('web', 3, 3, 4))).toBeNull();
  });

  test('fits a line of 80 columns in every design', () => {
    for (const rows of [design('web', 3, 3), design('web', 1, 3), design('web', 3, 1)])
      expect(`variance: ${textOf(rows)}`.length).toBeLessThanOrEqual(80);
  });
});
