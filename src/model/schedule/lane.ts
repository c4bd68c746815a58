// An endpoint as the schedule sees it: its slots, its calls, and what was learnt about it.

import pLimit, { type LimitFunction } from 'p-limit';
import { EXIT, UserError } from '../../errors.js';
import type { BackendStatus, Outage } from '../../types.js';
import type { AttemptFailure, AttemptReply } from '../attempt.js';
import type { Endpoint } from '../endpoint/endpoint.js';
import type { Call } from './call.js';
import { afterRateLimit, afterReply, afterTrouble, type LimitState, startLimit, type Use } from './concurrency.js';
import { type Health, isOutage, type Pause, UNKNOWN_HEALTH } from './health.js';
import type { End } from './notices.js';

/** An endpoint with its slots, and what was learnt about it. */
export interface Lane {
  readonly endpoint: Endpoint;
  readonly index: number;
  readonly slots: LimitFunction;
  /** Absent where the limit is fixed. */
  control?: LimitState;
  health: Health;
  /** Calls that hold a slot. */
  readonly calls: Set<Call>;
  /** Those of the calls that are in back-off after a rate limit, the one waiting longest first. */
  readonly throttled: Set<Call>;
  /** Those of the calls that wait for their turn under the run's pace. */
  readonly paced: Set<Call>;
  /** Those of the calls that try out whether the endpoint is back. */
  readonly probes: Set<Call>;
  /** Calls that wait for the endpoint to come back, and calls that have no try left unless its trouble was an outage. */
  readonly parked: Call[];
  readonly spent: Call[];
  /** The end of a rate limit's pause. */
  pausedUntil: number;
  /** Its rows have gone to the other endpoints. */
  isRelieved: boolean;
  /** Why the endpoint was given up, once it was. A run ends with these reasons when every endpoint was. */
  end?: End;
  latestFailure?: { readonly reason: string; readonly at: number };
  saidUnreachable: boolean;
  saidWaitTooLong: boolean;
  /** The notice of its return; set when its absence was told. */
  awaited?: string;
}

/** A row that was in flight in more outages than this may be their cause: its failures count. */
const MOST_FORGIVEN = 3;
/** From so many outages on, the row is asked only while no other such row is in flight, so that none takes another down with it. */
const SUSPECT = 2;

export function openLane(
  endpoint: Endpoint,
  index: number,
  { concurrency, ceiling }: { readonly concurrency: number | 'adaptive'; readonly ceiling: number },
): Lane {
  const control = startLimit(ceiling);
  const isAdaptive = concurrency === 'adaptive';
  return {
    endpoint,
    index,
    slots: pLimit(isAdaptive ? control.limit : concurrency),
    ...(isAdaptive && { control }),
    health: UNKNOWN_HEALTH,
    calls: new Set(),
    throttled: new Set(),
    paced: new Set(),
    probes: new Set(),
    parked: [],
    spent: [],
    pausedUntil: 0,
    isRelieved: false,
    saidUnreachable: false,
    saidWaitTooLong: false,
  };
}

/** The pause of an endpoint that gives no replies. */
export function pauseOf(lane: Lane): Pause | undefined {
  return lane.health.trouble?.pause;
}

export function isInService(lane: Lane): boolean {
  return pauseOf(lane) === undefined;
}

/** All calls that have begun there and are not settled. */
function callsOf(lane: Lane): Call[] {
  return [...lane.calls, ...lane.parked, ...lane.spent];
}

/** The parked call to go on with; undefined where there is none, or none but suspects while one of those is in flight. */
export function takeParked(lane: Lane): Call | undefined {
  const isSuspect = ({ forgiven }: Call) => forgiven >= SUSPECT;
  const alone = [...lane.calls].some(isSuspect);
  const at = lane.parked.findIndex((call) => !(alone && isSuspect(call)));
  return at < 0 ? undefined : lane.parked.splice(at, 1)[0];
}

/**
 * The trouble has ended, and it is settled whether its failures count. Failures in an outage cost a row nothing, if outages are
 * waited out at all. Otherwise they count, and calls without a try left stay without one.
 */
export function countFailures(lane: Lane, { maxAttempts, retryMs }: { maxAttempts: number; retryMs: number }): void {
  const { trouble } = lane.health;
  const forgives = retryMs > 0 && trouble !== undefined && isOutage(trouble);
  for (const call of callsOf(lane)) {
    if (call.pending === 0) continue;
    if (forgives && call.forgiven < MOST_FORGIVEN) {
      call.forgiven++;
      call.failures = 0;
      delete call.firstFailureAt;
    } else {
      call.counted = lane.spent.includes(call) ? maxAttempts : call.counted + call.pending;
    }
    call.pending = 0;
  }
}

/** Adapts the limit to what an attempt shows; `longestWaitMs` bounds a wait that a server asks for. */
export function adaptLimit(
  lane: Lane,
  attempt: AttemptReply | AttemptFailure,
  now: number,
  ms: number,
  longestWaitMs: number,
): void {
  const { control } = lane;
  if (control === undefined) return;
  lane.control = controlAfter(control, attempt, now, ms, longestWaitMs, lane);
  const { limit } = lane.control;
  if (lane.slots.concurrency !== limit) lane.slots.concurrency = limit;
}

function controlAfter(
  control: LimitState,
  attempt: AttemptReply | AttemptFailure,
  now: number,
  ms: number,
  longestWaitMs: number,
  lane: Lane,
): LimitState {
  if (attempt.status === 'ok') return afterReply(control, now, { tokens: tokensOf(attempt), ms }, useOf(lane, 0));
  if (attempt.class === 'rate-limit') {
    return afterRateLimit(control, now, useOf(lane, 1), Math.min(attempt.retryAfterMs ?? 0, longestWaitMs));
  }
  return attempt.class === 'transient' || attempt.class === 'timeout' ? afterTrouble(control) : control;
}

function useOf(lane: Lane, alsoWaiting: number): Use {
  // A call that the run itself holds back says nothing of the endpoint.
  return { inUse: lane.calls.size - lane.paced.size, waiting: lane.throttled.size + alsoWaiting };
}

/** If the server did not count, four characters a token are close enough to see a rise. */
function tokensOf({ usage, content, reasoning = '' }: AttemptReply): number {
  return usage.completionTokens ?? (content.length + reasoning.length) / 4;
}

/** What progress shows of all endpoints together. */
export function statusOf(lanes: readonly Lane[], now: number): BackendStatus {
  const open = lanes.filter((lane) => !lane.isRelieved);
  const failures = lanes.flatMap(({ endpoint: { host }, latestFailure }) =>
    latestFailure === undefined ? [] : [{ text: `${host}: ${latestFailure.reason}`, agoMs: now - latestFailure.at }],
  );
  const [failure] = failures.sort((a, b) => a.agoMs - b.agoMs);
  const paced = lanes.reduce((sum, lane) => sum + lane.paced.size, 0);
  return {
    inFlight: lanes.reduce((sum, lane) => sum + lane.calls.size, 0) - paced,
    ...(paced > 0 && { paced }),
    limit: open.reduce((sum, lane) => sum + lane.slots.concurrency, 0),
    pausedMs: open.reduce((longest, lane) => Math.max(longest, lane.pausedUntil - now), 0),
    ...(failure !== undefined && { failure }),
    outages: lanes.flatMap((lane) => outageOf(lane, now)),
  };
}

function outageOf({ endpoint: { host }, health: { answered, trouble } }: Lane, now: number): Outage[] {
  if (trouble?.pause === undefined) return [];
  const { nextProbeAt, until } = trouble.pause;
  const leftMs = Math.max(0, until - now);
  return [{ host, hasAnswered: answered, forMs: now - trouble.since, nextMs: Math.max(0, nextProbeAt - now), leftMs }];
}

/** The error that a run ends with when no endpoint is left. @returns a UserError (69) that names each endpoint with its reason */
export function noneLeft(lanes: readonly Lane[]): UserError {
  const each = lanes.map((lane) => `${lane.endpoint.host}: ${lane.end?.why}`).join('; ');
  const remedies = [...new Set(lanes.map((lane) => lane.end?.remedy))].join('; ');
  return new UserError(`${each}; ${remedies}, then repeat the command: finished rows are kept`, EXIT.unavailable);
}
