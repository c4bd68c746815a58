// The gate: which verdict follows from which evidence, and how it is explained.
import { describe, expect, test } from 'vitest';
import type { GateDecision } from '../../src/core/decision.js';
import type { Dimension, JudgedRow, VarianceSplit } from '../../src/core/types.js';
import { aggregate } from '../../src/stats/aggregate.js';
import type { Comparison, Difference } from '../../src/stats/compare.js';
import { compareRuns } from '../../src/stats/compare.js';
import { studentTQuantile } from '../../src/stats/distributions.js';
import { decide } from '../../src/stats/gate.js';
import type { Evidence } from '../../src/stats/policy.js';
import { defaultPolicy, parsePolicy } from '../../src/stats/policy.js';

type DomainComparison = Comparison['domains'][number];

/** A difference with 60 degrees of freedom, so its interval is 2.0003 standard errors wide on each side; without `se` it has none. */
function difference(value: number, se?: number, split?: VarianceSplit): Difference {
  const reach = se === undefined ? 0 : studentTQuantile(0.975, 60) * se;
  const interval = se === undefined ? {} : { se, df: 60, low: value - reach, high: value + reach };
  return {
    difference: { value, rows: 200, clusters: 61, ...interval },
    base: 60,
    candidate: 60 + value,
    wins: 1,
    ties: 1,
    losses: 1,
    ...(split === undefined ? {} : { split }),
  };
}

function domain(name: string, total?: Difference, more: Partial<DomainComparison> = {}): DomainComparison {
  const figures = total === undefined ? {} : { total };
  return { domain: name, rows: 200, compared: 200, coverage: 1, missing: { base: 0, candidate: 0 }, figures, ...more };
}

function comparison(overall: Difference, domains: DomainComparison[] = []): Comparison {
  return {
    status: 'ok',
    domains,
    overall: { total: overall },
    macroOf: 7,
    rows: 1400,
    compared: 1400,
    coverage: 1,
    moved: [],
  };
}

function gate(overall: Difference, domains: DomainComparison[] = [], rules: unknown = undefined): GateDecision {
  const policy = rules === undefined ? defaultPolicy() : parsePolicy(rules);
  return decide({ comparison: comparison(overall, domains) }, policy);
}

const fine = difference(0, 0.5);

describe('Overall without a policy', () => {
  test.each([
    ['the interval holds', 0, 0.5, 'GO'],
    ['a gain is no loss', 9, 3, 'GO'],
    ['the interval begins at the bound', -2, 0, 'GO'],
    ['the interval is wholly beyond', -5, 0.5, 'NO-GO'],
    ['every row loses a little more than allowed', -2.01, 0, 'NO-GO'],
    ['the figure holds and the interval does not', -1, 0.6, 'INCONCLUSIVE'],
    ['the figure is beyond and the interval is not', -3, 0.6, 'INCONCLUSIVE'],
    ['there is no interval', 0, undefined, 'INCONCLUSIVE'],
  ] as const)('%s: %d points with standard error %s is %s', (_, value, se, verdict) => {
    expect(gate(difference(value, se)).verdict).toBe(verdict);
  });

  test('a stricter alpha needs more evidence for either verdict', () => {
    for (const value of [-0.8, -3.2]) {
      const evidence = { comparison: comparison(difference(value, 0.5)) };
      expect(decide(evidence, defaultPolicy()).verdict).toBe(value > -2 ? 'GO' : 'NO-GO');
      expect(decide(evidence, defaultPolicy({ alpha: 0.01 })).verdict).toBe('INCONCLUSIVE');
    }
  });

  test('shows figure, interval, bound and conclusion', () => {
    const { rules, summary } = gate(difference(-3.456, 0.5));
    expect(rules[0]?.sentence).toBe(
      'Overall changed by -3.46 points (95 % interval -4.46 to -2.46); it may lose 2.00: the rule is broken.',
    );
    expect(summary).toBe(`NO-GO: ${rules[0]?.sentence}`);
    expect(rules[0]).toMatchObject({ value: -3.456, bound: -2, impact: 1.456, counts: true, tier: 'critical' });
  });

  test('GO is summarised by the bound that holds, not by a condition', () => {
    const { summary } = gate(difference(0.25, 0.5), [domain('os', fine)]);
    expect(summary).toBe(
      'GO: Overall changed by +0.25 points (95 % interval -0.75 to +1.25); it may lose 2.00: the rule holds.',
    );
  });

  test('over fewer domains says how many', () => {
    const evidence = { comparison: { ...comparison(fine), macroOf: 3 } };
    expect(decide(evidence, defaultPolicy()).summary).toContain('Overall (macro of 3) changed by 0.00 points');
  });
});

describe('too little evidence', () => {
  const rows = (count: number, points: number, candidate: readonly number[]) => {
    const names = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os'];
    const side = (totals: readonly number[]) => names.flatMap((name) => rated(name, [...totals]));
    const compared = compareRuns(
      { rows: side(Array.from({ length: count }, () => points)) },
      { rows: side(candidate) },
      { draws: 0 },
    );
    if (compared.status !== 'ok') throw new Error(compared.reason);
    return compared;
  };
  const alike = (count: number) =>
    rows(
      count,
      3,
      Array.from({ length: count }, () => 3),
    );

  test.each([
    [2, 'but every domain needs 5)'],
    [5, '(95 % interval -10.00 to +10.00); it may lose 2.00: not enough evidence (4.0 degrees of freedom'],
    // 56 trajectories together, a tenth of which may differ in any domain.
    [8, '(95 % interval -6.38 to +6.38); it may lose 2.00: not enough evidence (7.0 degrees of freedom'],
    [25, '(95 % interval -2.09 to +2.09); it may lose 2.00: the interval contains this bound'],
  ])('%d rows per domain, all rated 3, prove nothing', (count, reason) => {
    const report = decide({ comparison: alike(count) }, defaultPolicy());
    expect(report.verdict).toBe('INCONCLUSIVE');
    expect(report.summary).toContain(reason);
  });

  test('an identical rerun of a complete run passes; single domains pass if they have 50 trajectories', () => {
    expect(decide({ comparison: alike(27) }, defaultPolicy()).verdict).toBe('GO');
    const single = parsePolicy({ max_drop: { each_domain: 1 } });
    expect(decide({ comparison: alike(49) }, single).verdict).toBe('INCONCLUSIVE');
    expect(decide({ comparison: alike(50) }, single).verdict).toBe('GO');
  });

  test.each([
    [{ mcp: 45, os: 5 }, 'INCONCLUSIVE'],
    [{ mcp: 49, os: 8 }, 'INCONCLUSIVE'],
    // Less than 2 points of Overall can be hidden in those domains.
    [{ mcp: 45, os: 40 }, 'GO'],
    [{ mcp: 50, os: 50 }, 'GO'],
  ])('next to domains that vary, uniform domains of %j trajectories give %s', (uniform, verdict) => {
    const side = (shift: number) => [
      ...Object.entries(uniform).flatMap(([name, count]) => rated(name, new Array(count).fill(3))),
      ...['search', 'terminal', 'swe', 'android', 'web'].flatMap((name) =>
        rated(
          name,
          Array.from({ length: 60 }, (_, row) => 3 + ((row + shift) % 3) / 20),
        ),
      ),
    ];
    const compared = compareRuns({ rows: side(0) }, { rows: side(1) }, { draws: 0 });
    if (compared.status !== 'ok') throw new Error(compared.reason);
    expect(decide({ comparison: compared }, defaultPolicy()).verdict).toBe(verdict);
  });

  test('a domain whose few rows agree does not pass next to others that moved', () => {
    const os = domain('os', { ...difference(0, 0), difference: { value: 0, rows: 40, clusters: 40, se: 0, df: 39 } });
    const { rules } = gate(fine, [os], { max_drop: { os: 1 } });
    expect(rules[0]).toMatchObject({ domain: 'os', verdict: 'INCONCLUSIVE' });
  });

  test.each([-9, 0])('fewer than 8 degrees of freedom of Overall decide nothing at %d points', (value) => {
    const total = difference(value, 0.1);
    const report = gate({ ...total, difference: { ...total.difference, df: 7.9 } });
    expect(report.verdict).toBe('INCONCLUSIVE');
    expect(report.summary).toContain('7.9 degrees of freedom, but at least 8 are needed');
    expect(gate({ ...total, difference: { ...total.difference, df: 8 } }).verdict).toBe(value < -2 ? 'NO-GO' : 'GO');
  });
});

describe('domains without a policy', () => {
  test('can cause a NO-GO even if Overall holds', () => {
    const report = gate(fine, [domain('os', difference(-12, 1)), domain('web', fine)]);
    expect(report.verdict).toBe('NO-GO');
    expect(report.rules[0]).toMatchObject({ kind: 'drop', domain: 'os', tier: 'supporting', counts: true });
  });

  test.each([
    ['on both sides of its bound', difference(-5, 2)],
    ['without an interval', difference(-30)],
    ['without a compared row', undefined],
  ])('cannot block a GO: one %s', (_, total) => {
    expect(gate(fine, [domain('os', total)]).verdict).toBe('GO');
  });

  test('cannot cause a GO while Overall is undecided', () => {
    expect(gate(difference(-2, 1), [domain('os', difference(30, 1))]).verdict).toBe('INCONCLUSIVE');
  });

  test('beyond their bound only without adjustment do not count among seven', () => {
    // 2.3 standard errors beyond its bound: the one-sided p 0.0125 is below 0.025, but not when multiplied by seven.
    const beyond = domain('os', difference(-7.3, 1));
    const others = ['mcp', 'search', 'terminal', 'swe', 'android', 'web'].map((name) => domain(name, fine));
    expect(gate(fine, [beyond]).verdict).toBe('NO-GO');
    const report = gate(fine, [beyond, ...others]);
    expect(report.verdict).toBe('GO');
    const rule = report.rules.find((one) => one.domain === 'os' && one.kind === 'drop');
    expect(rule).toMatchObject({ verdict: 'INCONCLUSIVE', counts: false });
    expect(rule?.pAdjusted).toBeCloseTo(7 * 0.01248, 3);
    expect(rule?.sentence).toContain(
      'broken on its own, but not among 7 rules (adjusted one-sided p 0.087, 0.025 is needed)',
    );
  });

  test('do not hide each other if two are beyond their bounds', () => {
    const domains = [domain('os', difference(-12, 1)), domain('web', difference(-8, 1)), domain('mcp', fine)];
    const broken = gate(fine, domains).rules.filter((rule) => rule.verdict === 'NO-GO');
    expect(broken.map(({ domain }) => domain)).toEqual(['os', 'web']);
  });
});

describe('a policy', () => {
  test.each([
    ['critical', difference(-9, 1), 'NO-GO'],
    ['critical', difference(-3, 1), 'INCONCLUSIVE'],
    ['supporting', difference(-9, 1), 'NO-GO'],
    ['supporting', difference(-3, 1), 'GO'],
    ['advisory', difference(-9, 1), 'GO'],
    ['advisory', difference(-3, 1), 'GO'],
  ] as const)('%s: a domain that %# ends in %s', (tier, total, verdict) => {
    const rules = { max_drop: { overall: 2, terminal: { points: 3, tier } } };
    expect(gate(fine, [domain('terminal', total)], rules).verdict).toBe(verdict);
  });

  test("an advisory rule takes no part in Holm's correction", () => {
    const others = ['mcp', 'search', 'swe'].map((name) => domain(name, fine));
    const advisory = Object.fromEntries(others.map((one) => [one.domain, { points: 5, tier: 'advisory' }]));
    const rules = { max_drop: { os: 5, ...advisory } };
    expect(gate(fine, [domain('os', difference(-7.3, 1)), ...others], rules).verdict).toBe('NO-GO');
  });

  test("a domain's own bound replaces the one for each domain", () => {
    const domains = [domain('os', difference(-4, 0.5)), domain('web', difference(-4, 0.5))];
    const report = gate(fine, domains, { max_drop: { each_domain: 2, os: 9 } });
    expect(report.rules.filter((rule) => rule.kind === 'drop').map((rule) => [rule.domain, rule.verdict])).toEqual([
      ['web', 'NO-GO'],
      ['os', 'GO'],
    ]);
  });

  test('a dimension has its own bounds, for Overall, for a domain and for each', () => {
    const figures = (value: number): Partial<Record<Dimension, Difference>> => ({ format: difference(value, 0.5) });
    const evidence: Evidence = {
      comparison: {
        ...comparison(fine, [
          domain('os', fine, { figures: figures(-9) }),
          domain('web', fine, { figures: figures(0) }),
        ]),
        overall: { format: difference(-1, 0.1) },
      },
    };
    const policy = parsePolicy({ max_drop: { 'overall.format': 2, 'each_domain.format': 4 } });
    const drops = decide(evidence, policy).rules.filter((rule) => rule.kind === 'drop');
    expect(drops.map((rule) => [rule.domain, rule.dimension, rule.verdict])).toEqual([
      ['os', 'format', 'NO-GO'],
      [undefined, 'format', 'GO'],
      ['web', 'format', 'GO'],
    ]);
    expect(drops[0]?.sentence).toMatch(/^os format changed by -9.00 points/);
  });

  test.each([
    ['critical', 'INCOMPLETE'],
    ['supporting', 'GO'],
  ] as const)('a %s rule about a missing domain is %s', (tier, verdict) => {
    const rules = { max_drop: { overall: 2, terminal: { points: 3, tier } } };
    const report = gate(fine, [domain('os', fine)], rules);
    expect(report.verdict).toBe(verdict);
    expect(report.rules.map((rule) => rule.sentence)).toContain(
      'terminal: there is no row that both runs rated, so the rule cannot be tested.',
    );
  });

  test('with only advisory rules never fails, and says that it is advice', () => {
    const report = gate(difference(-50, 1), [], { max_drop: { overall: { points: 2, tier: 'advisory' } } });
    expect(report).toMatchObject({ verdict: 'ADVICE', advisoryOnly: true, advice: { verdict: 'NO-GO' } });
    expect(report.summary).toBe('ADVICE: would be NO-GO (1 of 1 rule broken)');
  });

  test('a domain named like a built-in property of objects gets no bound by accident', () => {
    const report = gate(fine, [domain('constructor', difference(-50, 1))], { max_drop: { overall: 2 } });
    expect(report.verdict).toBe('GO');
  });
});

describe('coverage and identity', () => {
  const short = domain('os', fine, { compared: 197, coverage: 0.985, missing: { base: 1, candidate: 2 } });

  test('too few rows are INCOMPLETE, even if a rule is broken', () => {
    const report = gate(difference(-20, 0.5), [short]);
    expect(report.verdict).toBe('INCOMPLETE');
    expect(report.rules[0]?.sentence).toBe(
      'os: 197 of 200 rows have a rating in both runs (98.5 %); 99 % are needed, and 1 are missing in the base and 2 in the candidate.',
    );
    expect(report.rules[1]).toMatchObject({ kind: 'drop', verdict: 'NO-GO' });
  });

  test.each([
    [0.98, 'GO'],
    [{ each_domain: 0.999, os: 0.98 }, 'GO'],
    [{ os: 0.99 }, 'INCOMPLETE'],
    [{ os: 0.98, terminal: 0.5 }, 'INCOMPLETE'],
  ])('min_coverage %j makes it %s', (share, verdict) => {
    expect(gate(fine, [short], { max_drop: { overall: 2 }, min_coverage: share }).verdict).toBe(verdict);
  });

  test('what falls just short of the minimum never reads as if it reached it', () => {
    const { rules } = gate(fine, [domain('os', fine, { coverage: 0.98999 })]);
    expect(rules[0]?.sentence).toContain('(98.9 %); 99 % are needed');
  });

  test.each([
    ['different', 'INCOMPLETE', 'The runs differ in their rubric, so their scores cannot be compared.'],
    ['equal', 'GO', 'The runs have the same rubric.'],
    [undefined, 'GO', 'Whether the runs have the same rubric is not recorded.'],
  ] as const)('a rubric pack that is %s is %s', (rubric, verdict, sentence) => {
    const shared = rubric === undefined ? {} : { rubric };
    const report = decide({ comparison: comparison(fine), shared }, defaultPolicy());
    expect(report.verdict).toBe(verdict);
    expect(report.rules.map((rule) => rule.sentence)).toContain(sentence);
  });
});

function rated(name: string, totals: number[], more: Partial<JudgedRow> = {}): JudgedRow[] {
  return totals.map((total, index) => {
    const key = `${name}${index}`;
    return {
      key,
      trajectory: key,
      repeat: 0,
      index: 0,
      domain: name,
      turnIdx: 1,
      failed: 0,
      total,
      ratings: {},
      flags: [],
      ...more,
    };
  });
}
const steady = (name: string, centre: number) =>
  rated(
    name,
    Array.from({ length: 40 }, (_, i) => centre + (i % 3) / 5),
  );

describe('floors', () => {
  test.each([
    [50, 'GO'],
    // 54.87 on average, and the interval extends to both sides of 55.
    [55, 'INCONCLUSIVE'],
    [60, 'NO-GO'],
  ])('of %d are %s', (floor, verdict) => {
    const candidate = aggregate(steady('os', 3));
    const report = decide({ candidate }, parsePolicy({ min_score: { os: floor } }));
    expect(report.verdict).toBe(verdict);
    const rule = report.rules.find((one) => one.kind === 'floor');
    expect(rule?.sentence).toMatch(/^os scores 54\.87 points \(95 % interval 53\.\d\d to 56\.\d\d\); it has to reach/);
  });

  test('apply to the score that includes failures of the model', () => {
    const empty = rated('os', [0], { key: 'e', failed: 1, failure: { class: 'empty', reason: '' } });
    const failing = [
      ...steady('os', 4.4),
      ...Array.from({ length: 40 }, (_, i) => ({ ...(empty[0] as JudgedRow), key: `e${i}`, trajectory: `e${i}` })),
    ];
    const policy = parsePolicy({ min_score: { overall: 70 } });
    expect(decide({ candidate: aggregate(steady('os', 4.4)) }, policy).verdict).toBe('GO');
    expect(decide({ candidate: aggregate(failing) }, policy).verdict).toBe('NO-GO');
  });

  test('are compared with intervals that end below 100', () => {
    const candidate = aggregate(rated('os', [5, 5, 4, 5, 5]));
    const rule = decide({ candidate }, parsePolicy({ min_score: { os: 60 } })).rules[0];
    expect(rule).toMatchObject({ kind: 'floor', verdict: 'INCONCLUSIVE' });
    expect(rule?.high).toBeLessThan(100);
  });

  test.each([
    [50, 'GO'],
    [49, 'INCONCLUSIVE'],
  ])('of a perfect run that never varies over %d trajectories are %s at 100', (rows, verdict) => {
    const candidate = aggregate(
      rated(
        'os',
        Array.from({ length: rows }, () => 5),
      ),
    );
    expect(decide({ candidate }, parsePolicy({ min_score: { os: 100 } })).verdict).toBe(verdict);
  });

  test('of Overall need 50 trajectories in a domain whose rows all agree', () => {
    const floor = parsePolicy({ min_score: { overall: 40 } });
    const verdictOf = (count: number) =>
      decide({ candidate: aggregate([...steady('os', 3), ...rated('web', new Array(count).fill(3))]) }, floor);
    expect(verdictOf(50).verdict).toBe('GO');
    const { verdict, summary } = verdictOf(49);
    expect(verdict).toBe('INCONCLUSIVE');
    expect(summary).toContain('every domain needs 5 (50 if all its rows got the same score)');
  });

  test('are tested on the logit scale, where intervals near 100 reach further down than up', () => {
    const candidate = aggregate(rated('os', [5, 5, 5, 5, 5, 5, 5, 5, 5, 4, 5, 5, 3, 5, 5]));
    const floor = (least: number) =>
      decide({ candidate }, parsePolicy({ min_score: { os: least } })).rules.find(({ kind }) => kind === 'floor');
    const { value = 0, low = 0, high = 0 } = floor(50) ?? {};
    expect(value - low).toBeGreaterThan(2 * (high - value));
    expect(floor(low - 0.01)?.verdict).toBe('GO');
    expect(floor(low + 0.01)?.verdict).toBe('INCONCLUSIVE');
    expect(floor(high + 0.01)?.verdict).toBe('NO-GO');
  });

  test('need the coverage of the candidate if there is no base', () => {
    const candidate = aggregate(steady('os', 4), new Map([['os', 50]]));
    const report = decide({ candidate }, parsePolicy({ min_score: { os: 10 } }));
    expect(report.verdict).toBe('INCOMPLETE');
    expect(report.rules[0]?.sentence).toContain('os: 40 of 50 predictions have a rating (80 %); 99 % are needed');
  });
});

describe('a published base', () => {
  const published = { name: 'Some-Model', scores: { os: 90, web: 70, mcp: 10 } };
  const candidate = aggregate([...steady('os', 3), ...steady('web', 4)]);
  const report = decide({ candidate, published }, defaultPolicy());

  test('gives only advice, however far the candidate is behind', () => {
    expect(report).toMatchObject({
      verdict: 'ADVICE',
      advisoryOnly: true,
      advice: { verdict: 'NO-GO', against: 2, rules: 3 },
    });
    expect(report.summary).toBe('ADVICE: would be NO-GO (2 of 3 rules broken)');
    expect(report.rules.filter((rule) => rule.kind === 'published').map((rule) => [rule.domain, rule.verdict])).toEqual(
      [
        ['os', 'NO-GO'],
        [undefined, 'NO-GO'],
        ['web', 'GO'],
      ],
    );
  });

  test('is compared over the domains that both have', () => {
    const overall = report.rules.find((rule) => rule.kind === 'published' && rule.domain === undefined);
    expect(overall?.bound).toBe(78);
    expect(overall?.sentence).toContain('against the published 80.00 of Some-Model, it may lose 2.00');
    expect(overall?.sentence).not.toMatch(/advice/i);
  });

  test('is compared with the score that includes failures of the model, so refusing does not pass', () => {
    const refused = rated('os', [1, 1, 1, 1, 1, 1, 1, 1, 1, 1]).map((row, index) => {
      return { ...row, key: `no-${index}`, failed: 1, failure: { class: 'refused' as const, reason: 'no' } };
    });
    const refuser = aggregate([...steady('os', 4.5), ...refused]);
    const { rules } = decide({ candidate: refuser, published: { name: 'M', scores: { os: 90 } } }, defaultPolicy());
    expect(refuser.overall.total?.value).toBeGreaterThan(90);
    expect(rules.map(({ kind, verdict }) => [kind, verdict])).toContainEqual(['published', 'NO-GO']);
    expect(rules.map(({ kind, verdict }) => [kind, verdict])).not.toContainEqual(['published', 'GO']);
  });

  test('leaves floors in force', () => {
    const policy = parsePolicy({ max_drop: { overall: 2 }, min_score: { os: 80 } });
    expect(decide({ candidate, published }, policy)).toMatchObject({
      verdict: 'NO-GO',
      advisoryOnly: false,
      advice: { verdict: 'NO-GO', against: 1, rules: 1 },
    });
  });
});

describe('limits', () => {
  const candidate = aggregate([...steady('os', 3), ...rated('cut', [3, 3], { flags: ['truncated'] })]);
  const policy = (limits: unknown) => parsePolicy({ limits, min_coverage: 0 });

  test.each([
    [{ truncated_share: 0.05 }, 'GO', 'truncated predictions: 4.7 %, within the limit of 5 %.'],
    [{ truncated_share: 0.04 }, 'NO-GO', 'truncated predictions: 4.7 %, more than the limit of 4 %.'],
    [{ tokens_per_row: 900 }, 'NO-GO', 'completion tokens per row: 1000, more than the limit of 900.'],
    [{ tokens_per_row: { max: 900, tier: 'advisory' } }, 'ADVICE', 'more than the limit of 900'],
    [{ cost: 3 }, 'INCOMPLETE', 'cost: not recorded for every row, so the limit of $3.00 cannot be tested.'],
    [{ cost: { max: 3, tier: 'supporting' } }, 'GO', 'not recorded'],
    [{ judge_cost: 80 }, 'GO', "judge's cost: $78.50, within the limit of $80.00."],
    [{ judge_cost: 78.4 }, 'NO-GO', "judge's cost: $78.50, more than the limit of $78.40."],
  ])('%j are %s', (limits, verdict, sentence) => {
    const usage = { tokensPerRow: 1000, judgeCost: { usd: 78.5, unpriced: 0 } };
    const report = decide({ candidate, usage }, policy(limits));
    expect(report.verdict).toBe(verdict);
    expect(report.rules.find((rule) => rule.kind === 'limit')?.sentence).toContain(sentence);
  });
});

test('a cost that is partly unknown is no evidence', () => {
  const limited = parsePolicy({ limits: { cost: 3 }, min_coverage: 0 });
  expect(decide({ usage: { cost: { usd: 3.1, unpriced: 12 } } }, limited).verdict).toBe('INCOMPLETE');
});

describe('an undecided gate', () => {
  const split = { row: 0.3, generation: 0.6, perRepeat: 0.6 };
  const open = difference(-1, Math.sqrt(0.9), split);

  test('says that asking again is not honest, and gives the looks and their chance of deciding it', () => {
    const { further, repeats, level } = gate(open);
    expect(level).toMatchObject({ alpha: 0.05 });
    expect(repeats).toMatchObject({ kind: 'about', repeats: 3 });
    expect(further).toEqual([
      expect.stringMatching(
        /^Asking again after more repeats at the same alpha is not valid.* --looks 1,3, which tests each at alpha 0\.0277\. The chance that 3 repeats of every row in both runs decide it is about \d+ %\.$/,
      ),
    ]);
  });

  test('without repeats gives an upper bound on the chance', () => {
    const { repeats, further } = gate(difference(-1, 1, { row: 1 }));
    expect(repeats?.kind).toBe('at-most');
    expect(further[0]).toMatch(/decide it is at most \d+ %\.$/);
  });

  test('over several rules has at most the chance of the least likely', () => {
    const wider = difference(-1, 1, { row: 0.7, generation: 0.3, perRepeat: 0.3 });
    const report = gate(open, [domain('os', wider)], { max_drop: { overall: 2, os: 2 } });
    const chances = report.rules.flatMap(({ repeats }) => repeats?.chance ?? []);
    expect(chances).toHaveLength(2);
    expect(report.repeats).toMatchObject({ kind: 'at-most', chance: Math.min(...chances) });
  });

  test('says nothing about repeats if it is decided, or if they bring no evidence', () => {
    expect(gate(difference(-9, 0.5)).further).toEqual([]);
    expect(gate(difference(0)).further).toEqual([]);
  });

  test('over a floor only says the same, without a chance', () => {
    const candidate = aggregate(steady('os', 3));
    const { further } = decide({ candidate }, parsePolicy({ min_score: { os: 55 } }));
    expect(further[0]).toMatch(/--looks 1,3, which tests each at alpha 0\.0277\.$/);
  });
});

describe('planned looks', () => {
  const at = (repeats: number, total: Difference, looks: readonly number[] = [1, 3]) =>
    decide(
      { comparison: comparison(total), repeats: { base: repeats, candidate: repeats } },
      parsePolicy({ looks, max_drop: { overall: 2 } }),
    );

  test('test each look at the alpha of the schedule, in both directions', () => {
    // t(60) = 2.0003 at 0.05, and 2.2577 at 0.0277, so 2.1 standard errors suffice only for the first.
    const near = difference(-2 + 2.1 * 0.5, 0.5);
    const far = difference(-2 - 2.1 * 0.5, 0.5);
    expect([gate(near).verdict, gate(far).verdict]).toEqual(['GO', 'NO-GO']);
    expect([at(1, near).verdict, at(1, far).verdict]).toEqual(['INCONCLUSIVE', 'INCONCLUSIVE']);
    expect([at(3, difference(0, 0.5)).verdict, at(3, difference(-4, 0.5)).verdict]).toEqual(['GO', 'NO-GO']);
  });

  test('say which look it is, what comes next, and whether it was the last', () => {
    const first = at(1, difference(-1, 0.9, { row: 0.21, generation: 0.6, perRepeat: 0.6 }));
    expect(first.level).toMatchObject({ look: 1 });
    expect(first.level.alpha).toBeCloseTo(0.027654, 5);
    expect(first.level.sentence).toMatch(/^Look 1 of 2 \(1, 3 repeats\), each at alpha 0\.0277/);
    expect(first.further[0]).toMatch(/^To decide: repeat every row up to 3 times .* decide it is about \d+ %\.$/);
    const last = at(3, difference(-1, 0.9));
    expect(last.level.look).toBe(2);
    expect(last.repeats).toBeUndefined();
    expect(last.further).toEqual([expect.stringContaining('This was the last planned look')]);
  });

  test('refuse unplanned repeats, with the schedule', () => {
    expect(() => at(2, fine)).toThrow('the candidate has 2 repeats of every row');
  });

  test('show the interval at their own level', () => {
    const { rules } = at(1, difference(-1, 0.5));
    expect(rules[0]?.sentence).toContain('(97.23 % interval');
    expect((rules[0]?.high ?? 0) - -1).toBeCloseTo(2.2577 * 0.5, 3);
  });
});

describe('what decides', () => {
  test("is explained: one-sided levels, and the number of rules in Holm's adjustment", () => {
    expect(gate(fine).level.sentence).toBe(
      "GO if each critical rule is shown to hold, one-sided at 0.025; NO-GO if one is shown to be broken: Overall's drop at 0.025, the 0 other testable rules share another 0.025 (Holm).",
    );
    expect(gate(fine, [domain('os', fine), domain('web', fine)]).level.sentence).toContain(
      "Overall's drop at 0.025, the 2 other testable rules share another 0.025 (Holm)",
    );
    const floors = parsePolicy({ min_score: { overall: 50, terminal: 50 } });
    // Without ratings nothing can be tested.
    expect(decide({}, floors).level.sentence).toContain('the 0 other testable rules');
  });

  test('is given for each rule: the p of holding and the adjusted p of a breach', () => {
    const rule = gate(difference(-1, 0.5)).rules[0];
    // One point above the bound at a standard error of 0.5: t = 2 with 60 degrees of freedom.
    expect(rule?.pHolds).toBeCloseTo(0.02502, 4);
    expect(rule?.pAdjusted).toBeCloseTo(1 - 0.02502, 4);
  });
});

describe('the order of rules', () => {
  test('puts deciding rules first, then sorts by distance beyond the bound', () => {
    const domains = [
      domain('web', difference(-8, 0.5)),
      domain('os', difference(-20, 0.5)),
      domain('mcp', difference(-5, 2)),
    ];
    const { rules } = gate(difference(-2, 1), domains);
    expect(rules.slice(0, 3).map(({ domain }) => domain)).toEqual(['os', 'web', undefined]);
    expect(rules.at(-1)).toMatchObject({ domain: 'mcp', kind: 'drop', counts: false });
  });
});
