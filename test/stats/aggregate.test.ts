// Score cards: the official counting, coverage, failures, repeats, measures, and the published table.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type Measure, measuresOf } from '../../src/core/measures.js';
import {
  DIMENSIONS,
  DOMAINS,
  type JudgedRow,
  type Ratings,
  type ScoreCard,
  type ScoreSet,
} from '../../src/core/types.js';
import { aggregate } from '../../src/stats/aggregate.js';
import { studentTQuantile } from '../../src/stats/distributions.js';

let serial = 0;

function row(fields: Partial<JudgedRow> = {}): JudgedRow {
  serial++;
  return {
    key: `key-${serial}`,
    trajectory: `trajectory-${serial}`,
    repeat: 0,
    index: 0,
    domain: 'terminal',
    turnIdx: 1,
    total: 0,
    ratings: {},
    flags: [],
    ...fields,
  };
}

/** A valid row with these ratings; its total is the mean of those above 0. */
function rated(ratings: Ratings, fields: Partial<JudgedRow> = {}): JudgedRow {
  const above = Object.values(ratings).filter((rating) => rating > 0);
  const total = above.length === 0 ? 0 : above.reduce((sum, rating) => sum + rating, 0) / above.length;
  return row({ failed: 0, ratings, total, ...fields });
}

const even = (rating: number, fields: Partial<JudgedRow> = {}) =>
  rated({ format: rating, factuality: rating, consistency: rating, realism: rating, quality: rating }, fields);

type FailureClass = NonNullable<JudgedRow['failure']>['class'];
const lost = (failure: FailureClass, fields: Partial<JudgedRow> = {}) =>
  row({ failed: 1, failure: { class: failure, reason: 'told in the row' }, ...fields });

function domain(card: ScoreCard, name: string) {
  const found = card.domains.find((one) => one.domain === name);
  if (found === undefined) {
    throw new Error(`no domain ${name}`);
  }
  return found;
}

const value = (scores: ScoreSet, name: keyof ScoreSet = 'total') => scores[name]?.value;

describe('official counting', () => {
  test.each([
    [1, 0],
    [2, 25],
    [3.2, 55.00000000000001],
    [5, 100],
  ])('a mean rating of %d is a score of %d, unrounded', (rating, score) => {
    expect(value(aggregate([row({ failed: 0, total: rating })]).overall)).toBe(score);
  });

  test("the mean equals Python's statistics.mean, not that of a rounded sum", () => {
    const totals = [3, 3.6666666666666665, 2.6];
    const card = aggregate(totals.map((total) => row({ failed: 0, total })));
    expect(value(card.overall)).toBe(((3.088888888888889 - 1) / 4) * 100);
  });

  test.each([
    ['0 is valid', 0, 1],
    ['minus 0 is valid', -0, 1],
    ['1 is not', 1, 0],
    ['something in between is not', 0.5, 0],
    ['a missing one is not', undefined, 0],
  ])('failed: %s', (_, failed, valid) => {
    const { failed: _dropped, ...bare } = even(4);
    const card = aggregate([failed === undefined ? bare : { ...bare, failed }]);
    expect(card).toMatchObject({ valid, failed: 1 - valid });
    expect(value(card.overall)).toBe(valid === 1 ? 75 : undefined);
  });

  test('an impossible rating counts officially, and not with failures', () => {
    const card = aggregate([even(4), rated({ format: 100, factuality: 2, consistency: 2, realism: 2, quality: 2 })]);
    const terminal = domain(card, 'terminal');
    expect(value(terminal.scores, 'format')).toBe(1275);
    expect(value(terminal.scores)).toBeGreaterThan(100);
    expect(value(terminal.withFailures, 'format')).toBe(75);
    expect(value(terminal.withFailures)).toBe(75);
    expect(value(terminal.withFailures, 'realism')).toBe(50);
  });

  test('a zero is omitted only from its own mean', () => {
    const card = aggregate([
      rated({ format: 0, factuality: 2, consistency: 3, realism: 3, quality: 4 }),
      rated({ format: 5, factuality: 4, consistency: 3, realism: 3, quality: 4 }),
    ]);
    expect(value(card.overall, 'format')).toBe(100);
    expect(card.overall.format?.rows).toBe(1);
    expect(value(card.overall, 'factuality')).toBe(50);
    expect(card.overall.factuality?.rows).toBe(2);
  });

  test('a dimension without any rating is absent, not -25', () => {
    const card = aggregate([rated({ quality: 3 })]);
    expect(Object.keys(card.overall).sort()).toEqual(['quality', 'total']);
  });

  test.each([
    ['without any rating above 0', { format: 0 }, {}],
    ['with an impossible rating', { format: 9 }, { format: expect.anything(), total: expect.anything() }],
  ])('a valid row %s is valid but not covered, so it gains nothing', (_, ratings, official) => {
    const card = aggregate([rated(ratings)]);
    expect(card).toMatchObject({ valid: 1, failed: 0, coverage: 0 });
    expect(card.domains[0]?.failures).toEqual({ 'not-rated': 1 });
    expect(card.overall).toEqual(official);
    expect(card.overallWithFailures).toEqual({});
  });

  test('unknown domains get their own rows, sorted by name, after the published ones in their order', () => {
    const names = ['zoo', 'os', 'mcp', '__proto__', 'car', 'search'];
    const card = aggregate(names.map((name) => even(3, { domain: name })));
    expect(card.domains.map((one) => one.domain)).toEqual(['mcp', 'search', 'os', '__proto__', 'car', 'zoo']);
  });

  test('no rows give an empty card', () => {
    expect(aggregate([])).toEqual({
      domains: [],
      overall: {},
      macroOf: 0,
      overallMicro: {},
      overallWithFailures: {},
      overallMeasures: {},
      chosen: 0,
      valid: 0,
      failed: 0,
      coverage: 0,
    });
  });
});

describe('overall', () => {
  const uneven = [even(5, { domain: 'mcp' }), even(5, { domain: 'mcp' }), even(5, { domain: 'mcp' }), even(1)];

  test('is the mean over domains, next to the mean over samples', () => {
    const card = aggregate(uneven);
    expect(value(card.overall)).toBe(50);
    expect(value(card.overallMicro)).toBe(75);
    expect(card.macroOf).toBe(2);
  });

  test('counts only domains with a total among the domains that it averages', () => {
    const card = aggregate([...uneven, lost('unreadable', { domain: 'web' })]);
    expect(card.macroOf).toBe(2);
    expect(value(card.overall)).toBe(50);
    expect(card.coverage).toBe(0.8);
  });

  const published = JSON.parse(readFileSync(new URL('../../fixtures/published.json', import.meta.url), 'utf8')) as {
    rows: { model: string; scores: Record<string, number>; overall: number }[];
  };

  test.each(published.rows)('the published Overall of $model is the macro mean of its columns', (model) => {
    const rows = DOMAINS.map((name) =>
      row({ domain: name, failed: 0, total: 1 + ((model.scores[name] ?? Number.NaN) / 100) * 4 }),
    );
    const card = aggregate(rows);
    // The only row whose own columns do not give the published figure.
    const expected = model.model === 'Qwen-AgentWorld-397B-A17B' ? '58.76' : model.overall.toFixed(2);
    expect(value(card.overall)?.toFixed(2)).toBe(expected);
    expect(card.macroOf).toBe(7);
  });

  const seven = DOMAINS.flatMap((name, place) =>
    [0, 1, 2, 3, 4, 5].map((index) =>
      even(1 + ((place + index) % 5), {
        domain: name,
        trajectory: `${name}-${index}`,
        measures: { bleu: place + index },
      }),
    ),
  );
  const kitchen = [2, 3, 3, 4, 1].map((rating) => even(rating, { domain: 'kitchen', measures: { bleu: 99 } }));

  test('of the seven stays the same whatever other domains exist; the mean over samples covers all, as in the official script', () => {
    const alone = aggregate(seven);
    const { domains, ...means } = aggregate([...kitchen, lost('empty', { domain: 'kitchen' }), ...seven]);
    expect(domains.map((score) => score.domain)).toEqual([...DOMAINS, 'kitchen']);
    expect(domains.at(-1)?.scores.total?.value).toBeCloseTo(40, 10);
    const { overall, overallWithFailures, overallMeasures, macroOf } = alone;
    expect(means).toMatchObject({ overall, overallWithFailures, overallMeasures, macroOf });
    expect(means.overallMicro.total?.rows).toBe(47);
    expect(macroOf).toBe(7);
    expect(means).toMatchObject({ chosen: 48, valid: 47, failed: 1 });
  });

  test('of a run that lacks one of the seven includes the other domain', () => {
    const card = aggregate([...kitchen, ...seven.filter((one) => one.domain !== 'os')]);
    expect(card.macroOf).toBe(7);
    const means = card.domains.map((score) => score.scores.total?.value ?? Number.NaN);
    expect(value(card.overall)).toBeCloseTo(means.reduce((sum, one) => sum + one, 0) / 7, 10);
    expect(card.overallMicro.total?.rows).toBe(41);
  });
});

describe('uncertainty', () => {
  test('turns of one trajectory are one cluster, within a domain and over all', () => {
    const card = aggregate([
      even(2, { trajectory: 'a' }),
      even(3, { trajectory: 'a' }),
      even(5, { trajectory: 'b' }),
      even(4, { trajectory: 'c', domain: 'web' }),
    ]);
    expect(domain(card, 'terminal').scores.total).toMatchObject({ rows: 3, clusters: 2 });
    expect(card.overallMicro.total).toMatchObject({ rows: 4, clusters: 3 });
    expect(card.overall.total).toEqual({ value: (175 / 3 + 75) / 2, rows: 4, clusters: 3 });
  });

  test('the interval stays within the scale, and is wider on the side towards the middle', () => {
    const {
      value,
      low = 0,
      high = 0,
    } = aggregate([5, 5, 5, 5, 4, 5].map((rating) => even(rating))).overall.total ?? {
      value: 0,
    };
    expect(high).toBeLessThan(100);
    expect(value - low).toBeGreaterThan(2 * (high - value));
  });

  test('fewer than five trajectories have none, in the domain and in Overall', () => {
    const many = [2, 3, 4, 5, 3].map((rating) => even(rating));
    const few = [2, 3, 4, 5].map((rating) => even(rating, { domain: 'web' }));
    const card = aggregate([...many, ...few]);
    expect(domain(card, 'terminal').scores.total?.low).toBeDefined();
    expect(domain(card, 'web').scores.total).toEqual({ value: 62.5, rows: 4, clusters: 4 });
    expect(card.overall.total).toEqual({ value: (60 + 62.5) / 2, rows: 9, clusters: 9 });
  });

  test('a score of exactly 100 has no interval', () => {
    const { total } = aggregate(Array.from({ length: 60 }, () => even(5))).overall;
    expect(total).toMatchObject({ value: 100, se: 0 });
    expect(total?.low).toBeUndefined();
  });
});

describe('failures', () => {
  test('those of the model count as rating 1 next to the official score; the others stay missing', () => {
    const card = aggregate([
      even(5),
      lost('empty'),
      lost('context-overflow'),
      lost('refused'),
      lost('unreadable'),
      lost('prediction'),
      lost('judge-timeout'),
    ]);
    const terminal = domain(card, 'terminal');
    for (const name of [...DIMENSIONS, 'total'] as const) {
      expect(value(terminal.scores, name)).toBe(100);
      expect(value(terminal.withFailures, name)).toBe(100 / 3);
    }
    expect(value(card.overallWithFailures)).toBe(100 / 3);
    expect(terminal).toMatchObject({ valid: 1, failed: 6, chosen: 7, coverage: 3 / 7 });
    expect(terminal.failures).toEqual({
      empty: 1,
      'context-overflow': 1,
      refused: 1,
      unreadable: 1,
      prediction: 1,
      'judge-timeout': 1,
    });
  });

  test('a domain in which the model failed in every row has a score of 0 with failures, and none without', () => {
    const card = aggregate([lost('empty'), lost('empty')]);
    expect(domain(card, 'terminal').scores).toEqual({});
    expect(value(card.overallWithFailures)).toBe(0);
    expect(card.coverage).toBe(1);
  });

  test('a failure without a reason is counted as such', () => {
    expect(domain(aggregate([row({ failed: 1 }), row()]), 'terminal').failures).toEqual({ unstated: 2 });
  });

  test('flags are counted on valid and on failed rows', () => {
    const card = aggregate([even(3, { flags: ['truncated', 'untagged'] }), lost('empty', { flags: ['truncated'] })]);
    expect(domain(card, 'terminal').flags).toEqual({ truncated: 2, untagged: 1 });
  });
});

describe('coverage', () => {
  test('counts rows that were chosen but are missing from the file', () => {
    const card = aggregate([even(3), even(3), lost('unreadable')], new Map([['terminal', 10]]));
    expect(domain(card, 'terminal')).toMatchObject({ chosen: 10, valid: 2, failed: 1, coverage: 0.2 });
    expect(domain(card, 'terminal').failures).toEqual({ unreadable: 1, 'not-judged': 7 });
  });

  test('lists a chosen domain without rows, and omits a domain from which nothing was chosen', () => {
    const card = aggregate(
      [even(3)],
      new Map([
        ['terminal', 1],
        ['web', 4],
        ['os', 0],
      ]),
    );
    expect(card.domains.map((one) => one.domain)).toEqual(['terminal', 'web']);
    expect(domain(card, 'web')).toMatchObject({ coverage: 0, failures: { 'not-judged': 4 } });
    expect(domain(card, 'web').scores).toEqual({});
    expect(card).toMatchObject({ chosen: 5, coverage: 0.2, macroOf: 1 });
  });

  test('never exceeds 1 if the file contains more than was chosen', () => {
    const card = aggregate([even(3), even(3), lost('unreadable')], new Map([['terminal', 1]]));
    expect(card).toMatchObject({ chosen: 3, coverage: 2 / 3 });
  });
});

describe('repeats', () => {
  test('are averaged within the row before rows are averaged', () => {
    const card = aggregate([
      even(1, { key: 'a', trajectory: 'x' }),
      even(1, { key: 'a', trajectory: 'x', repeat: 1 }),
      even(4, { key: 'a', trajectory: 'x', repeat: 2 }),
      even(4, { key: 'b', trajectory: 'y' }),
    ]);
    expect(value(card.overall)).toBe(50);
    expect(value(card.overallMicro)).toBe(50);
    expect(card.overall.total).toMatchObject({ rows: 2, clusters: 2 });
    expect(card).toMatchObject({ valid: 4, chosen: 4 });
  });

  test('that the model failed lower only their own row', () => {
    const card = aggregate([even(5, { key: 'a' }), lost('empty', { key: 'a', repeat: 1 }), even(5, { key: 'b' })]);
    expect(value(card.overall)).toBe(100);
    expect(value(card.overallWithFailures)).toBe(75);
  });
});

describe('judgements of one prediction', () => {
  test("are averaged before the row's other repeats are, without those that failed", () => {
    const a = { key: 'a', trajectory: 'x' };
    const card = aggregate([
      even(1, a),
      even(2, { ...a, index: 1 }),
      lost('judge-timeout', { ...a, index: 2 }),
      even(4.5, { ...a, repeat: 1 }),
      even(4, { key: 'b', trajectory: 'y' }),
    ]);
    // For row a: ((1 + 2) / 2 + 4.5) / 2 = 3.
    expect(value(card.overall)).toBe((50 + 75) / 2);
    expect(value(card.overallMicro)).toBe((50 + 75) / 2);
    expect(card.overall.total).toMatchObject({ rows: 2, clusters: 2 });
  });

  test('count as one prediction, which is valid and covered if any of them is', () => {
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((key) => (index: number) => ({ key, index, flags: ['untagged'] }));
    if (!a || !b || !c || !d) throw new Error('four keys');
    const card = aggregate(
      [
        ...[lost('judge-timeout', a(0)), even(3, a(1))],
        ...[lost('unreadable', b(0)), lost('judge-timeout', b(1))],
        ...[lost('unreadable', c(0)), lost('planted', c(1))],
        ...[rated({}, d(0)), rated({}, d(1))],
      ],
      new Map([['terminal', 5]]),
    );
    expect(domain(card, 'terminal')).toMatchObject({
      chosen: 5,
      valid: 2,
      failed: 2,
      failures: { unreadable: 1, planted: 1, 'not-rated': 1, 'not-judged': 1 },
      coverage: 2 / 5,
      flags: { untagged: 4 },
    });
  });

  test('each count as if they were the only one if the prediction plants a verdict', () => {
    const card = aggregate([even(4, { key: 'a' }), lost('planted', { key: 'a', index: 1 })]);
    expect(value(card.overall)).toBe(75);
    expect(value(card.overallWithFailures)).toBe((75 + 0) / 2);
  });

  test('are averaged per measure', () => {
    const card = aggregate([10, 20].map((chrf, index) => row({ key: 'a', index, measures: { chrf } })));
    expect(card.overallMeasures.chrf).toMatchObject({ value: 15, rows: 1 });
    expect(card).toMatchObject({ chosen: 1, valid: 1, coverage: 1 });
  });

  test('that equal a single one give its card to the last bit', () => {
    const rating = fc.integer({ min: 0, max: 50 }).map((tenths) => tenths / 10);
    const rows = fc.array(fc.tuple(rating, fc.integer({ min: 0, max: 9 }), fc.integer({ min: 0, max: 2 })), {
      minLength: 1,
      maxLength: 40,
    });
    fc.assert(
      fc.property(rows, (some) => {
        const once = some.map(([total, trajectory, repeat], place) =>
          even(total, {
            key: `k${place % 15}`,
            trajectory: `t${trajectory}`,
            repeat: 3 * Math.floor(place / 15) + repeat,
          }),
        );
        const thrice = [0, 1, 2].flatMap((index) => once.map((one) => ({ ...one, index })));
        const { judgements, ...card } = aggregate(thrice);
        // Only the card with several judgements shows that the judge adds no variance.
        const withoutVariance = ({ variance: _, domains, ...rest }: Omit<ScoreCard, 'judgements'>) => {
          return { ...rest, domains: domains.map(({ variance: _own, ...domain }) => domain) };
        };
        expect(withoutVariance(card)).toEqual(withoutVariance(aggregate(once)));
        expect(judgements).toEqual({ count: thrice.length, failures: {} });
      }),
      { numRuns: 50 },
    );
  });
});

describe('measures with their own range', () => {
  const rowsOf = (...values: number[]) => values.map((bits) => row({ measures: { bits } }));
  const estimateOf = (values: readonly number[], range: Measure['range']) =>
    aggregate(rowsOf(...values), undefined, measuresOf({ bits: { range, better: 'smaller' } })).overallMeasures.bits;

  test('without an upper end have a symmetric interval, which is not cut at 0 or 100', () => {
    const { value, low, high, se = 0 } = estimateOf([90, 140, 120, 95, 160], [0, Number.POSITIVE_INFINITY]) ?? {};
    expect(value).toBe(121);
    expect((high ?? 0) - 121).toBeCloseTo(121 - (low ?? 0), 9);
    expect((high ?? 0) - 121).toBeCloseTo(studentTQuantile(0.975, 4) * se, 9);
  });

  test('with both ends have the interval of a score, scaled to their range', () => {
    const shares = [0.97, 0.99, 0.9, 0.95, 0.999];
    const score = estimateOf(
      shares.map((share) => share * 100),
      [0, 100],
    );
    for (const [low, high] of [
      [0, 1],
      [-3, 5],
    ] as const) {
      const drawn = estimateOf(
        shares.map((share) => low + share * (high - low)),
        [low, high],
      );
      for (const end of ['value', 'low', 'high'] as const) {
        expect(drawn?.[end]).toBeCloseTo(low + ((score?.[end] ?? Number.NaN) / 100) * (high - low), 9);
      }
      expect(drawn?.high).toBeLessThan(high);
    }
  });

  test('beyond their range have no interval, like a score at either end', () => {
    expect(estimateOf([150, 140, 120, 95, 160], [0, 100])).not.toHaveProperty('low');
  });
});

describe('measures', () => {
  const measured = (chrf: number, fields: Partial<JudgedRow> = {}) => row({ measures: { chrf }, ...fields });

  test('of a file without ratings give a complete card without scores', () => {
    const card = aggregate([measured(10), measured(30), measured(80, { domain: 'web' })], new Map([['web', 2]]));
    expect(card).toMatchObject({ valid: 3, failed: 0, chosen: 4, coverage: 0.75, macroOf: 2 });
    expect(card.overallMeasures.chrf).toMatchObject({ value: 50, rows: 3 });
    expect(domain(card, 'terminal').measures.chrf).toMatchObject({ value: 20, rows: 2, clusters: 2 });
    for (const scores of [card.overall, card.overallMicro, card.overallWithFailures]) {
      expect(scores).toEqual({});
    }
  });

  test('of a file without ratings get no scores if a prediction failed, and that prediction is not covered', () => {
    const card = aggregate([measured(10), row({ failure: { class: 'refused', reason: 'filtered' } })]);
    expect(card).toMatchObject({ valid: 1, failed: 1, coverage: 0.5 });
    expect(card.overallWithFailures).toEqual({});
    expect(card.overallMeasures.chrf?.rows).toBe(1);
  });

  test('cover a failure that the model caused', () => {
    const card = aggregate([measured(10), measured(0, { failure: { class: 'empty', reason: 'none' } })]);
    expect(card).toMatchObject({ valid: 1, failed: 1, coverage: 1 });
    expect(card.overallMeasures.chrf).toMatchObject({ value: 5, rows: 2 });
  });

  test('do not make a failed row valid', () => {
    const card = aggregate([measured(0, { failure: { class: 'prediction', reason: 'connection reset' } })]);
    expect(card).toMatchObject({ valid: 0, failed: 1, coverage: 0 });
  });

  test('next to ratings stay separate, and count even if no verdict could be read', () => {
    const card = aggregate([
      even(5, { measures: { chrf: 20 } }),
      lost('unreadable', { measures: { chrf: 40, json_f1: 90 } }),
    ]);
    expect(value(card.overall)).toBe(100);
    expect(card.overallMeasures.chrf).toMatchObject({ value: 30, rows: 2 });
    expect(card.overallMeasures.json_f1).toMatchObject({ value: 90, rows: 1 });
    expect(card).toMatchObject({ valid: 1, failed: 1, coverage: 0.5 });
  });

  test('that some domains lack are averaged over the others', () => {
    const card = aggregate([measured(10), row({ domain: 'mcp', measures: { chrf: 30, json_f1: 60 } })]);
    expect(card.overallMeasures.chrf?.value).toBe(20);
    expect(card.overallMeasures.json_f1?.value).toBe(60);
  });
});

describe('any judged file', () => {
  const rating = fc.integer({ min: 0, max: 5 });
  const ratings = fc.record(Object.fromEntries(DIMENSIONS.map((name) => [name, rating])), { requiredKeys: [] });
  const failures = fc.constantFrom<FailureClass>('empty', 'refused', 'unreadable', 'prediction', 'judge-fatal');
  const place = fc.record({
    domain: fc.constantFrom('mcp', 'swe', 'other'),
    trajectory: fc.constantFrom('t1', 't2', 't3'),
  });
  const valid = fc.tuple(ratings, place).map(([given, where]) => rated(given as Ratings, where));
  const failed = fc.tuple(failures, place).map(([failure, where]) => lost(failure, where));
  const rows = fc.array(fc.oneof({ weight: 3, arbitrary: valid }, failed), { maxLength: 40 });
  const values = (scores: ScoreSet) => Object.entries(scores).map(([name, { value, rows }]) => [name, value, rows]);

  test('gets the same scores in any order', () => {
    fc.assert(
      fc.property(rows, (some) => {
        const [there, back] = [aggregate(some), aggregate([...some].reverse())];
        for (const set of ['overall', 'overallMicro', 'overallWithFailures'] as const) {
          expect(new Set(values(back[set]).map(String))).toEqual(new Set(values(there[set]).map(String)));
        }
      }),
    );
  });

  test('gets the same scores if every row was asked twice with the same outcome', () => {
    fc.assert(
      fc.property(rows, (some) => {
        const twice = aggregate([...some, ...some.map((one) => ({ ...one, repeat: 1 }))]);
        const once = aggregate(some);
        expect(twice.overall).toEqual(once.overall);
        expect(twice.overallWithFailures).toEqual(once.overallWithFailures);
        expect(twice.coverage).toBe(once.coverage);
        expect(twice.valid).toBe(2 * once.valid);
      }),
    );
  });

  test("gains nothing by failing: a domain's score with failures is never above its score", () => {
    fc.assert(
      fc.property(rows, (some) => {
        for (const { scores, withFailures } of aggregate(some).domains) {
          for (const name of [...DIMENSIONS, 'total'] as const) {
            expect(value(withFailures, name) ?? 0).toBeLessThanOrEqual((value(scores, name) ?? 0) + 1e-9);
          }
        }
      }),
    );
  });

  test('adds up: every chosen row is valid or has a failure, and every interval contains its value', () => {
    fc.assert(
      fc.property(rows, fc.nat(60), (some, chosen) => {
        const card = aggregate(some, new Map([['mcp', chosen]]));
        for (const one of card.domains) {
          const failures = Object.values(one.failures).reduce((sum, count) => sum + count, 0);
          const { 'not-rated': validAlike = 0 } = one.failures;
          expect(one.valid + failures - validAlike).toBe(one.chosen);
          for (const { value, low = value, high = value } of Object.values(one.scores)) {
            expect(Math.max(0, low)).toBe(low);
            expect(Math.min(100, high)).toBe(high);
            expect(low <= value && value <= high).toBe(true);
          }
        }
      }),
    );
  });
});
