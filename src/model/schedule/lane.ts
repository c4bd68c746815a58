// An endpoint as the schedule sees it: its slots, its calls, and what was learnt about it.

import pLimit, { type LimitFunction } from 'p-limit';
import { EXIT, UserError } from '../../errors.js';
import { CHARS_A_TOKEN, charactersOf } from '../../question.js';
import type { BackendStatus, Job, ModelRequest, Outage } from '../../types.js';
import type { AttemptFailure, AttemptReply } from '../attempt.js';
import type { Endpoint } from '../endpoint/endpoint.js';
import type { Call } from './call.js';
import { afterRateLimit, afterReply, afterTrouble, type LimitState, startLimit, type Use } from './concurrency.js';
import { type Health, type Pause, UNKNOWN_HEALTH } from './health.js';
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
  /** The smallest request that it has answered: asked again, for one token, it tells whether the endpoint or a row is at fault. */
  witness?: { readonly job: Job; readonly request: ModelRequest };
  /** When the witness was last answered, and when a row that had met a rate limit. */
  vouchedAt: number;
  recoveredAt: number;
  /** So many rows have to fail without an answer in between for the endpoint to be in doubt. */
  doubtAfter: number;
  /** Rate limits met since it last answered a row. */
  limits: number;
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

/** When so many rows fail without an answer in between, the rows may not be the cause. */
export const ROWS_IN_DOUBT = 3;

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
    vouchedAt: Number.NEGATIVE_INFINITY,
    recoveredAt: Number.NEGATIVE_INFINITY,
    doubtAfter: ROWS_IN_DOUBT,
    limits: 0,
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

/** Whether probes have shown that nobody answers there. */
export function isOut(lane: Lane): boolean {
  return (pauseOf(lane)?.failed ?? 0) > 0 || lane.end !== undefined;
}

/** Keeps the smallest request that the endpoint has answered. */
export function noteRequest(lane: Lane, job: Job, request: ModelRequest): void {
  if (lane.witness !== undefined && charactersOf(lane.witness.request) <= charactersOf(request)) return;
  lane.witness = { job, request };
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
  return usage.completionTokens ?? (content.length + reasoning.length) / CHARS_A_TOKEN;
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
  if (trouble?.pause === undefined || (answered && trouble.pause.failed === 0)) return [];
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
