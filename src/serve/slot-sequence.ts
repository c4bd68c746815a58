// A slot's sequence of llama.cpp's context: going back to what it holds, and keeping states to go back to.

import type { Loaded } from './load.js';
import { asTokens, type LlamaCpp } from './runtime.js';

/** More than any memory budget allows. */
const MOST_CHECKPOINTS = 4096;

export class SlotSequence {
  readonly sequence: LlamaCpp.LlamaContextSequence;
  /** Host memory in bytes for the states that are kept. */
  readonly #checkpointBytes: number;
  /** Bytes of one kept state, all of a sequence being alike; known once one was taken. */
  #checkpointSize: number | undefined;

  constructor({ context }: Loaded, checkpointBytes: number) {
    this.#checkpointBytes = checkpointBytes;
    this.sequence = context.getSequence({
      contextShift: { strategy: refuseShift },
      checkpoints: { max: MOST_CHECKPOINTS, interval: false, maxMemory: checkpointBytes },
    });
  }

  /** Goes back to the state behind the first of these tokens; resolves with how many it really holds then. */
  async restore(tokens: readonly number[]): Promise<number> {
    if (tokens.length === 0) await this.sequence.clearHistory();
    else await this.sequence.adaptStateToTokens(asTokens(tokens), false);
    return this.sequence.nextTokenIndex;
  }

  /** Keeps the present state; resolves with how many are kept now. The library drops the oldest when its memory is full. */
  async keep(): Promise<number> {
    if ((this.#checkpointSize ?? 1) > this.#checkpointBytes) return 0;
    const before = this.sequence.checkpointsMemoryUsage;
    await this.sequence.takeCheckpoint();
    const after = this.sequence.checkpointsMemoryUsage;
    this.#checkpointSize ??= after - before;
    return this.#checkpointSize > this.#checkpointBytes ? 0 : Math.round(after / this.#checkpointSize);
  }
}

/** Nothing may ever be shifted out of a context; lengths are checked before, so that this is never called. */
function refuseShift(): never {
  throw new Error('the context is full');
}
