// Claims about the limit's controller, one reply at a time.

import { describe, expect, it } from 'vitest';
import {
  afterRateLimit,
  afterReply,
  afterTrouble,
  type LimitState,
  startLimit,
} from '../../../src/model/schedule/concurrency.js';

interface Rounds {
  /** Throughput in tokens per millisecond as a function of the limit. */
  readonly rate: (limit: number) => number;
  readonly share?: number;
  readonly waiting?: number;
  readonly trouble?: boolean;
  readonly now?: number;
}

/** So many replies at the limit of the moment, at an instant. */
function replies(state: LimitState, count: number, rounds: Rounds): LimitState {
  const { rate, share = 1, waiting = 0, trouble = false, now = 0 } = rounds;
  let next = state;
  for (let reply = 0; reply < count; reply++) {
    const inUse = Math.round(next.limit * share);
    const ms = (10 * inUse) / rate(next.limit);
    next = afterReply(next, now, { tokens: 10, ms }, { inUse, waiting });
    if (trouble && reply === 0) next = afterTrouble(next);
  }
  return next;
}

const proportional = (limit: number) => limit;
const until = (most: number) => (limit: number) => Math.min(limit, most);
const grown = (limit: number) => {
  let state = startLimit(256);
  while (state.limit < limit) state = replies(state, 1, { rate: proportional });
  return state;
};

describe('growth', () => {
  it('doubles to the ceiling while throughput rises', () => {
    const seen = new Set<number>();
    let state = startLimit(100);
    for (let reply = 0; reply < 2_000; reply++) {
      state = replies(state, 1, { rate: proportional });
      seen.add(state.limit);
    }
    expect([...seen]).toEqual([8, 16, 32, 64, 100]);
  });

  it('starts no higher than the ceiling', () => {
    expect(startLimit(3).limit).toBe(3);
  });

  it.each([
    ['less than four fifths of the limit are in use', { share: 0.75 }],
    ['a server error or a timeout falls into the round', { trouble: true }],
  ])('does not happen where %s, and neither does a cut', (_, round) => {
    let state = grown(32);
    for (let rounds = 0; rounds < 10; rounds++) state = replies(state, 20, { rate: proportional, ...round });
    expect(state.limit).toBe(32);
  });

  it.each([
    [12, 16],
    [16, 16],
    [32, 32],
    [100, 128],
  ])('where throughput ends at %i calls, the smallest limit that gives about as much is kept: %i', (most, limit) => {
    expect(replies(startLimit(256), 3_000, { rate: until(most) }).limit).toBe(limit);
  });

  it('a limit found good is probed again after a while, ever more rarely', () => {
    let state = startLimit(256);
    const probes: number[] = [];
    for (let second = 0; second < 3_000; second++) {
      const { limit } = state;
      state = replies(state, 32, { rate: until(32), now: second * 1_000 });
      if (second > 20 && limit === 32 && state.limit === 64) probes.push(second);
    }
    const gaps = probes.slice(1).map((at, index) => at - (probes[index] as number));
    expect(gaps.length).toBeGreaterThan(3);
    expect(gaps[0]).toBeGreaterThanOrEqual(60);
    expect(gaps).toEqual([...gaps].sort((a, b) => a - b));
    expect(gaps.at(-1)).toBeGreaterThanOrEqual(480);
  });

  it('continues if the server accepts more than before', () => {
    const state = replies(startLimit(256), 3_000, { rate: until(32) });
    expect(replies(state, 5_000, { rate: proportional, now: 60_000 }).limit).toBe(256);
  });
});

describe('rate limits', () => {
  const many = { inUse: 64, waiting: 30 };

  it('an episode cuts by a fifth, once', () => {
    let state = grown(64);
    for (let at = 0; at < 14_000; at += 100) state = afterRateLimit(state, at, many);
    expect(state.limit).toBe(51);
  });

  it('single refusals do not cut', () => {
    expect(afterRateLimit(grown(64), 0, { inUse: 64, waiting: 1 }).limit).toBe(64);
  });

  it('those that answer calls sent before the cut do not cut again', () => {
    const state = afterRateLimit(grown(64), 0, many);
    expect(afterRateLimit(state, 40_000, { inUse: 52, waiting: 30 }).limit).toBe(51);
    expect(afterRateLimit(state, 40_000, { inUse: 51, waiting: 30 }).limit).toBe(40);
  });

  it('a 429 within the cool-down prolongs it, though not for ever', () => {
    const cut = afterRateLimit(grown(64), 0, many);
    expect(cut.coolDownUntil).toBe(15_000);
    const prolonged = afterRateLimit(cut, 10_000, many);
    expect(prolonged.coolDownUntil).toBe(25_000);
    expect(afterRateLimit(prolonged, 24_000, many).coolDownUntil).toBe(30_000);
    expect(afterRateLimit(cut, 10_000, many, 60_000).coolDownUntil).toBe(70_000);
  });

  it('replies during a cool-down do not count', () => {
    const cut = afterRateLimit(grown(64), 0, many);
    expect(replies(cut, 10_000, { rate: proportional, now: 14_999 })).toBe(cut);
  });

  it('growth after a cut starts with a twentieth', () => {
    const cut = afterRateLimit(grown(64), 0, many);
    expect(replies(cut, 51, { rate: proportional, now: 15_000 }).limit).toBe(54);
  });

  it('calls that always wait are what the limit has too much', () => {
    expect(replies(grown(64), 96, { rate: proportional, waiting: 4 }).limit).toBe(60);
  });

  it('the limit never falls below one', () => {
    let state = startLimit(256);
    for (let at = 0; at < 60; at++) {
      state = afterRateLimit(state, at * 60_000, { inUse: state.limit, waiting: state.limit });
    }
    expect(state.limit).toBe(1);
    expect(replies(state, 20, { rate: proportional, waiting: 1, now: 1e9 }).limit).toBe(1);
  });
});
