// The pool's clock, and the pace of a run: no more calls and tokens per minute than the user allows, over all endpoints.

import { setTimeout } from 'node:timers/promises';
import { LONGEST_TIMER_MS } from '../../core/timers.js';
import { CHARS_A_TOKEN, type Usage } from '../../core/types.js';

/** Tests provide their own. */
export interface Clock {
  /** Milliseconds of a monotonic clock. */
  now(): number;
  /** Resolves after `ms` milliseconds, or as soon as the signal is aborted; never rejects. */
  sleep(ms: number, signal: AbortSignal): Promise<void>;
}

export const systemClock: Clock = {
  now: () => performance.now(),
  sleep: (ms, signal) => setTimeout(Math.min(ms, LONGEST_TIMER_MS), undefined, { signal }).catch(() => {}),
};

/** A little more than a minute: calls take different times to arrive, and no two clocks agree. */
const MINUTE_MS = 60_500;
/** Tokens of output if nothing has been measured. */
const FIRST_OUTPUT = 1_000;
/** How often to look again if the budget has no room for a call in addition to those in flight. */
const ROOM_MS = 20;
/** This many prompt tokens give a reliable ratio of characters per token. */
const ENOUGH_TOKENS = 10_000;

/** A call that was started. */
export interface Start {
  readonly at: number;
  readonly chars: number;
  /** Estimated at its start; counted once it has ended. */
  tokens: number;
  /** Releases what the budget has reserved for it. */
  readonly release?: Release | undefined;
}

type Release = (usage?: Usage) => void;
/** Reserves in a budget what a call with a prompt of `chars` characters may cost; undefined if there is no room for it now. */
type Reserving = (chars: number) => Release | undefined;

export interface PaceOptions {
  /** Calls, and tokens of prompt and output, that may start per minute, over all endpoints together. */
  readonly rpm?: number | undefined;
  readonly tpm?: number | undefined;
  /** No reply is expected to be longer. */
  readonly maxTokens?: number | undefined;
  /** Keeps a budget from being exceeded. */
  readonly reserve?: Reserving | undefined;
  readonly clock?: Clock | undefined;
}

/**
 * Calls start in order of arrival, evenly over the minute: a burst may be within a limit per minute, but not within one per second. In
 * any minute no more than `rpm` calls start, with no more than `tpm` tokens: estimated when they start (characters by the ratio
 * measured so far, and the mean output), and counted once they have ended. Nor does a call start if the budget has no room for it.
 */
export class Pace {
  readonly isLimited: boolean;
  readonly clock: Clock;
  /** The calls of the last minute, the oldest first. */
  readonly #starts: Start[] = [];
  #line: Promise<unknown> = Promise.resolve();
  readonly #measured = { chars: 0, promptTokens: 0, replies: 0, completionTokens: 0 };

  constructor(private readonly options: PaceOptions = {}) {
    this.clock = options.clock ?? systemClock;
    this.isLimited = [options.rpm, options.tpm, options.reserve].some((limit) => limit !== undefined);
  }

  /**
   * Waits for the call's turn. Undefined if the call is off by then.
   * @param chars characters of its prompt; 0 for a further request of a call that has started
   * @param wait resolves after the given milliseconds, or earlier
   */
  turn(chars: number, wait: (ms: number) => Promise<void>, isOff: () => boolean): Promise<Start | undefined> {
    const turn = this.#line.then(async () => {
      while (!isOff()) {
        const ms = this.#msUntil(chars);
        const start = ms > 0 ? undefined : this.#start(chars);
        if (start !== undefined) return start;
        await wait(ms > 0 ? ms : ROOM_MS);
      }
      return undefined;
    });
    this.#line = turn.catch(() => {});
    return turn;
  }

  /** Undefined if the budget has no room for the call now. */
  #start(chars: number): Start | undefined {
    const { reserve } = this.options;
    // A further request of a call is paid from what is already reserved.
    const release = chars === 0 || reserve === undefined ? () => {} : reserve(chars);
    if (release === undefined) return undefined;
    const tokens = this.#expected(chars);
    const start = { at: this.clock.now(), chars, tokens, release };
    this.#starts.push(start);
    return start;
  }

  /** The call has ended, and the server has counted it. */
  ended(start: Start, usage: Usage = {}): void {
    const { promptTokens, completionTokens } = usage;
    const measured = this.#measured;
    start.release?.(usage);
    if (promptTokens !== undefined) {
      measured.chars += start.chars;
      measured.promptTokens += promptTokens;
    }
    if (completionTokens !== undefined) {
      measured.replies++;
      measured.completionTokens += completionTokens;
    }
    if (promptTokens !== undefined && completionTokens !== undefined) start.tokens = promptTokens + completionTokens;
  }

  /** Milliseconds until the call may start. A call larger than the limit waits until all others have left the minute. */
  #msUntil(chars: number): number {
    const { rpm = Number.POSITIVE_INFINITY, tpm = Number.POSITIVE_INFINITY } = this.options;
    const now = this.clock.now();
    const tokens = this.#expected(chars);
    while (this.#starts[0] !== undefined && this.#starts[0].at <= now - MINUTE_MS) this.#starts.shift();
    const last = this.#starts.at(-1);
    if (last === undefined) return 0;
    let at = last.at + MINUTE_MS * Math.min(1, Math.max(1 / rpm, last.tokens / tpm));
    let calls = this.#starts.length;
    let inMinute = this.#starts.reduce((sum, start) => sum + start.tokens, 0);
    for (const start of this.#starts) {
      if (calls < rpm && inMinute + tokens <= tpm) break;
      at = Math.max(at, start.at + MINUTE_MS);
      calls--;
      inMinute -= start.tokens;
    }
    return at - now;
  }

  #expected(chars: number): number {
    if (chars === 0) return 0;
    const { maxTokens = Number.POSITIVE_INFINITY } = this.options;
    const measured = this.#measured;
    const ratio = measured.promptTokens >= ENOUGH_TOKENS ? measured.chars / measured.promptTokens : CHARS_A_TOKEN;
    const output = measured.replies === 0 ? FIRST_OUTPUT : measured.completionTokens / measured.replies;
    return Math.ceil(chars / ratio) + Math.ceil(Math.min(output, maxTokens));
  }
}
