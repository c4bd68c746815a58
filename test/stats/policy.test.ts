// Policies: what is filled in, what is refused, and how the refusal helps.
import { describe, expect, test } from 'vitest';
import { UserError } from '../../src/core/errors.js';
import { canonicalJson } from '../../src/core/json.js';
import { defaultPolicy, parsePolicy } from '../../src/stats/policy.js';

describe('a policy', () => {
  test('is filled in with its defaults, and a bare number is critical', () => {
    expect(parsePolicy({ max_drop: { overall: 2, 'terminal.format': { points: 4, tier: 'advisory' } } })).toEqual({
      alpha: 0.05,
      maxDrop: { overall: { value: 2, tier: 'critical' }, 'terminal.format': { value: 4, tier: 'advisory' } },
      minScore: {},
      minCoverage: { each_domain: 0.99 },
      requireEqual: ['judge', 'rubric'],
      limits: {},
    });
  });

  test('accepts every key it knows', () => {
    const policy = parsePolicy(
      {
        alpha: 0.1,
        looks: [1, 3],
        max_drop: { each_domain: 3, 'each_domain.realism': { points: 6 } },
        min_score: { overall: 55, ours: { points: 50, tier: 'supporting' } },
        min_coverage: { each_domain: 0.9, ours: 1 },
        require_equal: ['judge', 'data'],
        limits: { truncated_share: 0.02, tokens_per_row: { max: 6000, tier: 'advisory' }, cost: 20 },
      },
      ['ours'],
    );
    expect(policy.looks).toEqual([1, 3]);
    expect(policy.maxDrop['each_domain.realism']).toEqual({ value: 6, tier: 'critical' });
    expect(policy.minScore.ours).toEqual({ value: 50, tier: 'supporting' });
    expect(policy.minCoverage).toEqual({ each_domain: 0.9, ours: 1 });
    expect(policy.limits.tokens_per_row).toEqual({ value: 6000, tier: 'advisory' });
  });

  test.each([
    [3, 1],
    [1, 1],
    [],
    [0, 2],
    [1.5],
    [1, 1000],
    ['1', 3],
    Array.from({ length: 11 }, (_, index) => index + 1),
  ])('is refused if its looks are not increasing numbers of repeats: %j', (...looks) => {
    expect(() => parsePolicy({ looks, max_drop: { overall: 2 } })).toThrow('looks has to be a rising list');
  });

  test('that is omitted lets Overall decide, while domains can only break', () => {
    expect(defaultPolicy().maxDrop).toEqual({
      overall: { value: 2, tier: 'critical' },
      each_domain: { value: 5, tier: 'supporting' },
    });
    expect(defaultPolicy({ maxDrop: 1, maxDomainDrop: 3, alpha: 0.01 })).toMatchObject({
      alpha: 0.01,
      maxDrop: { overall: { value: 1 }, each_domain: { value: 3 } },
    });
  });

  test('has one canonical text, whatever the order of its keys, and another for another bound', () => {
    const one = parsePolicy({ alpha: 0.05, max_drop: { overall: 2, os: 5 } });
    const other = parsePolicy({ max_drop: { os: { tier: 'critical', points: 5 }, overall: 2 } });
    expect(canonicalJson(other)).toBe(canonicalJson(one));
    expect(canonicalJson(parsePolicy({ max_drop: { overall: 2, os: 5.1 } }))).not.toBe(canonicalJson(one));
  });

  test.each([
    [{ max_dorp: { overall: 2 } }, 'unknown key "max_dorp"; did you mean "max_drop"?'],
    [{ colour: 2 }, 'unknown key "colour"; known: alpha, looks, max_drop,'],
    [{ max_drop: { terminl: 2 } }, 'unknown key "terminl"; did you mean "terminal"?'],
    [{ max_drop: { 'os.realizm': 2 } }, 'unknown key "os.realizm"; did you mean "os.realism"?'],
    [{ max_drop: { os: { point: 2 } } }, 'unknown key "point"; did you mean "points"?'],
    [{ max_drop: { os: { tier: 'critical' } } }, 'max_drop.os.points has to be a number from 0 to 100; it is missing'],
    [{ max_drop: { os: -1 } }, 'max_drop.os.points has to be a number from 0 to 100; it is -1'],
    [{ max_drop: { os: '2' } }, 'a bound that is not a number has to be a mapping with points and tier'],
    [{ max_drop: 2 }, 'max_drop has to be a mapping; it is 2'],
    [{ max_drop: { os: { points: 2, tier: 'critcal' } } }, 'unknown tier "critcal"; did you mean "critical"?'],
    [{ min_score: { overall: 101 } }, 'min_score.overall.points has to be a number from 0 to 100; it is 101'],
    [{ min_coverage: 99, max_drop: { os: 2 } }, 'min_coverage.each_domain has to be a number from 0 to 1; it is 99'],
    [{ min_coverage: { overall: 1 }, max_drop: { os: 2 } }, 'unknown key "overall"'],
    [{ require_equal: ['juge'], max_drop: { os: 2 } }, 'unknown provenance "juge"; did you mean "judge"?'],
    [{ require_equal: 'judge', max_drop: { os: 2 } }, 'require_equal has to be a list of judge, rubric'],
    [{ limits: { token_per_row: 3 } }, 'unknown key "token_per_row"; did you mean "tokens_per_row"?'],
    [{ limits: { truncated_share: 2 } }, 'limits.truncated_share.max has to be a number from 0 to 1; it is 2'],
    [{ limits: { cost: { max: Number.NaN } } }, 'limits.cost.max has to be a number of at least 0'],
    [{ alpha: 0, max_drop: { os: 2 } }, 'alpha has to be a number from 0.000001 to 0.5; it is 0'],
    [{ alpha: 0.05 }, 'the policy demands nothing; add max_drop, min_score or limits'],
    [null, 'the policy has to be a mapping with alpha, looks, max_drop'],
    [['max_drop'], 'the policy has to be a mapping'],
  ])('%j is refused with what would fix it', (value, message) => {
    expect(() => parsePolicy(value)).toThrow(UserError);
    expect(() => parsePolicy(value)).toThrow(message);
  });
});
