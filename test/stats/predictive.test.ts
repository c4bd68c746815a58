// Predictive power: the formula, its limits, and how often its prediction comes true.
import { describe, expect, test } from 'vitest';
import { randomOf } from '../../src/core/random.js';
import { predictivePower } from '../../src/stats/bounds.js';
import { studentTQuantile } from '../../src/stats/distributions.js';

const estimate = (value: number, se: number) => ({ value, se, df: 20_000, rows: 900, clusters: 300 });
const decision = { bound: -2, holdsAt: 0.025, breaksAt: 0.025 };

describe('predictive power', () => {
  test('matches the formula worked out by hand', () => {
    // d = 1, SE_3 = √(0.2 + 0.9 / 3) = 0.707, σ = √(0.9 - 0.3) = 0.775; Φ((1 - 1.386) / 0.775) = 0.309, the other side 0.001.
    const advice = predictivePower(
      estimate(-1, Math.sqrt(1.1)),
      { row: 0.2, generation: 0.9, perRepeat: 0.9 },
      decision,
      3,
    );
    expect(advice).toMatchObject({ kind: 'about', repeats: 3 });
    expect(advice?.chance).toBeCloseTo(0.31, 2);
  });

  test('without repeats assumes that all variance is sampling, and is never below the value for a smaller share', () => {
    const unknown = predictivePower(estimate(-1, 1), { row: 1 }, decision, 3);
    expect(unknown?.kind).toBe('at-most');
    for (const share of [0.1, 0.4, 0.7, 1]) {
      const split = { row: 1 - share, generation: share, perRepeat: share };
      const known = predictivePower(estimate(-1, 1), split, decision, 3);
      expect(known?.chance).toBeLessThanOrEqual((unknown?.chance ?? 0) + 1e-12);
    }
  });

  test('is zero if only rows vary, and absent without a standard error', () => {
    expect(predictivePower(estimate(-1, 1), { row: 1, generation: 0, perRepeat: 0 }, decision, 9)?.chance).toBe(0);
    expect(predictivePower({ value: 0, rows: 3, clusters: 3 }, undefined, decision, 3)).toBeUndefined();
  });

  test('comes true as often as it predicts', () => {
    const { uniform } = randomOf(17);
    const normal = (variance: number) =>
      Math.sqrt(-2 * Math.log(1 - uniform()) * variance) * Math.cos(2 * Math.PI * uniform());
    const [row, perRepeat, repeats] = [0.15, 0.6, 3];
    const quantile = studentTQuantile(0.975, 20_000);
    const bins = Array.from({ length: 5 }, () => ({ sets: 0, said: 0, came: 0 }));
    for (let set = 0; set < 10_000; set++) {
      // A prior that is flat over the range that matters.
      const rows = -2 + 8 * (uniform() - 0.5);
      const first = rows + normal(perRepeat);
      const advice = predictivePower(
        estimate(first, Math.sqrt(row + perRepeat)),
        { row, generation: perRepeat, perRepeat },
        decision,
        repeats,
      );
      const later = (first + 2 * rows + normal(2 * perRepeat)) / repeats;
      const reach = quantile * Math.sqrt(row + perRepeat / repeats);
      const bin = bins[Math.min(4, Math.floor((advice?.chance ?? 0) * 5))] as (typeof bins)[number];
      bin.sets++;
      bin.said += advice?.chance ?? 0;
      bin.came += Math.abs(later - decision.bound) >= reach ? 1 : 0;
    }
    // At most 0.012 of standard error in a bin of 1,700 sets or more.
    for (const { sets, said, came } of bins) expect(Math.abs(said - came) / sets).toBeLessThan(0.03);
  });
});
