// One evaluation for all slots: what they hand in within a step is evaluated together, and what can wait runs while llama.cpp works.

import type { InnerContext, InnerSampler } from './inner-calls.js';

/** A slot's part of an evaluation. */
export interface Part {
  readonly sequence: number;
  /** Where its first token stands. */
  readonly position: number;
  readonly tokens: readonly number[];
  /** Samples what comes behind the last token; absent: nothing is sampled. */
  readonly sampler?: InnerSampler;
  /** Whether the probabilities of the whole vocabulary are wanted too. */
  readonly probabilities?: boolean;
}

export interface Sample {
  readonly token: number;
  /** Tokens and probabilities by turns. */
  readonly probabilities?: readonly number[] | undefined;
}

interface Waiting {
  readonly part: Part;
  readonly resolve: (sample: Sample | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export class SharedBatch {
  readonly #context: InnerContext;
  readonly #onBatch: (parts: readonly Part[]) => void;
  #waiting: Waiting[] = [];
  #later: (() => void)[] = [];

  constructor(context: InnerContext, onBatch: (parts: readonly Part[]) => void) {
    this.#context = context;
    this.#onBatch = onBatch;
  }

  /**
   * Evaluates the part with all others that are handed in before the next microtask; never while an evaluation is under way. Resolves with
   * what was sampled, or rejects with the others where the evaluation fails.
   */
  evaluate(part: Part): Promise<Sample | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ part, resolve, reject }) === 1) queueMicrotask(() => void this.#run());
    });
  }

  /** Puts off what the next evaluation need not wait for. It must not throw. */
  later(act: () => void): void {
    this.#later.push(act);
  }

  /** What was put off is done soon, also where no evaluation follows. */
  settle(): void {
    if (this.#later.length > 0) setImmediate(() => this.#catchUp());
  }

  #catchUp(): void {
    const acts = this.#later;
    this.#later = [];
    for (const act of acts) act();
  }

  async #run(): Promise<void> {
    // llama.cpp joins only sequences n, n + 1, n + 2 … in that order into one graph.
    const waiting = this.#waiting.sort((a, b) => a.part.sequence - b.part.sequence);
    this.#waiting = [];
    try {
      const outputs = this.#fill(waiting);
      const evaluated = this.#context.decodeBatch();
      this.#catchUp();
      await evaluated;
      await this.#sample(waiting, outputs);
      for (const { resolve } of waiting) resolve(undefined);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  /** Places of the last tokens in the batch, where they are sampled from. */
  #fill(waiting: readonly Waiting[]): readonly (number | undefined)[] {
    const parts = waiting.map(({ part }) => part);
    this.#onBatch(parts);
    this.#context.initBatch(parts.reduce((sum, { tokens }) => sum + tokens.length, 0));
    return parts.map(({ sequence, position, tokens, sampler }) => {
      const wanted = Uint32Array.from(sampler === undefined ? [] : [tokens.length - 1]);
      return this.#context.addToBatch(sequence, position, Uint32Array.from(tokens), wanted)[0];
    });
  }

  /** Side by side on the threads of Node's pool, but for the first of an uneven batch: reading it, llama.cpp puts its outputs in order. */
  async #sample(waiting: readonly Waiting[], outputs: readonly (number | undefined)[]): Promise<void> {
    let isOrdered = waiting.every(({ part }) => part.tokens.length === 1);
    const under: Promise<void>[] = [];
    for (const [index, { part, resolve, reject }] of waiting.entries()) {
      const output = outputs[index];
      if (part.sampler === undefined || output === undefined) continue;
      const sampled = this.#sampleOne(output, part.sampler, part.probabilities === true).then(resolve, reject);
      under.push(sampled);
      if (!isOrdered) await sampled;
      isOrdered = true;
    }
    await Promise.all(under);
  }

  async #sampleOne(output: number, sampler: InnerSampler, withProbabilities: boolean): Promise<Sample> {
    const [token, probabilities] = withProbabilities
      ? await this.#context.sampleToken(output, sampler, true)
      : [await this.#context.sampleToken(output, sampler)];
    if (token === -1) throw new Error('llama.cpp gave no token');
    return { token, probabilities };
  }
}
