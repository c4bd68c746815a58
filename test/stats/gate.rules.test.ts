// A rule of the gate is a function that returns results. Every output lays out a new rule from its result alone.

import { describe, expect, test } from 'vitest';
import type { BoundResult, ConditionResult, GateDecision } from '../../src/core/decision.js';
import { annotations, type GateReport, gateJson, gateText, jobSummary, junit } from '../../src/report/gate.js';
import { decide, RULES } from '../../src/stats/gate.js';
import type { Evidence } from '../../src/stats/policy.js';
import { defaultPolicy, parsePolicy } from '../../src/stats/policy.js';

/** A limit on seconds per row: a figure of the entire run. */
const slow: BoundResult = {
  kind: 'latency',
  isCondition: false,
  name: 'seconds a row',
  shown: { candidate: '9.5 s', bound: '4 s' },
  limit: 'p95',
  tier: 'critical',
  verdict: 'NO-GO',
  counts: true,
  value: 9.5,
  bound: 4,
  impact: 137.5,
  sentence: 'The candidate took 9.5 s a row, more than the 4 s that it may.',
};

/** Seeds must be known: a condition of testing, on the evidence of one domain. */
const seeds: ConditionResult = {
  kind: 'seeds',
  isCondition: true,
  name: 'Web seeds',
  domain: 'web',
  tier: 'critical',
  verdict: 'GO',
  counts: true,
  impact: 0,
  sentence: 'web: every row has its seed.',
};

const total = {
  difference: { value: 1, rows: 200, clusters: 61, se: 0.5, df: 60, low: 0, high: 2 },
  base: 60,
  candidate: 61,
  wins: 2,
  ties: 0,
  losses: 1,
};
const evidence: Evidence = {
  comparison: {
    status: 'ok',
    domains: [
      { domain: 'web', rows: 200, compared: 200, coverage: 1, missing: { base: 0, candidate: 0 }, figures: { total } },
    ],
    overall: { total },
    macroOf: 1,
    rows: 200,
    compared: 200,
    coverage: 1,
    moved: [],
  },
  shared: { judge: 'equal', rubric: 'equal' },
};

function pageOf(decision: GateDecision): GateReport {
  return {
    ...decision,
    exitCode: 4,
    policy: { from: 'gate.yaml', fingerprint: 'f'.repeat(64), rules: defaultPolicy() },
    candidate: { name: 'b', source: '/b' },
    notes: [],
  };
}

describe('a rule on a figure', () => {
  const page = pageOf(decide(evidence, defaultPolicy(), [...RULES, () => [slow]]));

  test('decides like any other', () => {
    expect(page).toMatchObject({ verdict: 'NO-GO', advisoryOnly: false, summary: `NO-GO: ${slow.sentence}` });
  });

  test('appears in the table under its name, with its own figures and the direction of its bound', () => {
    const text = gateText(page, { columns: 120, color: false });
    expect(text).toMatch(/^NO-GO: 1 of 3 rules broken\n/);
    expect(text).toMatch(/^seconds a row +- +9\.5 s +- +- +≤ 4 s +broken$/m);
    expect(text).toMatch(/^overall drop +60\.00 +61\.00 +\+1\.00 +0\.00 to \+2\.00 +≥ -2\.00 +holds$/m);
    expect(text).toContain(`- ${slow.sentence}`);
    expect(jobSummary(page)).toMatch(/^\| seconds a row \| - \| 9\.5 s \| - \| - \| ≤ 4 s \| broken \|$/m);
  });

  test('appears in its own suite, under its name', () => {
    expect(junit(page)).toMatch(
      /<testsuite name="run" tests="3" failures="1".*\n +<testcase classname="awb\.gate\.run" name="seconds a row" time="0"><failure /,
    );
    expect(annotations(page)).toBe(`::error title=awb gate%3A NO-GO%2C seconds a row::${slow.sentence}\n`);
  });

  test('appears in JSON with the fields that identify it', () => {
    expect(JSON.parse(gateJson(page)).rules[0]).toMatchObject({
      kind: 'latency',
      domain: null,
      limit: 'p95',
      value: 9.5,
      bound: 4,
      sentence: slow.sentence,
    });
  });
});

describe('a rule on the evidence', () => {
  const withSeeds = [...RULES, () => [seeds]];
  const held = pageOf(decide(evidence, defaultPolicy(), withSeeds));
  const lacking: ConditionResult = {
    ...seeds,
    verdict: 'INCOMPLETE',
    impact: 100,
    sentence: 'web: seeds are missing.',
  };
  const missing = pageOf(decide(evidence, defaultPolicy(), [...RULES, () => [lacking]]));

  test('appears only in its suite if it holds', () => {
    const text = gateText(held, { columns: 120, color: false });
    expect(text).toMatch(/^GO: none of 2 rules broken\n/);
    expect(text).not.toContain('Web seeds');
    expect(junit(held)).toContain('<testcase classname="awb.gate.web" name="Web seeds" time="0"><system-out>');
  });

  test('leaves the evidence incomplete if it does not hold', () => {
    expect(missing.verdict).toBe('INCOMPLETE');
    expect(annotations(missing)).toBe('::error title=awb gate%3A INCOMPLETE%2C Web seeds::web: seeds are missing.\n');
    expect(junit(missing)).toContain('name="Web seeds" time="0"><error message="web: seeds are missing."');
  });

  test('does not turn advice into GO', () => {
    const advice = parsePolicy({ max_drop: { overall: { points: 2, tier: 'advisory' } } });
    expect(decide(evidence, advice, withSeeds)).toMatchObject({ verdict: 'ADVICE', advisoryOnly: true });
  });
});
