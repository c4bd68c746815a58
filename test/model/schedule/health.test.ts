// Claims about an endpoint's health: when it is paused, probed, forgiven and given up.

import { describe, expect, it } from 'vitest';
import {
  afterAnswer,
  afterFailure,
  afterLoss,
  type Health,
  hopeless,
  type Sign,
  UNKNOWN_HEALTH,
} from '../../../src/model/schedule/health.js';

const PATIENCE = { retryMs: 600_000, waitReadyMs: 0 };
const SIGN: Sign = {
  reason: 'HTTP 500',
  newRow: true,
  isProbe: false,
  isDoubtful: true,
  retryAfterMs: 0,
  random: 1,
};
const PROBE = { ...SIGN, isProbe: true };
const WORKING = afterAnswer(UNKNOWN_HEALTH, true);

function fail(health: Health, times: number, sign: Partial<Sign> = {}, patience = PATIENCE): Health {
  let after = health;
  for (let time = 0; time < times; time++) after = afterFailure(after, time, { ...SIGN, ...sign }, patience);
  return after;
}

describe('an endpoint that has answered', () => {
  it('is paused when it is in doubt, and looked at at once', () => {
    expect(fail(WORKING, 2, { isDoubtful: false }).trouble).toMatchObject({ rows: 2 });
    expect(fail(WORKING, 2, { isDoubtful: false }).trouble?.pause).toBeUndefined();
    expect(fail(WORKING, 1).trouble?.pause).toEqual({ failed: 0, nextProbeAt: 0, until: 600_000 });
  });

  it('is probed ever more rarely, and failures of older calls change nothing of that', () => {
    let health = fail(WORKING, 3);
    const waits = [0, 0, 0, 0, 0, 0].map(() => {
      health = afterFailure(health, 100, PROBE, PATIENCE);
      return (health.trouble?.pause?.nextProbeAt ?? 0) - 100;
    });
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    expect(afterFailure(health, 200, SIGN, PATIENCE).trouble?.pause).toEqual(health.trouble?.pause);
  });

  it('has its own wait kept by probes, up to a minute', () => {
    const wait = (retryAfterMs: number) =>
      (afterFailure(fail(WORKING, 3), 0, { ...PROBE, retryAfterMs }, PATIENCE).trouble?.pause?.nextProbeAt ?? 0) /
      1_000;
    expect([wait(30_000), wait(599_000), wait(Number.POSITIVE_INFINITY)]).toEqual([30, 60, 60]);
  });

  it('is never paused without patience', () => {
    expect(fail(WORKING, 9, {}, { retryMs: 0, waitReadyMs: 0 }).trouble?.pause).toBeUndefined();
  });
});

describe('an endpoint that has never answered', () => {
  it('is paused only where it is waited for', () => {
    expect(fail(UNKNOWN_HEALTH, 5).trouble?.pause).toBeUndefined();
    const waited = { ...PATIENCE, waitReadyMs: 60_000 };
    expect(fail(UNKNOWN_HEALTH, 1, {}, waited).trouble?.pause).toEqual({
      failed: 0,
      nextProbeAt: 1_000,
      until: 60_000,
    });
  });

  it('is hopeless after twenty rows of one class, which one good answer disproves for good', () => {
    const lose = (health: Health, times: number, failure = 'refused') =>
      Array.from({ length: times }).reduce<Health>((before) => afterLoss(before, failure), health);
    expect(hopeless(lose(UNKNOWN_HEALTH, 19))).toBeUndefined();
    expect(hopeless(lose(UNKNOWN_HEALTH, 20))).toBe('refused');
    expect(hopeless(lose(lose(UNKNOWN_HEALTH, 19), 19, 'malformed'))).toBeUndefined();
    expect(hopeless(lose(afterAnswer(lose(UNKNOWN_HEALTH, 19), true), 50))).toBeUndefined();
    expect(hopeless(lose(afterAnswer(lose(UNKNOWN_HEALTH, 19), false), 1))).toBe('refused');
  });
});
