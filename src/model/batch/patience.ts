// One question to a server about files and batches, tried again for as long as its failures may pass.

import { EXIT, interruption, UserError } from '../../errors.js';
import { type JsonObject, parseObject } from '../../json.js';
import type { FailureClass } from '../../types.js';
import type { AttemptFailure } from '../attempt.js';
import { classify } from '../failures/classify.js';
import { readError } from '../failures/error-body.js';
import type { CallContext } from '../failures/rule.js';
import type { WireResponse } from '../http/fetch.js';
import { readStart } from '../http/wire.js';
import type { Clock } from '../schedule/clock.js';

/** What came of a question: an answer, or a refusal that no other try would change. */
export type Asked<T> = { readonly status: 'ok'; readonly value: T } | ({ readonly status: 'refused' } & Refusal);

interface Refusal {
  /** The HTTP status. */
  readonly http: number;
  /** The server's code for the error; empty where it gave none. */
  readonly code: string;
  /** What was said, in words. */
  readonly reason: string;
  /** A limit on what may wait at once: there is room again later. */
  readonly isFull: boolean;
  /** Ends the command where nobody makes anything of the refusal. */
  readonly stop: UserError;
}

/** A question. */
export interface TryTo<T> {
  /** What is asked for, in words. */
  readonly asked: string;
  /** Longest silence; `alive` ends one. */
  readonly idleMs?: number;
  send(signal: AbortSignal, alive: () => void): Promise<WireResponse>;
  /** Undefined where the answer is not what was asked for. */
  read(response: WireResponse, alive: () => void): Promise<T | undefined>;
  /** A status that is a refusal here, although it may pass elsewhere. */
  readonly final?: number;
  /** Looks, before another try, whether a try without an answer had its effect. */
  found?(): Promise<T | undefined>;
}

interface PatienceOptions {
  readonly context: Omit<CallContext, 'asked' | 'nowMs'>;
  readonly retryMs: number;
  readonly stop: AbortSignal;
  readonly onNotice: (text: string) => void;
  readonly clock: Clock;
}

const PASSING: ReadonlySet<FailureClass> = new Set(['rate-limit', 'transient', 'timeout', 'malformed']);
const IDLE_MS = 120_000;
const FIRST_WAIT_MS = 500;
const LONGEST_WAIT_MS = 60_000;
const MOST_ERROR_TEXT = 65_536;
/** A page of a hundred batches has some hundred kilobytes. */
const MOST_DOCUMENT = 2 ** 25;
/** As OpenAI and Azure say it, with and without the code. */
const FULL = /token_limit_exceeded|enqueued[ _]token/i;

/** The JSON object of an answer; undefined where it is none, or not whole. */
export async function readDocument(response: WireResponse): Promise<JsonObject | undefined> {
  return parseObject(await readStart(response, MOST_DOCUMENT));
}

/** Whether a code or a sentence says that too many tokens wait already. */
export function saysFull(text: string): boolean {
  return FULL.test(text);
}

type Tried<T> = Asked<T> | { readonly status: 'passing'; readonly failure: AttemptFailure };

export class Patience {
  /** The latest failure that was told. */
  #told: string | undefined;

  constructor(private readonly options: PatienceOptions) {}

  /** @throws UserError 69 where no answer came in time, 130 or 143 for an interrupt */
  async ask<T>(what: TryTo<T>): Promise<Asked<T>> {
    const { retryMs, clock, stop } = this.options;
    const since = clock.now();
    for (let failures = 0; ; failures++) {
      if (stop.aborted) throw interrupted(stop);
      const tried = await this.#once(what);
      if (tried.status !== 'passing') {
        this.#told = undefined;
        return tried;
      }
      const { failure } = tried;
      const leftMs = since + retryMs - clock.now();
      const { retryAfterMs = 0 } = failure;
      if (leftMs <= 0 || retryAfterMs > leftMs) throw this.#givenUp(failure);
      this.#tell(failure);
      const jitterMs = (0.5 + Math.random() / 2) * Math.min(LONGEST_WAIT_MS, FIRST_WAIT_MS * 2 ** failures);
      await clock.sleep(Math.min(retryAfterMs + jitterMs, leftMs), stop);
      if (stop.aborted) throw interrupted(stop);
      // What was not reached, or turned away at the door, has had no effect.
      const isUnheard = failure.class === 'rate-limit' || failure.unreachable === true;
      const found = isUnheard ? undefined : await what.found?.();
      if (found !== undefined) return { status: 'ok', value: found };
    }
  }

  async #once<T>(what: TryTo<T>): Promise<Tried<T>> {
    const { context, stop } = this.options;
    const { idleMs = IDLE_MS } = what;
    const silence = new AbortController();
    const timer = setTimeout(() => silence.abort(), idleMs);
    const signal = AbortSignal.any([stop, silence.signal]);
    const situation = () => ({ ...context, asked: what.asked, nowMs: Date.now() });
    const passing = (reason: string): Tried<T> => ({
      status: 'passing',
      failure: { status: 'failed', class: 'transient', reason },
    });
    try {
      const response = await what.send(signal, () => timer.refresh());
      const { status, headers } = response;
      if (status < 200 || status > 299) {
        const body = await readStart(response, MOST_ERROR_TEXT);
        const { code, text } = readError(body);
        const isFull = saysFull(text);
        const failure = classify({ status, headers, body }, situation());
        if (PASSING.has(failure.class) && !isFull && status !== what.final) return { status: 'passing', failure };
        return { status: 'refused', http: status, code, reason: failure.reason, isFull, stop: this.#stopOf(failure) };
      }
      const value = await what.read(response, () => timer.refresh());
      return value === undefined ? passing(`its answer is no answer of a ${what.asked}`) : { status: 'ok', value };
    } catch (error) {
      if (stop.aborted) throw interrupted(stop);
      if (error instanceof UserError) throw error;
      if (silence.signal.aborted) return passing(`no answer within ${idleMs / 1000} s`);
      const failure = classify({ error }, situation());
      if (PASSING.has(failure.class)) return { status: 'passing', failure };
      throw this.#stopOf(failure);
    } finally {
      clearTimeout(timer);
    }
  }

  #stopOf({ stop, reason }: AttemptFailure): UserError {
    return stop ?? new UserError(`${this.options.context.host}: ${reason}`, EXIT.unavailable);
  }

  #givenUp({ reason }: AttemptFailure): UserError {
    const { context, retryMs } = this.options;
    const minutes = Math.round(retryMs / 6_000) / 10;
    return new UserError(
      `${context.host}: ${reason}; tried for ${minutes} min (--retry-minutes). Nothing is lost: the same command goes on where this one ended`,
      EXIT.unavailable,
    );
  }

  #tell({ reason }: AttemptFailure): void {
    if (this.#told === reason) return;
    this.#told = reason;
    this.options.onNotice(`${this.options.context.host}: ${reason}; trying again`);
  }
}

/** What an interrupt ends a command with that has everything on the disk. */
export function interrupted(stop: AbortSignal): UserError {
  return new UserError('interrupted; the same command goes on where this one ended', interruption(stop));
}
