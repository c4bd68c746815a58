// How fast a rollout falls behind its teacher-forced partner.

import { describe, expect, it } from 'vitest';
import { type EstimateDocument, estimateDocument } from '../../../src/core/document.js';
import type { Estimate, JudgedRow } from '../../../src/core/types.js';
import { meanOfEstimates } from '../../../src/stats/clusters.js';
import { type DriftCard, driftCard, isStepped, slopeWithin, valuesOf } from '../../../src/stats/rollout.js';
import { type MadeStep, steppedRow } from '../../support/rollouts.js';

const STEPS = [1, 2, 4, 7];

/** Rows of a domain; trajectory `number` has its own level, and differs a little at each step. */
function rowsOf(
  trajectories: number,
  lost: (step: number, trajectory: number) => number,
  more: Partial<MadeStep> = {},
) {
  return Array.from({ length: trajectories }, (_, trajectory) =>
    STEPS.slice(0, 2 + (trajectory % 3)).map((step) =>
      steppedRow({
        ...{ trajectory, step, rating: 4.6 - 0.03 * (trajectory % 5) - lost(step, trajectory) },
        ...more,
      }),
    ),
  ).flat();
}

const NOTHING = () => 0;
/** 0.1 of a rating is 2.5 points; odd trajectories lose more. */
const LOST = (step: number, trajectory: number) => (step - 1) * (0.1 + 0.02 * (trajectory % 2));

const forced = (trajectories: number, more: Partial<MadeStep> = {}) =>
  rowsOf(trajectories, NOTHING, { ...more, isTrue: true });

const driftOf = (rows: readonly JudgedRow[], partners: readonly JudgedRow[]): DriftCard =>
  driftCard(rows.filter(isStepped), valuesOf(partners, { scale: 'score' }), { scale: 'score' });

/** A figure with an interval, in the form used for computing. */
const asEstimate = ({ se, df, low, high, ...figure }: EstimateDocument): Estimate =>
  se === null || df === null || low === null || high === null ? figure : { ...figure, se, df, low, high };

describe('the drift of a rollout', () => {
  it('is the slope of the paired difference within chains, by domain', () => {
    const rows = rowsOf(12, LOST);
    const { domains, paired, unpaired } = driftOf(rows, forced(12));
    const points = rows.map((row, at) => ({
      x: row.turnIdx,
      y: (row.total - (forced(12)[at]?.total ?? 0)) * 25,
      chain: row.trajectory,
      cluster: row.trajectory,
    }));
    const slope = slopeWithin(points);
    const found = domains.terminal?.slope;
    expect([paired, unpaired]).toEqual([rows.length, 0]);
    expect(found?.value).toBeCloseTo(slope?.value ?? Number.NaN, 9);
    expect(found?.low).toBeCloseTo(slope?.low ?? Number.NaN, 7);
    expect(found?.value).toBeGreaterThan(-3);
    expect(found?.value).toBeLessThan(-2.5);
  });

  it('is 0 for a model that scores as well on its own histories, however hard late steps are', () => {
    const late = (step: number) => step / 4;
    const { overall } = driftOf(rowsOf(12, late), rowsOf(12, late, { isTrue: true }));
    expect(overall.slope?.value).toBe(0);
    expect(overall.difference?.value).toBe(0);
  });

  it('over all domains is their mean, and with the seven among them only the mean of those', () => {
    const domains = ['mcp', 'web'] as const;
    const rows = domains.flatMap((domain, at) => rowsOf(12, (s, t) => (at + 1) * LOST(s, t), { domain }));
    const partners = domains.flatMap((domain) => forced(12, { domain }));
    const { domains: found, overall } = driftOf(rows, partners);
    const slopes = Object.values(found).flatMap(({ slope }) => (slope === null ? [] : [asEstimate(slope)]));
    const expected = meanOfEstimates(slopes);
    expect(slopes).toHaveLength(2);
    expect(overall.slope).toEqual(estimateDocument(expected));
    expect(expected.low).toBeDefined();
    const all = ['mcp', 'search', 'terminal', 'swe', 'android', 'web', 'os', 'game'];
    const eight = all.flatMap((domain) => rowsOf(6, (s, t) => (domain === 'game' ? 5 : 1) * LOST(s, t), { domain }));
    const seven = driftOf(
      eight,
      all.flatMap((domain) => forced(6, { domain })),
    );
    expect(seven.overall.slope?.value).toBeCloseTo(seven.domains.mcp?.slope?.value ?? 0, 9);
  });

  it('counts a failure of the model as rating 1 on either side', () => {
    const rows = rowsOf(12, NOTHING).map((row) =>
      row.turnIdx < 4
        ? row
        : steppedRow({ trajectory: Number(row.trajectory.split('t').at(-1)), step: row.turnIdx, rating: undefined }),
    );
    expect(driftOf(rows, forced(12)).overall.slope?.value).toBeLessThan(-10);
    const failed = forced(12).map((row) => ({ ...row, failed: 1, failure: { class: 'empty', reason: '' } as const }));
    expect(driftOf(rowsOf(12, NOTHING), failed).overall.difference?.value).toBeGreaterThan(80);
  });

  it('without off-script rows is shown next to the drift with them, and is absent if there are none', () => {
    const off = (step: number) => (step === 7 ? 2 : 0);
    const rows = rowsOf(12, off).map((row) =>
      row.turnIdx === 7 && row.rollout ? { ...row, rollout: { ...row.rollout, offScript: ['/a'] } } : row,
    );
    const { overall } = driftOf(rows, forced(12));
    expect(overall.slope?.value).toBeLessThan(-5);
    expect(overall.on_script?.slope?.value).toBe(0);
    expect(driftOf(rowsOf(12, off), forced(12)).overall.on_script).toBeUndefined();
  });

  it('counts rows without a partner, which alone give no drift', () => {
    const found = driftOf(rowsOf(12, LOST), forced(4));
    expect(found.paired + found.unpaired).toBe(rowsOf(12, LOST).length);
    expect(found.domains.terminal?.slope?.low).toBeNull();
    expect(driftOf(rowsOf(12, LOST), forced(12, { domain: 'os' })).overall).toEqual({ slope: null, difference: null });
  });

  it('averages repeats of a row first on both sides', () => {
    const twice = [...rowsOf(12, LOST), ...rowsOf(12, (s, t) => 3 * LOST(s, t), { repeat: 1 })];
    const one = driftOf(
      rowsOf(12, (s, t) => 2 * LOST(s, t)),
      forced(12),
    ).overall.slope;
    const two = driftOf(twice, [...forced(12), ...forced(12, { repeat: 1 })]).overall.slope;
    expect(two?.rows).toBe(one?.rows);
    expect(two?.value).toBeCloseTo(one?.value ?? 0, 9);
  });
});
