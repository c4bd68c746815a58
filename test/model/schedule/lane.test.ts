// Claims about an endpoint's health: when it is paused, probed, forgiven and given up.

import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { Course, Lane } from '../../../src/model/schedule/lane.js';
import { Pace } from '../../../src/model/schedule/pace.js';

const FAILURE = { status: 'failed', class: 'transient', reason: 'HTTP 503', down: true } as const;

function laneOf({ answered = true, retryMs = 600_000, waitReadyMs = 0 } = {}) {
  let now = 0;
  const endpoint = { host: 'a', call: () => Promise.reject(), close: () => Promise.resolve() };
  const lane = new Lane(endpoint, {
    concurrency: 1,
    ceiling: 1,
    maxAttempts: 6,
    retryMs,
    waitReadyMs,
    keepGoing: false,
    clock: { now: () => now, sleep: () => Promise.resolve() },
    random: () => 1,
    onNotice: () => {},
    pace: new Pace(),
  });
  if (answered) lane.noteAnswer(true);
  return {
    lane,
    at(time: number) {
      now = time;
    },
    /** Has as many rows fail, one each millisecond. */
    fail(times: number) {
      for (let time = 0; time < times; time++) {
        now = time;
        lane.noteFailure(FAILURE, { pending: [] });
      }
    },
  };
}

describe('an endpoint that has answered', () => {
  it('is paused when it is in doubt, and looked at at once', () => {
    const { lane, fail } = laneOf();
    fail(2);
    expect(lane.trouble).toMatchObject({ rows: 2 });
    expect(lane.isInService).toBe(true);
    lane.noteAnswer(true);
    fail(3);
    expect(lane.pause).toEqual({ failed: 0, nextProbeAt: 2, until: 600_000 });
  });

  it('is probed ever more rarely, and failures of older calls change nothing of that', () => {
    const { lane, fail, at } = laneOf();
    fail(3);
    at(100);
    const waits = [0, 0, 0, 0, 0, 0].map(() => {
      lane.noteFailure(FAILURE);
      return (lane.pause?.nextProbeAt ?? 0) - 100;
    });
    expect(waits).toEqual([1_000, 2_000, 4_000, 8_000, 15_000, 15_000]);
    const before = { ...lane.pause };
    at(200);
    lane.noteFailure(FAILURE, { pending: [] });
    expect(lane.pause).toEqual(before);
  });

  it.each([
    [30_000, 30_000],
    [599_000, 60_000],
    [Number.POSITIVE_INFINITY, 60_000],
  ])('has its own wait of %d ms kept by probes, up to a minute', (retryAfterMs, kept) => {
    const { lane, fail, at } = laneOf();
    fail(3);
    at(0);
    lane.noteFailure({ ...FAILURE, retryAfterMs });
    expect(lane.pause?.nextProbeAt).toBe(kept);
  });

  it('is never paused without patience', () => {
    const { lane, fail } = laneOf({ retryMs: 0 });
    fail(9);
    expect(lane.isInService).toBe(true);
  });
});

describe('an endpoint that has never answered', () => {
  it('is paused only where it is waited for', () => {
    const { lane, fail } = laneOf({ answered: false });
    fail(5);
    expect(lane.isInService).toBe(true);
    const waited = laneOf({ answered: false, waitReadyMs: 60_000 });
    waited.fail(1);
    expect(waited.lane.pause).toEqual({ failed: 0, nextProbeAt: 1_000, until: 60_000 });
  });

  it('is hopeless after twenty rows of one class, which one good answer disproves for good', () => {
    const { lane } = laneOf({ answered: false });
    const lose = (times: number, failure = 'refused') =>
      Array.from({ length: times }, () => lane.noteLoss(failure)).at(-1);
    expect(lose(19)).toBe(false);
    expect(lose(19, 'malformed')).toBe(false);
    lane.noteAnswer(false);
    expect(lose(1)).toBe(true);
    lane.noteAnswer(true);
    expect(lose(50)).toBe(false);
  });
});

it('a course that is done listens to nothing: a process that asks for days would keep each of them', async () => {
  const [stop, abort] = [new AbortController(), new AbortController()];
  const course = new Course({ stop: stop.signal, abort: abort.signal });
  expect(getEventListeners(course.halt, 'abort')).toHaveLength(1);
  course.finishIfIdle();
  await course.done;
  expect(getEventListeners(course.halt, 'abort')).toHaveLength(0);
});
