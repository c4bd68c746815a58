// The figures of runs on scenarios, checked against NumPy and SciPy, and their rules for little data.

import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import { type EstimateDocument, estimateDocument } from '../../src/core/document.js';
import { keysOf } from '../../src/core/groups.js';
import { measuresOf } from '../../src/core/measures.js';
import { SCENARIO_MEASURES, type ScenarioRow } from '../../src/core/scenario-row.js';
import { DOMAINS, type Estimate } from '../../src/core/types.js';
import { aggregate } from '../../src/stats/aggregate.js';
import { type ScenarioPart, scenarioFigures } from '../../src/stats/scenarios.js';

type Outside = Record<string, Record<string, Partial<Estimate>>>;
interface KnownSet {
  readonly name: string;
  readonly rows: readonly Pick<ScenarioRow, 'scenario' | 'domain' | 'trajectory' | 'measures'>[];
  readonly figures: { readonly scenarios: Outside; readonly domains: Outside; readonly overall: Outside[string] };
}

const { sets } = JSON.parse(readFileSync('fixtures/scenarios.json', 'utf8')) as { sets: KnownSet[] };

function rowOf(row: KnownSet['rows'][number], index: number): ScenarioRow {
  return {
    key: `key-${index}:${row.scenario}`,
    repeat: 0,
    index: 0,
    turnIdx: 1,
    total: 0,
    ratings: {},
    flags: [],
    ...row,
  };
}

/** The known measures of a part. */
function figuresIn(part: ScenarioPart | undefined): Record<string, EstimateDocument> {
  return Object.fromEntries(
    keysOf(SCENARIO_MEASURES).flatMap((name) => {
      const estimate = part?.[name] ?? null;
      return estimate === null ? [] : [[name, estimate]];
    }),
  );
}

function expectFigures(part: ScenarioPart | undefined, outside: Record<string, Partial<Estimate>> | undefined) {
  expect(Object.keys(figuresIn(part)).sort()).toEqual(Object.keys(outside ?? {}).sort());
  for (const [name, known] of Object.entries(outside ?? {})) {
    const estimate = figuresIn(part)[name];
    expect(estimate?.value, name).toBeCloseTo(known.value ?? Number.NaN, 9);
    for (const figure of ['low', 'high'] as const) {
      if (known[figure] === undefined) expect(estimate?.[figure], `${name} ${figure}`).toBeNull();
      else expect(estimate?.[figure], `${name} ${figure}`).toBeCloseTo(known[figure], 6);
    }
    if (known.df !== undefined) expect(estimate?.df, name).toBeCloseTo(known.df, 6);
  }
}

describe.each(sets)('of $name', ({ rows, figures }) => {
  const made = scenarioFigures(rows.map(rowOf));

  it('every scenario has the figures and intervals of NumPy and SciPy', () => {
    expect(Object.keys(made.scenarios).sort()).toEqual(Object.keys(figures.scenarios).sort());
    for (const [name, part] of Object.entries(made.scenarios)) expectFigures(part, figures.scenarios[name]);
  });

  it('so do every domain and the mean of the domains', () => {
    expect(Object.keys(made.domains).sort()).toEqual(Object.keys(figures.domains).sort());
    for (const [name, part] of Object.entries(made.domains)) expectFigures(part, figures.domains[name]);
    expectFigures(made.overall, figures.overall);
  });

  it('the score card, which feeds SQLite and leaderboards, gives domains and mean the same figures and intervals', () => {
    const card = aggregate(rows.map(rowOf), undefined, measuresOf(SCENARIO_MEASURES));
    const documents = (measures: Readonly<Record<string, Estimate>>) =>
      Object.fromEntries(Object.entries(measures).map(([name, estimate]) => [name, estimateDocument(estimate)]));
    expect(card.domains.map(({ domain, measures }) => [domain, documents(measures)])).toEqual(
      Object.entries(made.domains).map(([name, part]) => [name, figuresIn(part)]),
    );
    expect(documents(card.overallMeasures)).toEqual(figuresIn(made.overall));
  });
});

const row = (change: Partial<ScenarioRow>, index: number): ScenarioRow => ({
  ...rowOf({ scenario: 'one', domain: 'web', trajectory: `t${index}` }, index),
  ...change,
});

describe('with little data', () => {
  it('four trajectories give no interval, and five that agree give one that is not a point', () => {
    const alike = (count: number) =>
      scenarioFigures(Array.from({ length: count }, (_, index) => row({ measures: { followed: 100 } }, index)));
    expect(alike(4).overall.followed).toMatchObject({ value: 100, rows: 4, clusters: 4, low: null });
    expect(alike(4).domains.web?.followed?.low).toBeNull();
    expect(alike(5).domains.web?.followed).toMatchObject({ value: 100, high: 100 });
    expect(alike(5).domains.web?.followed?.low).toBeCloseTo(100 * 0.025 ** (1 / 5), 9);
  });

  it('a row that the model refused counts as not followed; one lost in transport is missing and counted', () => {
    const refused = { class: 'refused', reason: 'no' } as const;
    const { domains } = scenarioFigures([
      row({ measures: { followed: 100, leaked: 0 } }, 0),
      row({ measures: { followed: 0 }, failure: refused }, 1),
      row({ failure: { class: 'prediction', reason: 'gone' } }, 2),
    ]);
    expect(domains.web).toMatchObject({ samples: 3, trajectories: 3, failures: { refused: 1, prediction: 1 } });
    expect(domains.web?.followed).toMatchObject({ value: 50, rows: 2 });
    expect(domains.web?.leaked).toMatchObject({ value: 0, rows: 1 });
  });

  it('a scenario with two domains is reported overall and for each', () => {
    const both = [row({ measures: { followed: 100 } }, 0), row({ domain: 'os', measures: { followed: 0 } }, 1)];
    const { scenarios, overall } = scenarioFigures(both);
    expect(Object.keys(scenarios)).toEqual(['one']);
    expect(scenarios.one).toMatchObject({ samples: 2, followed: { value: 50 } });
    expect(Object.entries(scenarios.one?.domains ?? {}).map(([name, part]) => [name, part.followed?.value])).toEqual([
      ['web', 100],
      ['os', 0],
    ]);
    expect(overall.followed?.value).toBe(50);
  });
});

it('the mean covers only the seven if there are other domains', () => {
  const of = (domain: string, value: number, from: number) =>
    [0, 1, 2, 3, 4, 5].map((index) =>
      row({ domain, measures: { followed: (value + index) % 2 ? 100 : 0 } }, from + index),
    );
  const seven = DOMAINS.flatMap((domain, place) => of(domain, place, place * 10));
  const kitchen = [0, 1, 2, 3, 4, 5].map((index) =>
    row({ domain: 'kitchen', measures: { followed: 100 } }, 100 + index),
  );
  const alone = scenarioFigures(seven);
  const both = scenarioFigures([...seven, ...kitchen]);
  expect(Object.keys(both.domains)).toEqual([...DOMAINS, 'kitchen']);
  expect(figuresIn(both.overall)).toEqual(figuresIn(alone.overall));
  expect(scenarioFigures([...seven.slice(6), ...kitchen]).overall.followed?.value).toBeGreaterThan(50);
});
