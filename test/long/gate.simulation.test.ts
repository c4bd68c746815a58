// The gate errs no more often than it says in simulated runs; bench/gate-simulation.mjs has longer ones.

import { describe, expect, test } from 'vitest';
import { PUBLISHED, simulatedPoints, simulateRuns } from '../../bench/simulated-runs.mjs';
import type { GateOutcome } from '../../src/core/decision.js';
import { randomOf } from '../../src/core/random.js';
import { compareRuns } from '../../src/stats/compare.js';
import { decide } from '../../src/stats/gate.js';
import { defaultPolicy, parsePolicy } from '../../src/stats/policy.js';
import { compared } from '../support/simulated-comparison.js';

const everywhere = (drop: number) => Object.fromEntries(Object.keys(PUBLISHED).map((domain) => [domain, drop]));

describe('the default gate with the published sizes', () => {
  function verdicts(sets: number, settings: Omit<Parameters<typeof simulateRuns>[0], 'random'>) {
    const { uniform } = randomOf(20);
    const counts: Record<GateOutcome, number> = { GO: 0, 'NO-GO': 0, INCONCLUSIVE: 0, INCOMPLETE: 0, ADVICE: 0 };
    for (let set = 0; set < sets; set++) {
      counts[decide({ comparison: compared(settings, uniform) }, defaultPolicy()).verdict]++;
    }
    return counts;
  }

  test('never stops an identical checkpoint, and passes about 78 in 100', () => {
    const counts = verdicts(60, { drops: {} });
    expect(counts['NO-GO']).toBe(0);
    // 47 are expected, with three standard errors (of 3.2) either way.
    expect(counts.GO).toBeGreaterThanOrEqual(37);
    expect(counts.GO).toBeLessThanOrEqual(57);
  });

  test('passes the same weights asked again nearly always', () => {
    const counts = verdicts(40, { sameWeights: true });
    expect(counts['NO-GO']).toBe(0);
    expect(counts.GO).toBeGreaterThan(35);
  });

  test('stops a drop of 5 points nearly always, and never passes it', () => {
    const counts = verdicts(40, { drops: everywhere(5) });
    expect(counts['NO-GO']).toBeGreaterThan(35);
    expect(counts.GO).toBe(0);
  });

  test('at the bounds themselves errs no more than alpha allows, in either direction', () => {
    // Errors go by trajectories, so two rows of each are enough. Two domains lose exactly the 5 points they may, and Overall its 2.
    const sizes = Object.fromEntries(
      Object.entries(PUBLISHED).map(([name, [, trajectories]]) => [name, [2 * trajectories, trajectories] as const]),
    );
    const counts = verdicts(200, { sizes, drops: { ...everywhere(0.8), search: 5, os: 5 } });
    // At most 10 (alpha) and 5 (alpha / 2) are expected, plus two standard errors.
    expect(counts['NO-GO']).toBeLessThanOrEqual(16);
    expect(counts.GO).toBeLessThanOrEqual(10);
  });
});

test('the gate errs no more than alpha allows on few and very different trajectories', () => {
  const { uniform } = randomOf(23);
  const sizes = Object.fromEntries(Object.keys(PUBLISHED).map((name) => [name, [50, 12] as const]));
  const drops = { ...everywhere(0.8), search: 5, os: 5 };
  const found: Partial<Record<GateOutcome, number>> = {};
  for (let set = 0; set < 400; set++) {
    const { verdict } = decide({ comparison: compared({ sizes, drops }, uniform) }, defaultPolicy());
    found[verdict] = (found[verdict] ?? 0) + 1;
  }
  // At most 20 (alpha) and 10 (alpha / 2) are expected, plus two standard errors.
  expect(found['NO-GO'] ?? 0).toBeLessThanOrEqual(29);
  expect(found.GO ?? 0).toBeLessThanOrEqual(17);
});

test('planned looks keep the chance of a false GO at alpha / 2 over all of them', () => {
  const { uniform } = randomOf(29);
  const policy = parsePolicy({ looks: [1, 3], max_drop: { overall: 2 } });
  const sizes = { mcp: [40, 20], web: [40, 20] } as const;
  let passed = 0;
  for (let set = 0; set < 500; set++) {
    const runs = simulateRuns({ random: uniform, sizes, drops: everywhere(2), repeats: 3 });
    const passes = [1, 3].some((count) => {
      const first = (run: typeof runs.base) => ({ rows: run.rows.filter(({ repeat }) => repeat < count) });
      const comparison = compareRuns(first(runs.base), first(runs.candidate), { draws: 0, pointsOf: simulatedPoints });
      if (comparison.status !== 'ok') throw new Error(comparison.reason);
      return decide({ comparison, repeats: { base: count, candidate: count } }, policy).verdict === 'GO';
    });
    passed += passes ? 1 : 0;
  }
  // At most 12.5 are expected, plus two standard errors.
  expect(passed).toBeLessThanOrEqual(20);
});
