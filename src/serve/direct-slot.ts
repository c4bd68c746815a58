// One slot on node-llama-cpp's inner calls: all slots of a step share an evaluation, and text is made of its tokens during the next one.

import type { Request } from './engine-request.js';
import type { InnerCalls, InnerSampler, InnerSequence } from './inner-calls.js';
import type { Loaded } from './load.js';
import { RequestSampler } from './request-sampler.js';
import type { Evaluator } from './scheduler.js';
import type { Part, Sampled, SharedBatch } from './shared-batch.js';
import { takeToken, tell } from './slot-reply.js';
import { tellScore, tokenTexts, UNCHANGED } from './slot-scores.js';
import type { SlotSequence } from './slot-sequence.js';
import type { TokenTexts } from './token-scores.js';

export class DirectSlot implements Evaluator<Request> {
  readonly #calls: InnerCalls;
  readonly #batch: SharedBatch;
  readonly #contextSize: number;
  readonly #slot: SlotSequence;
  readonly #inner: InnerSequence;
  readonly #texts: TokenTexts;
  /** What the sequence holds; the library is told when it has to know. */
  #held: number[] = [];
  /** Of the reply, or of what is scored. */
  #sampler: RequestSampler | undefined;
  #scorer: InnerSampler | undefined;
  #tell: () => void = () => undefined;
  /** What the next step evaluates. */
  #next: readonly number[] = [];

  constructor(loaded: Loaded, calls: InnerCalls, batch: SharedBatch, slot: SlotSequence) {
    this.#calls = calls;
    this.#batch = batch;
    this.#contextSize = loaded.context.contextSize;
    this.#texts = tokenTexts(loaded.model);
    this.#slot = slot;
    this.#inner = calls.sequence(slot.sequence);
  }

  get needsCheckpoints(): boolean {
    return this.#slot.sequence.needsCheckpoints;
  }

  async restore(request: Request, tokens: number): Promise<number> {
    this.#tellLibrary();
    request.cachedTokens = await this.#slot.restore(request.prompt.tokens.slice(0, tokens));
    this.#held = request.prompt.tokens.slice(0, request.cachedTokens);
    return request.cachedTokens;
  }

  async feed({ prompt }: Request, from: number, to: number): Promise<void> {
    await this.#evaluate({}, prompt.tokens.slice(from, to));
  }

  keep(): Promise<number> {
    this.#tellLibrary();
    return this.#slot.keep();
  }

  begin(request: Request, from: number): Promise<number> {
    this.#next = request.prompt.tokens.slice(from);
    if (request.scoring === undefined) {
      this.#sampler = new RequestSampler(request, this.#calls, this.#contextSize);
      this.#tell = () => tell(request);
    } else {
      this.#scorer = this.#calls.newSampler();
      this.#scorer.applyConfig(UNCHANGED);
    }
    return this.step(request);
  }

  /** Whether the reply goes on is all that the next evaluation waits for. */
  async step(request: Request): Promise<number> {
    if (request.scoring !== undefined) return this.#score(request, request.scoring.tokens);
    const sampler = this.#sampler;
    if (sampler === undefined) throw new Error('the reply has not begun');
    const token = await this.#evaluate({ sampler: sampler.ready() });
    if (typeof token !== 'number' || token < 0) throw new Error('llama.cpp gave no token');
    sampler.took(token);
    this.#next = takeToken(request, token, this.#contextSize - 1 - this.#held.length);
    this.#batch.later(this.#tell);
    return this.#next.length;
  }

  /** One token at a time, since a long text's probabilities of whole vocabularies would not fit into memory. */
  async #score(request: Request, tokens: readonly number[]): Promise<number> {
    const sampled = await this.#evaluate({ ...(this.#scorer && { sampler: this.#scorer }), probabilities: true });
    const listed = typeof sampled === 'object' ? (sampled[1] ?? []) : [];
    const probabilities = new Map<number, number>();
    for (let at = 0; at + 1 < listed.length; at += 2) probabilities.set(listed[at] ?? 0, listed[at + 1] ?? 0);
    if (probabilities.size === 0) throw new Error('llama.cpp gave no probabilities');
    const next = this.#held.length - request.prompt.tokens.length;
    this.#next = tokens.slice(next, next + 1);
    return tellScore(request, next, probabilities, this.#texts) ? 1 : 0;
  }

  /** The next tokens, with those of the other slots. */
  #evaluate(how: Pick<Part, 'sampler' | 'probabilities'>, tokens = this.#next): Promise<Sampled | undefined> {
    const position = this.#held.length;
    // Also where it fails: the slot is cleared then, and may hold some of them.
    for (const token of tokens) this.#held.push(token);
    return this.#batch.evaluate({ sequence: this.#inner._sequenceId, position, tokens, ...how });
  }

  #tellLibrary(): void {
    this.#inner._contextTokens = [...this.#held];
    this.#inner._nextTokenIndex = this.#held.length;
  }

  async leave(): Promise<void> {
    this.#sampler?.dispose();
    this.#scorer?.dispose();
    this.#sampler = undefined;
    this.#scorer = undefined;
    this.#batch.settle();
  }
}
