// Which slot takes which prompt, and how slots share a batch: bookkeeping without a model.

/**
 * A prompt and the positions at which its evaluation pauses, ascending, strictly between 0 and its length. Pauses are a function of the
 * prompt alone: a restored state and one evaluated from the start then went through the same batches, and are equal to the last bit.
 */
export interface Prompt {
  readonly tokens: readonly number[];
  readonly pauses: readonly number[];
  /** The pauses after which the state is kept, since a later prompt is likely to leave this one there. */
  readonly checkpoints: readonly number[];
}

/** What a free slot's sequence can still give. */
export interface SlotMemory {
  readonly slot: number;
  /** The prompt evaluated last; undefined in a fresh slot. */
  readonly prompt: Prompt | undefined;
  /** Positions of that prompt at which the state can be restored, ascending. */
  readonly restorable: readonly number[];
  /** Grows with every use; 0 in a fresh slot. */
  readonly lastUsed: number;
}

/** Length in tokens of what two sequences have in common at their start. */
export function commonPrefix(a: readonly number[], b: readonly number[]): number {
  const shorter = Math.min(a.length, b.length);
  for (let index = 0; index < shorter; index++) if (a[index] !== b[index]) return index;
  return shorter;
}

/**
 * How many tokens of `prompt` need no evaluation in this slot: the furthest restorable position inside the shared prefix that both
 * prompts reach over the same pauses. At least the last token is always left, since its evaluation yields the first of the reply.
 */
export function reusablePrefix(memory: SlotMemory, prompt: Prompt): number {
  if (memory.prompt === undefined) return 0;
  const shared = commonPrefix(memory.prompt.tokens, prompt.tokens);
  const { pauses } = memory.prompt;
  const agreed = pauses.slice(0, commonPrefix(pauses, prompt.pauses));
  return memory.restorable.findLast((at) => at <= shared && at < prompt.tokens.length && agreed.includes(at)) ?? 0;
}

/**
 * The same where the prompt goes on in what this slot holds: behind the first pause, up to which prompts of other trajectories are alike,
 * and with more reused than lost. Else 0.
 */
export function continuedPrefix(memory: SlotMemory, prompt: Prompt): number {
  const reuse = reusablePrefix(memory, prompt);
  const isOwn = reuse > (memory.prompt?.pauses[0] ?? Number.POSITIVE_INFINITY);
  return isOwn && 2 * reuse > (memory.restorable.at(-1) ?? 0) ? reuse : 0;
}

/**
 * The free slot that gains most: tokens reused less restorable tokens lost, since what lies behind the reused prefix is overwritten.
 * Where none gains, the least recently used one (a fresh one first), so that trajectories that are still being asked keep their state.
 * Equal slots: the lowest, since llama.cpp batches neighbouring sequences best. Undefined when no slot is free.
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

/** The positions left when one is added and only the newest `kept` fit the budget, as the library drops the oldest first. */
export function addCheckpoint(positions: readonly number[], added: number, kept: number): number[] {
  const all = [...positions.filter((at) => at < added), added];
  return all.slice(Math.max(0, all.length - kept));
}

/** Tokens that a slot could evaluate in the next batch; a reply's are served before prompts. */
interface Demand {
  readonly tokens: number;
  readonly replying: boolean;
}

/**
 * How many tokens each demand gets of a batch: replies all they ask for, prompts an even share of the rest, what one does not need going
 * to the others. So a long prompt neither stops a reply nor a short prompt behind it.
 */
export function shareBatch(demands: readonly Demand[], batchSize: number): number[] {
  const shares = demands.map(() => 0);
  let left = batchSize;
  const give = (index: number, tokens: number): void => {
    const share = Math.min(tokens, left);
    shares[index] = share;
    left -= share;
  };
  for (const [index, demand] of demands.entries()) if (demand.replying) give(index, demand.tokens);
  const prompts = [...demands.entries()]
    .filter(([, demand]) => !demand.replying)
    .sort(([, a], [, b]) => a.tokens - b.tokens);
  for (const [rank, [index, demand]] of prompts.entries()) {
    give(index, Math.min(demand.tokens, Math.ceil(left / (prompts.length - rank))));
  }
  return shares;
}
