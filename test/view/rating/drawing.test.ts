// Which predictions people rate: stratified, seeded, and with two runs in pairs that are far apart; and their texts on the page.

import { describe, expect, it } from 'vitest';
import type { JudgedRow } from '../../../src/core/types.js';
import { drawBlind, drawSamples, gatherSamples } from '../../../src/view/rating-drawing.js';
import type { RowTexts } from '../../../src/view/sample-texts.js';
import { rowOf } from '../../support/run-documents.js';

/** Rows of three domains: 40 of one, 10 of another in 2 trajectories, 3 of the last. */
const ROWS: JudgedRow[] = [
  ...Array.from({ length: 40 }, (_, at) => rowOf(at, { key: `m${at}`, domain: 'mcp', trajectory: `m-t${at % 20}` })),
  ...Array.from({ length: 10 }, (_, at) => rowOf(at, { key: `s${at}`, domain: 'swe', trajectory: `s-t${at % 2}` })),
  ...Array.from({ length: 3 }, (_, at) => rowOf(at, { key: `o${at}`, domain: 'os', trajectory: `o-t${at}` })),
];
const keysOf = (drawn: ReturnType<typeof drawSamples>) => drawn.map(({ judgements: [{ key }] }) => key);
const countBy = (values: readonly string[]) =>
  Object.fromEntries(
    [...new Set(values)].sort().map((value) => [value, values.filter((each) => each === value).length]),
  );

describe('samples of a run', () => {
  it('are spread as evenly as possible over domains, and over their trajectories', () => {
    const drawn = drawSamples(ROWS, { samples: 21, seed: 1 });
    expect(countBy(drawn.map(({ judgements: [{ domain }] }) => domain))).toEqual({ mcp: 9, os: 3, swe: 9 });
    const trajectories = (domain: string) =>
      countBy(drawn.flatMap(({ judgements: [row] }) => (row.domain === domain ? [row.trajectory] : [])));
    expect(Object.values(trajectories('mcp'))).toEqual(Array(9).fill(1));
    expect(Object.values(trajectories('swe')).sort()).toEqual([4, 5]);
  });

  it('are spread from their start on', () => {
    const first = drawSamples(ROWS, { samples: 50, seed: 1 }).slice(0, 6);
    expect(countBy(first.map(({ judgements: [{ domain }] }) => domain))).toEqual({ mcp: 2, os: 2, swe: 2 });
  });

  it('are the same for the same seed, different for another, and without duplicates', () => {
    const keys = keysOf(drawSamples(ROWS, { samples: 20, seed: 1 }));
    expect(keysOf(drawSamples(ROWS, { samples: 20, seed: 1 }))).toEqual(keys);
    expect(keysOf(drawSamples(ROWS, { samples: 20, seed: 2 }))).not.toEqual(keys);
    expect(new Set(keysOf(drawSamples(ROWS, { samples: 500, seed: 1 }))).size).toBe(53);
  });

  it('draw every row of a domain equally often', () => {
    const counts = new Map<string, number>();
    for (let seed = 0; seed < 2000; seed++) {
      for (const key of keysOf(drawSamples(ROWS, { samples: 4, seed }))) counts.set(key, (counts.get(key) ?? 0) + 1);
    }
    // Two thousand times one of three and in two thirds of the draws a second one of 40: seven standard errors.
    const spread = (prefix: string) => [...counts].filter(([key]) => key.startsWith(prefix)).map(([, count]) => count);
    expect(Math.min(...spread('o'))).toBeGreaterThan(2000 / 3 - 150);
    expect(Math.max(...spread('o'))).toBeLessThan(2000 / 3 + 150);
    expect(spread('m')).toHaveLength(40);
  });

  it('include none that the judge could not rate, and a prediction judged twice counts once', () => {
    const failure = { class: 'judge-timeout', reason: 'no end' } as const;
    const failed = rowOf(0, { key: 'f', failed: 1, total: 0, ratings: {}, failure });
    const twice = [rowOf(1, { key: 'd' }), rowOf(1, { key: 'd', index: 1 })];
    const drawn = drawSamples([failed, ...twice], { samples: 5, seed: 1 });
    expect(drawn.map(({ judgements }) => judgements.map(({ key, index }) => [key, index]))).toEqual([
      [
        ['d', 0],
        ['d', 1],
      ],
    ]);
  });
});

describe('samples of two runs', () => {
  const others = ROWS.slice(5).map((row) => ({ ...row, total: 1 }));

  it('are both predictions of rows that both runs have, a full round apart', () => {
    const drawn = drawBlind(ROWS, others, { samples: 20, seed: 3 });
    const keys = keysOf(drawn);
    expect(keys).toHaveLength(20);
    expect(keys.slice(0, 10)).toEqual(keys.slice(10));
    expect(new Set(keys).size).toBe(10);
    expect(keys.filter((key) => /^m[0-4]$/.test(key))).toEqual([]);
    for (const [at, { run, judgements }] of drawn.entries()) {
      expect(drawn[(at + 10) % 20]?.run).toBe(1 - run);
      expect(judgements[0].total).toBe(run === 0 ? 3 : 1);
    }
  });

  it('come in an order in which nobody can tell which run is first', () => {
    const firsts = Array.from({ length: 200 }, (_, seed) => drawBlind(ROWS, others, { samples: 10, seed })[0]?.run);
    const ones = firsts.filter((run) => run === 1).length;
    expect(ones).toBeGreaterThan(50);
    expect(ones).toBeLessThan(150);
  });

  it('are empty if no row is in both', () => {
    expect(drawBlind(ROWS.slice(0, 5), others, { samples: 10, seed: 1 })).toEqual([]);
  });
});

const TEXTS: Omit<RowTexts, 'sample'> = {
  prediction: 'a\nb',
  truth: 'a\nc',
  action: 'do it',
  history: [{ action: 'first', observation: 'seen' }],
  systemPrompt: '',
  strengths: [],
  weaknesses: ['wrong'],
};

describe('texts of samples', () => {
  const drawn = drawSamples(ROWS, { samples: 2, seed: 1 });
  /** Gathers what a run predicted, where every row has the same texts around its action. */
  const gather = (most?: number) => {
    // Nothing here looks at the row that was put to the model.
    const read = async ({ key }: JudgedRow) => ({ ...TEXTS, action: `act ${key}` }) as RowTexts;
    return gatherSamples(drawn, [read], { stop: new AbortController().signal }, most);
  };

  it('are in the page once each', async () => {
    const { strings, samples } = (await gather()) ?? { strings: [], samples: [] };
    expect(new Set(strings).size).toBe(strings.length);
    for (const { key, truth, action, history, system, prediction } of samples) {
      const texts = [truth, action, prediction ?? -1, ...(history ?? [])].map((place) => strings[place]);
      expect([...texts, system]).toEqual([TEXTS.truth, `act ${key}`, TEXTS.prediction, 'first', 'seen', undefined]);
    }
  });

  it('are refused if a page has no room for them', async () => {
    await expect(gather(24)).rejects.toThrow(/too much for one page; draw fewer --samples$/);
  });
});
