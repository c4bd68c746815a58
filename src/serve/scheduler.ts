// Decides which request goes next and into which slot, and steps the slots together: the engine without its model.

/**
 * A prompt and the positions at which its evaluation pauses, ascending, strictly between 0 and its length. Pauses depend only on the
 * prompt, so a restored state and one evaluated from the start went through the same batches, and are equal to the last bit.
 */
export interface Prompt {
  readonly tokens: readonly number[];
  readonly pauses: readonly number[];
  /** The pauses after which the state is kept, since a later prompt is likely to diverge there. */
  readonly checkpoints: readonly number[];
}

/** What can be reused of a slot's sequence. */
export interface SlotMemory {
  readonly slot: number;
  /** The prompt evaluated last; undefined in a fresh slot. */
  prompt: Prompt | undefined;
  /** Positions of that prompt at which the state can be restored, ascending. */
  restorable: readonly number[];
  /** Grows with every use; 0 in a fresh slot. */
  lastUsed: number;
}

/** Length in tokens of the common prefix of two sequences. */
export function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const shorter = Math.min(a.length, b.length);
  for (let index = 0; index < shorter; index++) if (a[index] !== b[index]) return index;
  return shorter;
}

/**
 * How many tokens of `prompt` need no evaluation in this slot: the furthest restorable position in the shared prefix that both
 * prompts reach through the same pauses. At least the last token always remains, since its evaluation yields the reply's first token.
 */
export function reusablePrefix(memory: SlotMemory, prompt: Prompt): number {
  if (memory.prompt === undefined) return 0;
  const shared = commonPrefix(memory.prompt.tokens, prompt.tokens);
  const { pauses } = memory.prompt;
  const agreed = pauses.slice(0, commonPrefix(pauses, prompt.pauses));
  return memory.restorable.findLast((at) => at <= shared && at < prompt.tokens.length && agreed.includes(at)) ?? 0;
}

/**
 * The same if the prompt continues this slot's trajectory, else 0: the prefix must extend past the first pause (prompts of other
 * trajectories are alike up to there), and more must be reused than lost.
 */
export function continuedPrefix(memory: SlotMemory, prompt: Prompt): number {
  const reuse = reusablePrefix(memory, prompt);
  const isOwn = reuse > (memory.prompt?.pauses[0] ?? Number.POSITIVE_INFINITY);
  return isOwn && 2 * reuse > (memory.restorable.at(-1) ?? 0) ? reuse : 0;
}

/**
 * The free slot with the largest gain: tokens reused minus restorable tokens lost, since everything after the reused prefix is overwritten.
 * If none gains, the least recently used one (fresh ones first), so that trajectories in progress keep their state.
 * Ties: the lowest, since llama.cpp batches neighbouring sequences best. Undefined when no slot is free.
 */
export function chooseSlot<Memory extends SlotMemory>(
  free: readonly Memory[],
  prompt: Prompt,
): { readonly slot: Memory; readonly reuse: number } | undefined {
  const offers = free.map((slot) => {
    const reuse = reusablePrefix(slot, prompt);
    return { slot, reuse, gain: Math.max(0, 2 * reuse - (slot.restorable.at(-1) ?? 0)) };
  });
  const [best] = offers.sort(
    (a, b) => b.gain - a.gain || a.slot.lastUsed - b.slot.lastUsed || a.slot.slot - b.slot.slot,
  );
  return best && { slot: best.slot, reuse: best.reuse };
}

/** Adds a position and keeps the newest `kept`, as the library drops the oldest first to stay within its budget. */
export function addCheckpoint(positions: readonly number[], added: number, kept: number): number[] {
  const all = [...positions.filter((at) => at < added), added];
  return all.slice(Math.max(0, all.length - kept));
}

/**
 * How many tokens of a batch each slot evaluates: replies get all they ask for (a batch has room for that), prompts an even share of the
 * rest, with unneeded tokens going to the others. So a long prompt stops neither a reply nor a short prompt after it.
 */
export function shareBatch(
  demands: readonly { readonly tokens: number; readonly replying: boolean }[],
  batchSize: number,
): number[] {
  const shares = demands.map(({ tokens, replying }) => (replying ? tokens : 0));
  let left = batchSize - shares.reduce((sum, share) => sum + share, 0);
  const prompts = [...demands.entries()]
    .filter(([, { replying }]) => !replying)
    .sort(([, a], [, b]) => a.tokens - b.tokens);
  for (const [rank, [index, { tokens }]] of prompts.entries()) {
    const share = Math.min(tokens, Math.ceil(left / (prompts.length - rank)));
    shares[index] = share;
    left -= share;
  }
  return shares;
}

/** A request as the scheduler sees it. */
export interface Scheduled {
  readonly prompt: Prompt;
  /** Called when the request cannot be served; nothing more is done for it. */
  fail(error: unknown): void;
}

/** Evaluates one slot's tokens: llama.cpp in the engine, a counter in tests. Each call may reject, which ends only its request. */
export interface Evaluator<R> {
  /** Whether the slot can go back only to kept states (recurrent state); otherwise to every position of the prompt. */
  readonly needsCheckpoints: boolean;
  /** Number of tokens in the slot: of the request's prompt, and of its reply. */
  readonly position: number;
  /** Goes back to the state after the first `tokens` of the request's prompt, or an earlier one. */
  restore(request: R, tokens: number): Promise<void>;
  /** Evaluates the prompt's tokens up to a position before the prompt's end. */
  feed(request: R, end: number): Promise<void>;
  /** Keeps the current state if needed; resolves with the number of kept states, after dropping the oldest ones over the budget. */
  keep(): Promise<number>;
  /** Evaluates the rest of the prompt, or the reply's next tokens, and samples; resolves with the tokens of the next step, 0 at the end. */
  step(request: R): Promise<number>;
  /** The request leaves the slot, whether or not its reply is over. */
  leave(): Promise<void>;
}

/** How many later requests may overtake a waiting one. */
const MOST_OVERTAKING = 8;

interface Waiting<R> {
  readonly request: R;
  /** How many later requests were admitted before it. */
  overtaken: number;
  /** `#spent` when it was first held back. */
  heldFrom?: number;
}

interface Slot<R> extends SlotMemory {
  readonly evaluator: Evaluator<R>;
  /** The request it is working on. */
  request: R | undefined;
  /** Tokens of the reply's next step; undefined while the prompt is evaluated. */
  wants: number | undefined;
  /** The reply is over, or its client has left. */
  over: boolean;
}

/**
 * Serves requests on slots, in steps that all slots share.
 *
 * The waiting request that can reuse most of a free slot goes next, the earliest of equals: turns of a trajectory then follow each
 * other, however many trajectories are sent at the same time. At most eight later requests overtake one.
 *
 * Slots share nothing. So a request that continues where a busy slot will end waits for that slot, even if another is free, until the
 * wait has cost as many evaluated tokens as it saves. While others' prompts fill the batches, waiting costs next to nothing.
 */
export class Scheduler<R extends Scheduled> {
  readonly #slots: readonly Slot<R>[];
  /** In order of arrival, so the first is also the one overtaken most. */
  readonly #waiting: Waiting<R>[] = [];
  #uses = 0;
  /** Prompt tokens that steps so far had room for but did not use: what a request that is held back could have evaluated. */
  #spent = 0;
  /** The value of `#spent` at which the queue is searched again: at once after a change, else when a wait has cost enough. */
  #lookAt = 0;
  #running: Promise<void> | undefined;

  /**
   * @param batchSize tokens per step, all slots together
   * @param tokensPerStep prompt tokens that are evaluated in the time of a reply step: what a step has room for at no cost
   */
  constructor(
    evaluators: readonly Evaluator<R>[],
    private readonly batchSize: number,
    private readonly tokensPerStep: number,
  ) {
    const fresh = { prompt: undefined, restorable: [], lastUsed: 0, request: undefined, wants: undefined, over: false };
    this.#slots = evaluators.map((evaluator, slot) => ({ slot, evaluator, ...fresh }));
  }

  /** Number of requests that wait for a slot. */
  get waiting(): number {
    return this.#waiting.length;
  }

  /** Number of busy slots. */
  get busy(): number {
    return this.#working().length;
  }

  submit(request: R): void {
    this.#waiting.push({ request, overtaken: 0 });
    this.#lookAt = 0;
    this.#wake();
  }

  /** Removes a request from the queue at once, or from its slot before the next step. Does nothing if it is in neither. */
  withdraw(request: R): void {
    const place = this.#waiting.findIndex((waiting) => waiting.request === request);
    if (place >= 0) this.#waiting.splice(place, 1);
    const slot = this.#slots.find((one) => one.request === request);
    if (slot === undefined) return;
    slot.over = true;
    this.#wake();
  }

  /** Withdraws everything; resolves when no slot is busy. */
  async close(): Promise<void> {
    this.#waiting.length = 0;
    for (const slot of this.#working()) slot.over = true;
    while (this.#running !== undefined) await this.#running;
  }

  #working(): Slot<R>[] {
    return this.#slots.filter(({ request, over }) => request !== undefined && !over);
  }

  #wake(): void {
    this.#running ??= this.#run().finally(() => {
      this.#running = undefined;
      if (this.#waiting.length > 0) this.#wake();
    });
  }

  /** Steps while there is work. */
  async #run(): Promise<void> {
    for (;;) {
      for (const slot of this.#slots) if (slot.over) await this.#vacate(slot);
      if (this.#spent >= this.#lookAt) await this.#admit();
      const working = this.#working();
      if (working.length === 0 && this.#slots.every(({ over }) => !over)) return;
      const shares = shareBatch(working.map(demandOf), this.batchSize);
      const filled = shares.reduce((sum, share) => sum + share, 0);
      this.#spent += Math.max(1, this.tokensPerStep - filled);
      // The step barrier: llama.cpp's binding does not keep sequences in step, and batches then run half empty.
      await Promise.all(working.map((slot, index) => this.#advance(slot, shares[index] ?? 0)));
    }
  }

  /** If a slot cannot be left cleanly, its state is unknown and forgotten; its request is over anyway. */
  async #vacate(slot: Slot<R>): Promise<void> {
    await slot.evaluator.leave().catch(() => forget(slot));
    slot.request = undefined;
    slot.over = false;
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

  /** The request to admit, its place in the queue, and its slot; undefined if nothing waits or no slot is free. */
  #next() {
    const free = this.#slots.filter(({ request }) => request === undefined);
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

  /** Whether the request should still wait for a busy slot, given that a free one would let it reuse only `reuse` tokens. */
  #isHeld(waiting: Waiting<R>, reuse: number): boolean {
    const { prompt } = waiting.request;
    const continued = this.#slots.map((slot) => continuedPrefix(memoryOnceOver(slot), prompt));
    const saved = Math.max(...continued) - reuse;
    if (saved < this.batchSize) return false;
    waiting.heldFrom ??= this.#spent;
    const until = waiting.heldFrom + saved;
    if (this.#spent >= until) return false;
    this.#lookAt = Math.min(this.#lookAt, until);
    return true;
  }

  /** Restores the state to reuse. If the evaluator restores less, that counts. */
  async #start(slot: Slot<R>, request: R, reuse: number): Promise<void> {
    slot.request = request;
    slot.wants = undefined;
    try {
      await slot.evaluator.restore(request, reuse);
      slot.prompt = request.prompt;
      slot.restorable = slot.restorable.filter((at) => at <= slot.evaluator.position);
      slot.lastUsed = ++this.#uses;
    } catch (error) {
      slot.request = undefined;
      forget(slot);
      request.fail(error);
    }
  }

  /** One slot's part of a step. A failure ends only its request. */
  async #advance(slot: Slot<R>, share: number): Promise<void> {
    const { evaluator, request } = slot;
    if (share === 0 || request === undefined) return;
    const end = evaluator.position + share;
    try {
      if (slot.wants === undefined && end < request.prompt.tokens.length) {
        await evaluator.feed(request, end);
        if (!restorableOf(evaluator, request).includes(end)) return;
        slot.restorable = addCheckpoint(slot.restorable, end, await evaluator.keep());
        return;
      }
      // The slot's final contents are known once the prompt is evaluated.
      if (slot.wants === undefined) this.#lookAt = 0;
      slot.wants = await evaluator.step(request);
      if (slot.wants === 0) slot.over = true;
    } catch (error) {
      slot.over = true;
      forget(slot);
      request.fail(error);
    }
  }
}

/** Positions at which an evaluated prompt's state can be restored. */
function restorableOf<R extends Scheduled>({ needsCheckpoints }: Evaluator<R>, { prompt }: R): readonly number[] {
  return needsCheckpoints ? prompt.checkpoints : prompt.pauses;
}

/** A busy slot's memory once its reply is over; if the prompt is still being evaluated, including what will be kept. */
function memoryOnceOver<R extends Scheduled>({ evaluator, request, wants, ...slot }: Slot<R>): SlotMemory {
  if (request === undefined) return { ...slot, prompt: undefined };
  const coming = wants === undefined ? restorableOf(evaluator, request).filter((at) => at > evaluator.position) : [];
  return { ...slot, prompt: request.prompt, restorable: [...slot.restorable, ...coming] };
}

/** Marks a slot's state as unknown, so that nothing of it is reused. */
function forget(slot: SlotMemory): void {
  slot.prompt = undefined;
  slot.restorable = [];
}

/** Tokens that a slot could evaluate in the next step; for a prompt, up to its next pause. */
function demandOf({ request, wants, evaluator: { position } }: Slot<Scheduled>) {
  if (wants !== undefined) return { tokens: wants, replying: true };
  const { tokens, pauses } = request?.prompt ?? { tokens: [], pauses: [] };
  return { tokens: (pauses.find((pause) => pause > position) ?? tokens.length) - position, replying: false };
}
