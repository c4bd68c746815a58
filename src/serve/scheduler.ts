// Which request goes next and into which slot, and how slots step together: the engine without its model.

import { addCheckpoint, chooseSlot, continuedPrefix, type Prompt, type SlotMemory, shareBatch } from './slots.js';

/** A request as the scheduler sees it. */
export interface Scheduled {
  readonly prompt: Prompt;
  /** Told when the request cannot be served; no more is done for it. */
  fail(error: unknown): void;
}

/** What evaluates one slot's tokens: llama.cpp in the engine, a counter in tests. Each call may reject, which ends its request alone. */
export interface Evaluator<R> {
  /** Whether the slot can go back only to states that were kept (recurrent state); else to every position of the prompt. */
  readonly needsCheckpoints: boolean;
  /** How many tokens the slot holds: of the request's prompt, and of its reply. */
  readonly position: number;
  /** Goes back to the state behind the first `tokens` of the request's prompt, or an earlier one. */
  restore(request: R, tokens: number): Promise<void>;
  /** Evaluates the prompt's tokens up to a position, which lies before the prompt's end. */
  feed(request: R, end: number): Promise<void>;
  /** Keeps the present state; resolves with how many states are kept now, the oldest having been dropped first. */
  keep(): Promise<number>;
  /** Evaluates the prompt to its end and samples; resolves with the tokens of the next step, 0 where the reply is over. */
  begin(request: R): Promise<number>;
  /** The reply's next step; resolves likewise. */
  step(request: R): Promise<number>;
  /** The request leaves the slot, its reply over or not. */
  leave(): Promise<void>;
}

interface SchedulerOptions {
  /** Tokens per step, all slots together. */
  readonly batchSize: number;
  /** Tokens of a prompt that are evaluated in the time of a reply's step: what a step has room for at no cost. */
  readonly tokensPerStep: number;
}

/** How many later requests may be served before one that waits. */
const MOST_OVERTAKING = 8;

interface Waiting<R> {
  readonly request: R;
  /** How many later ones were admitted before it. */
  overtaken: number;
  /** `#spent` when it was first held back. */
  heldFrom?: number;
}

interface Slot<R> {
  readonly slot: number;
  readonly evaluator: Evaluator<R>;
  prompt: Prompt | undefined;
  restorable: number[];
  lastUsed: number;
  work: Work<R> | undefined;
}

/** A request in its slot. */
interface Work<R> {
  readonly request: R;
  /** Tokens of the reply's next step; undefined while the prompt is evaluated. */
  wants: number | undefined;
  /** Its reply is over, or nobody waits for it any more. */
  over: boolean;
}

/**
 * Serves requests on slots, in steps that all slots share.
 *
 * A free slot takes the waiting request that can go on from most of what a free slot holds, the earliest of equals: turns of a
 * trajectory then follow each other, however many trajectories are sent side by side. At most eight later requests overtake one.
 *
 * Slots share nothing. So a request that goes on where a working slot will end waits for that slot, though another is free, until what
 * could have been evaluated meanwhile is as much as what is saved. While others' prompts fill the batches, waiting costs next to nothing.
 */
export class Scheduler<R extends Scheduled> {
  readonly #slots: readonly Slot<R>[];
  readonly #options: SchedulerOptions;
  /** In order of arrival; so the first is also the one overtaken most. */
  readonly #waiting: Waiting<R>[] = [];
  #uses = 0;
  /** Tokens of prompts for which the steps so far had room left: what a request that is held back could have had evaluated. */
  #spent = 0;
  /** Where `#spent` stands when the queue is looked through again: now after a change, else when a wait has cost enough. */
  #lookAt = 0;
  #running: Promise<void> | undefined;

  constructor(evaluators: readonly Evaluator<R>[], options: SchedulerOptions) {
    this.#options = options;
    this.#slots = evaluators.map((evaluator, slot) => ({
      slot,
      evaluator,
      prompt: undefined,
      restorable: [],
      lastUsed: 0,
      work: undefined,
    }));
  }

  /** Requests that wait for a slot. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Slots that work. */
  get busy(): number {
    return this.#slots.filter(({ work }) => work !== undefined && !work.over).length;
  }

  submit(request: R): void {
    this.#waiting.push({ request, overtaken: 0 });
    this.#lookAt = 0;
    this.#wake();
  }

  /** Takes a request out of the queue at once, or out of its slot before the next step. Does nothing for one that is not there. */
  withdraw(request: R): void {
    const place = this.#waiting.findIndex((waiting) => waiting.request === request);
    if (place >= 0) this.#waiting.splice(place, 1);
    const work = this.#slots.find((slot) => slot.work?.request === request)?.work;
    if (work === undefined) return;
    work.over = true;
    this.#wake();
  }

  /** Withdraws everything; resolves when no slot works any more. */
  async close(): Promise<void> {
    this.#waiting.length = 0;
    for (const { work } of this.#slots) if (work !== undefined) work.over = true;
    while (this.#running !== undefined) await this.#running;
  }

  #wake(): void {
    this.#running ??= this.#run()
      .catch((error) => this.#failAll(error))
      .finally(() => {
        this.#running = undefined;
        if (this.#waiting.length > 0) this.#wake();
      });
  }

  /** Steps while there is work. */
  async #run(): Promise<void> {
    for (;;) {
      for (const slot of this.#slots) if (slot.work?.over) await this.#vacate(slot);
      if (this.#spent >= this.#lookAt) await this.#admit();
      if (this.#slots.every(({ work }) => work === undefined)) return;
      const working = this.#slots.flatMap((slot) => (slot.work?.over === false ? [{ slot, work: slot.work }] : []));
      const shares = shareBatch(
        working.map(({ slot, work }) => demandOf(work, slot.evaluator.position)),
        this.#options.batchSize,
      );
      const filled = shares.reduce((sum, share) => sum + share, 0);
      this.#spent += Math.max(1, this.#options.tokensPerStep - filled);
      // The step barrier: llama.cpp's binding does not keep sequences in step, and batches then run half empty.
      await Promise.all(working.map(({ slot, work }, index) => this.#advance(slot, work, shares[index] ?? 0)));
    }
  }

  /** Nobody waits for ever where stepping itself fails. */
  #failAll(error: unknown): void {
    for (const { request } of this.#waiting.splice(0)) request.fail(error);
    for (const slot of this.#slots) {
      slot.work?.request.fail(error);
      slot.work = undefined;
      forget(slot);
    }
  }

  /** A slot that cannot be left cleanly holds nothing that is known; its request is over as it is. */
  async #vacate(slot: Slot<R>): Promise<void> {
    try {
      await slot.evaluator.leave();
    } catch {
      forget(slot);
    }
    slot.work = undefined;
    this.#lookAt = 0;
  }

  async #admit(): Promise<void> {
    this.#lookAt = Number.POSITIVE_INFINITY;
    for (let next = this.#next(); next !== undefined; next = this.#next()) {
      this.#waiting.splice(next.place, 1);
      for (const passed of this.#waiting.slice(0, next.place)) passed.overtaken++;
      await this.#start(next.slot, next.request, next.reuse);
    }
  }

  /** The request to admit with its place in the queue, and its slot; undefined where nothing waits or no slot is free. */
  #next(): { readonly request: R; readonly place: number; readonly slot: Slot<R>; readonly reuse: number } | undefined {
    const free = this.#slots.filter(({ work }) => work === undefined);
    const first = this.#waiting[0];
    if (free.length === 0 || first === undefined) return undefined;
    const isDue = first.overtaken >= MOST_OVERTAKING;
    const candidates = isDue ? [first] : this.#waiting;
    const offers = candidates.flatMap((waiting, place) => {
      const { request } = waiting;
      const choice = chooseSlot(free, request.prompt);
      if (choice === undefined || (!isDue && this.#isHeld(waiting, choice.reuse))) return [];
      return [{ request, place, ...choice }];
    });
    return offers.reduce((best, offer) => (offer.reuse > (best?.reuse ?? -1) ? offer : best), offers[0]);
  }

  /** Whether the request still waits for a slot that works, where a free one would give it no more than `reuse`. */
  #isHeld(waiting: Waiting<R>, reuse: number): boolean {
    const continued = this.#slots.map((slot) =>
      slot.work === undefined ? 0 : continuedPrefix(memoryOnceOver(slot, slot.work), waiting.request.prompt),
    );
    const saved = Math.max(...continued) - reuse;
    if (saved < this.#options.batchSize) return false;
    waiting.heldFrom ??= this.#spent;
    const until = waiting.heldFrom + saved;
    if (this.#spent >= until) return false;
    this.#lookAt = Math.min(this.#lookAt, until);
    return true;
  }

  /** Brings the slot to the state that is reused. Where the slot restored less, that counts. */
  async #start(slot: Slot<R>, request: R, reuse: number): Promise<void> {
    slot.work = { request, wants: undefined, over: false };
    try {
      await slot.evaluator.restore(request, reuse);
    } catch (error) {
      slot.work = undefined;
      forget(slot);
      request.fail(error);
      return;
    }
    slot.prompt = request.prompt;
    slot.restorable = slot.restorable.filter((at) => at <= slot.evaluator.position);
    slot.lastUsed = ++this.#uses;
  }

  /** One slot's part of a step. A failure ends its request alone. */
  async #advance(slot: Slot<R>, work: Work<R>, share: number): Promise<void> {
    if (share === 0) return;
    const { request } = work;
    const end = slot.evaluator.position + share;
    try {
      if (work.wants !== undefined) work.wants = await slot.evaluator.step(request);
      else if (end < request.prompt.tokens.length) await this.#feed(slot, request, end);
      else {
        work.wants = await slot.evaluator.begin(request);
        // What the slot holds is certain now.
        this.#lookAt = 0;
      }
      if (work.wants === 0) work.over = true;
    } catch (error) {
      work.over = true;
      forget(slot);
      request.fail(error);
    }
  }

  async #feed(slot: Slot<R>, request: R, end: number): Promise<void> {
    const { evaluator } = slot;
    const { pauses, checkpoints } = request.prompt;
    await evaluator.feed(request, end);
    if (!pauses.includes(end)) return;
    if (!evaluator.needsCheckpoints) slot.restorable = addCheckpoint(slot.restorable, end, Number.POSITIVE_INFINITY);
    else if (checkpoints.includes(end)) slot.restorable = addCheckpoint(slot.restorable, end, await evaluator.keep());
  }
}

/** What a slot will hold when its reply is over: of a prompt that is still being evaluated, also what will be kept. */
function memoryOnceOver<R extends Scheduled>(slot: Slot<R>, { request, wants }: Work<R>): SlotMemory {
  const { prompt } = request;
  const { position } = slot.evaluator;
  const coming = slot.evaluator.needsCheckpoints ? prompt.checkpoints : prompt.pauses;
  const restorable = [...slot.restorable, ...(wants === undefined ? coming.filter((at) => at > position) : [])];
  return { slot: slot.slot, prompt, restorable, lastUsed: slot.lastUsed };
}

/** Nothing is reused of a slot in an unknown state. */
function forget(slot: { prompt: Prompt | undefined; restorable: number[] }): void {
  slot.prompt = undefined;
  slot.restorable = [];
}

/** A prompt is evaluated up to its next pause. */
function demandOf({ request, wants }: Work<Scheduled>, position: number): { tokens: number; replying: boolean } {
  if (wants !== undefined) return { tokens: wants, replying: true };
  const { tokens, pauses } = request.prompt;
  return { tokens: (pauses.find((pause) => pause > position) ?? tokens.length) - position, replying: false };
}
