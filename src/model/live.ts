// Single calls, as many side by side as the endpoints take, each with its reply as it comes: for whoever acts in a world and waits.

import { EXIT, messageOf, UserError } from '../errors.js';
import { present } from '../present.js';
import { charactersOf } from '../question.js';
import type { CallCost, CallLog, FailureClass, ModelFailure, ModelReply, ModelRequest } from '../types.js';
import { callsCounted, costOfBoth } from '../usage.js';
import { type Attempt, type AttemptFailure, type AttemptReply, type Hear, INTERRUPTED } from './attempt.js';
import type { BackendOptions } from './backend.js';
import { type Connections, connect, type NamedEndpoints } from './http-backend.js';
import { backOffMs, type Call, newCall } from './schedule/call.js';
import { type Clock, systemClock } from './schedule/clock.js';
import { adaptLimit, type Lane, openLane } from './schedule/lane.js';
import { costOfTry } from './try-cost.js';

const DEFAULT_CEILING = 256;
const TRIED_AGAIN: ReadonlySet<FailureClass> = new Set(['rate-limit', 'transient', 'timeout', 'malformed']);
/** An endpoint that could not be reached is passed over for so long, if there is another one. */
const PASSED_OVER_MS = 15_000;

/** How one call is watched and ended. */
export interface LiveHooks {
  /** Ends the call: what has come by then is given back. */
  readonly signal: AbortSignal;
  /** Calls of one group go to one endpoint as long as it answers, so that its prefix cache hits. */
  readonly group?: string;
  readonly onText?: Hear;
  /** A try has failed and another one follows after so long: the text so far is void. */
  readonly onAgain?: (reason: string, waitMs: number) => void;
}

/** A call that its user has ended. */
interface LiveInterruption {
  readonly status: 'interrupted';
  /** What had come of the reply. */
  readonly content: string;
  readonly reasoning: string;
  readonly log: CallLog;
}

/** A call that has failed. */
export interface LiveFailure extends ModelFailure {
  /** Where no other call would fare better: its message has the remedy. */
  readonly stop?: UserError;
}

export type LiveOutcome = ModelReply | LiveFailure | LiveInterruption;

export interface LiveModel {
  /** Of the endpoint with the least; undefined where none tells it. */
  readonly contextTokens: number | undefined;
  /** Never rejects. Further calls than the endpoints take wait in order. */
  ask(request: ModelRequest, hooks: LiveHooks): Promise<LiveOutcome>;
  close(): Promise<void>;
}

type LiveOptions = Omit<BackendOptions, 'keepGoing'>;

/**
 * Opens what the user named for single calls. Failures that may pass are tried again as in the schedule: after back-off behind
 * Retry-After, a rate limit without using up tries, for at most `retryMs`; a server that has never answered, for `waitReadyMs`.
 * @throws UserError (2) for a base URL or a key that cannot be used, and where no prompt can fit beside the output budget
 */
export async function openLive(named: NamedEndpoints, options: LiveOptions): Promise<LiveModel> {
  const connections = await connect(named, options);
  try {
    const tokens = (await connections.contexts).map((context) => context.tokens);
    const contextTokens = tokens.length === 0 ? undefined : Math.min(...tokens);
    return new Live(connections, options, contextTokens, named.own?.lost);
  } catch (error) {
    await Promise.all(connections.endpoints.map((endpoint) => endpoint.close()));
    throw error;
  }
}

class Live implements LiveModel {
  readonly #lanes: readonly Lane[];
  readonly #clock: Clock;
  readonly #random: () => number;
  readonly #passedOverUntil = new Map<Lane, number>();
  readonly #answered = new Set<Lane>();

  constructor(
    private readonly connections: Connections,
    private readonly options: LiveOptions,
    readonly contextTokens: number | undefined,
    private readonly lost: AbortSignal | undefined,
  ) {
    this.#clock = options.clock ?? systemClock;
    this.#random = options.random ?? Math.random;
    const limits = { ceiling: DEFAULT_CEILING, ...connections.limits };
    this.#lanes = connections.endpoints.map((endpoint, index) => openLane(endpoint, index, limits));
  }

  async ask(request: ModelRequest, hooks: LiveHooks): Promise<LiveOutcome> {
    const call = newCall({ group: hooks.group ?? '' }, this.#clock.now());
    const partial = { content: '', reasoning: '' };
    let lane = this.#laneFor(hooks.group);
    const ended = AbortSignal.any([hooks.signal, ...(this.lost === undefined ? [] : [this.lost])]);
    const asking: Asking = { call, request, hooks, partial, ended };
    for (;;) {
      const attempt = await this.#inSlot(lane, asking);
      if (attempt === 'elsewhere') {
        lane = this.#laneFor(hooks.group);
        continue;
      }
      const log = logOf(call, lane, this.#clock.now());
      if (attempt.status === 'ok') return replyOf(attempt, log);
      if (attempt.status === 'failed') return failureOf(attempt, log);
      if (!this.lost?.aborted) return { status: 'interrupted', ...partial, log };
      return lostServer(this.lost, log);
    }
  }

  async close(): Promise<void> {
    await Promise.all(this.connections.endpoints.map((endpoint) => endpoint.close()));
  }

  /** Waits for a slot and tries there; a wait for it ends with the call. */
  async #inSlot(lane: Lane, asking: Asking): Promise<Attempt | 'elsewhere'> {
    const { ended, call } = asking;
    if (ended.aborted) return INTERRUPTED;
    let leave = () => {};
    const given = new Promise<typeof INTERRUPTED>((resolve) => {
      leave = () => resolve(INTERRUPTED);
    });
    ended.addEventListener('abort', leave, { once: true });
    let isIn = false;
    const tried = lane.slots(async () => {
      if (ended.aborted) return INTERRUPTED;
      isIn = true;
      lane.calls.add(call);
      try {
        return await this.#untilDone(lane, asking);
      } finally {
        lane.calls.delete(call);
      }
    });
    // A call that has its slot ends by itself, and only then is it known what it cost.
    const left = given.then((out) => (isIn ? tried : out));
    const outcome = await Promise.race([tried, left]);
    ended.removeEventListener('abort', leave);
    return outcome;
  }

  async #untilDone(lane: Lane, asking: Asking): Promise<Attempt | 'elsewhere'> {
    const { call, hooks, partial, ended } = asking;
    for (;;) {
      await this.#untilFree(lane, ended);
      const triedAt = this.#clock.now();
      const attempt = await this.#tryOnce(lane, asking);
      if (attempt.status === 'interrupted') return attempt;
      adaptLimit(lane, attempt, this.#clock.now(), this.#clock.now() - triedAt, this.options.retryMs);
      if (attempt.status === 'ok') {
        this.#answered.add(lane);
        this.#passedOverUntil.delete(lane);
        return attempt;
      }
      const waitMs = this.#waitAfter(attempt, call, lane);
      if (waitMs === undefined) return attempt;
      hooks.onAgain?.(attempt.reason, waitMs);
      Object.assign(partial, { content: '', reasoning: '' });
      if (attempt.class === 'rate-limit') lane.throttled.add(call);
      await this.#clock.sleep(waitMs, ended);
      lane.throttled.delete(call);
      if (isAway(attempt) && this.#laneFor(hooks.group) !== lane) return 'elsewhere';
    }
  }

  async #tryOnce(lane: Lane, { call, request, hooks, partial, ended }: Asking): Promise<Attempt> {
    const { pace } = this.connections;
    const wait = (ms: number) => this.#clock.sleep(ms, ended);
    const start = pace.isLimited
      ? await pace.turn(charactersOf(request), { wait, isOff: () => ended.aborted })
      : undefined;
    if (ended.aborted) return INTERRUPTED;
    call.attempts++;
    const attempt = await lane.endpoint.call(request, call.counted, ended, (piece, kind) => {
      partial[kind] += piece;
      hooks.onText?.(piece, kind);
    });
    const cost = costOfTry(() => charactersOf(request), attempt);
    call.cost = costOfBoth(call.cost, attempt.status === 'interrupted' ? withReceived(cost, partial) : cost);
    call.counts += callsCounted(cost);
    if (attempt.status !== 'interrupted' && start !== undefined) pace.ended(start, attempt.usage);
    return attempt;
  }

  /** Waits out a pause that the endpoint has asked for. */
  async #untilFree(lane: Lane, ended: AbortSignal): Promise<void> {
    while (lane.pausedUntil > this.#clock.now() && !ended.aborted) {
      await this.#clock.sleep(lane.pausedUntil - this.#clock.now(), ended);
    }
  }

  /** Milliseconds to the next try; undefined where the failure is the call's outcome. */
  #waitAfter(attempt: AttemptFailure, call: Call, lane: Lane): number | undefined {
    const { maxAttempts, retryMs, waitReadyMs = 0 } = this.options;
    const now = this.#clock.now();
    const isPassing = TRIED_AGAIN.has(attempt.class) || (isAway(attempt) && this.#answered.has(lane));
    if (!isPassing) return undefined;
    if (isAway(attempt)) this.#passedOverUntil.set(lane, now + PASSED_OVER_MS);
    call.firstFailureAt ??= now;
    const isAwaited = isAway(attempt) && !this.#answered.has(lane) && waitReadyMs > 0;
    const leftMs = call.firstFailureAt + (isAwaited ? waitReadyMs : retryMs) - now;
    const { retryAfterMs = 0 } = attempt;
    if (attempt.class === 'rate-limit') lane.pausedUntil = Math.max(lane.pausedUntil, now + retryAfterMs);
    else call.counted++;
    if (leftMs <= 0 || retryAfterMs > leftMs || (call.counted >= maxAttempts && !isAwaited)) return undefined;
    return backOffMs(call, this.#random(), retryAfterMs, leftMs);
  }

  /** The group's own endpoint where it can be reached, else the one with the fewest calls. */
  #laneFor(group: string | undefined): Lane {
    const now = this.#clock.now();
    const open = this.#lanes.filter((lane) => (this.#passedOverUntil.get(lane) ?? 0) <= now);
    const home = group === undefined ? undefined : this.#lanes[placeOf(group, this.#lanes.length)];
    if (home !== undefined && open.includes(home)) return home;
    const load = ({ slots }: Lane) => slots.activeCount + slots.pendingCount;
    return present([...(open.length > 0 ? open : this.#lanes)].sort((a, b) => load(a) - load(b))[0]);
  }
}

/** A call under way. */
interface Asking {
  readonly call: Call;
  readonly request: ModelRequest;
  readonly hooks: LiveHooks;
  readonly partial: { content: string; reasoning: string };
  /** The caller's signal, and that of a server that is lost. */
  readonly ended: AbortSignal;
}

function logOf({ attempts, cost, counts, startedAt }: Call, { endpoint: { host } }: Lane, now: number): CallLog {
  return { attempts, ...cost, ...(counts > 1 && { tries: counts }), ms: now - startedAt, host };
}

/** Whether the failure says that nobody answers at the endpoint. */
function isAway({ down, unreachable }: AttemptFailure): boolean {
  return down === true || unreachable === true;
}

function replyOf({ usage: _, firstTokenMs, ...reply }: AttemptReply, log: CallLog): ModelReply {
  return { ...reply, log: { ...log, ...(firstTokenMs !== undefined && { firstTokenMs }) } };
}

function failureOf({ class: kind, reason, stop }: AttemptFailure, log: CallLog): LiveFailure {
  return { status: 'failed', class: kind, reason, log, ...(stop !== undefined && { stop }) };
}

/** A server that ran for this model alone has ended; its signal's reason says how. */
function lostServer({ reason }: AbortSignal, log: CallLog): LiveFailure {
  const stop = reason instanceof UserError ? reason : new UserError(messageOf(reason), EXIT.unavailable);
  return { status: 'failed', class: 'transient', reason: stop.message, log, stop };
}

/** What a try cost that was broken off: whatever had come of the reply was generated. */
function withReceived(cost: CallCost, { content, reasoning }: Asking['partial']): CallCost {
  const { sent = 0 } = cost.uncounted ?? {};
  return { ...cost, uncounted: { sent, received: content.length + reasoning.length } };
}

/** The same place for the same name, spread over all places. */
function placeOf(name: string, places: number): number {
  let hash = 0;
  for (let at = 0; at < name.length; at++) hash = (Math.imul(hash, 31) + name.charCodeAt(at)) >>> 0;
  return hash % places;
}
