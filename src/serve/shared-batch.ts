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

/** The token, -1 where there is none; where they were wanted, with the probabilities: tokens and probabilities by turns. */
export type Sampled = number | readonly [number, readonly number[] | undefined];

/** llama.cpp reads them before the call returns, so that the usual single token needs none of its own. */
const SINGLE = new Uint32Array(1);
const FIRST = new Uint32Array(1);
const NONE = new Uint32Array(0);

interface Waiting {
  readonly part: Part;
  readonly resolve: (sampled: Sampled | undefined) => void;
  readonly reject: (error: unknown) => void;
}

export class SharedBatch {
  readonly #context: InnerContext;
  readonly #onBatch: (parts: readonly Part[]) => void;
  readonly #isSerial: boolean;
  #waiting: Waiting[] = [];
  #later: (() => void)[] = [];

  /** @param isSerial whether calls of the context begin in their order, each when the one before is done (`isSerialPool`) */
  constructor(context: InnerContext, onBatch: (parts: readonly Part[]) => void, isSerial: boolean) {
    this.#context = context;
    this.#onBatch = onBatch;
    this.#isSerial = isSerial;
  }

  /**
   * Evaluates the part with all others that are handed in before the next microtask; never while an evaluation is under way. Resolves with
   * what was sampled, or rejects with the others where the evaluation fails.
   */
  evaluate(part: Part): Promise<Sampled | undefined> {
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
    let early: readonly (Promise<Sampled> | undefined)[] = [];
    try {
      const outputs = this.#fill(waiting);
      const evaluated = this.#context.decodeBatch();
      // The thread that evaluates goes on to sample, and neither it nor this one is woken in between.
      if (this.#isSerial) early = waiting.map((one, index) => this.#sample(one, outputs[index]));
      this.#catchUp();
      await evaluated;
      await this.#handOver(waiting, (one, index) => early[index] ?? this.#sample(one, outputs[index]));
    } catch (error) {
      // Whoever is told disposes of the sampler, which must not be at work then.
      await Promise.allSettled(early);
      for (const { reject } of waiting) reject(error);
    }
  }

  /** Places of the last tokens in the batch, where they are sampled from. */
  #fill(waiting: readonly Waiting[]): readonly (number | undefined)[] {
    const parts = waiting.map(({ part }) => part);
    this.#onBatch(parts);
    this.#context.initBatch(parts.reduce((sum, { tokens }) => sum + tokens.length, 0));
    return parts.map(({ sequence, position, tokens, sampler }) => {
      const wanted = sampler === undefined ? NONE : placeOfLast(tokens);
      return this.#context.addToBatch(sequence, position, packed(tokens), wanted)[0];
    });
  }

  /** What comes behind the part; undefined where nothing is sampled. */
  #sample({ part }: Waiting, output: number | undefined): Promise<Sampled> | undefined {
    const { sampler, probabilities } = part;
    if (sampler === undefined || output === undefined) return undefined;
    return probabilities === true
      ? this.#context.sampleToken(output, sampler, true)
      : this.#context.sampleToken(output, sampler);
  }

  /**
   * Samples side by side on the threads of Node's pool, each handed over as it comes, but for the first of an uneven batch: reading it,
   * llama.cpp puts its outputs in order. Slots that sample nothing go on last.
   */
  async #handOver(
    waiting: readonly Waiting[],
    sample: (one: Waiting, index: number) => Promise<Sampled> | undefined,
  ): Promise<void> {
    let isOrdered = this.#isSerial || waiting.every(({ part }) => part.tokens.length === 1);
    const under: Promise<void>[] = [];
    const silent: Waiting[] = [];
    for (const [index, one] of waiting.entries()) {
      const sampled = sample(one, index);
      if (sampled === undefined) {
        silent.push(one);
        continue;
      }
      under.push(sampled.then(one.resolve, one.reject));
      if (!isOrdered) await sampled.catch(() => undefined);
      isOrdered = true;
    }
    await Promise.all(under);
    for (const { resolve } of silent) resolve(undefined);
  }
}

function packed(tokens: readonly number[]): Uint32Array {
  if (tokens.length !== 1) return Uint32Array.from(tokens);
  SINGLE[0] = tokens[0] ?? 0;
  return SINGLE;
}

function placeOfLast({ length }: readonly number[]): Uint32Array {
  return length === 1 ? FIRST : Uint32Array.of(length - 1);
}
