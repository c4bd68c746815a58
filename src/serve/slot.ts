// One slot of llama.cpp's context: going back to what it holds, keeping states to go back to, replies and scores.

import { type Request, takeToken, tell, tellScore } from './engine-request.js';
import type { InnerCalls, Sampled } from './inner-calls.js';
import type { Loaded } from './load.js';
import { asTokens, type LlamaCpp } from './runtime.js';
import { RequestSampler } from './sampling.js';
import type { Evaluator } from './scheduler.js';
import { type TokenTexts, tokenTexts } from './token-scores.js';

/** More than any memory budget allows. */
const MOST_CHECKPOINTS = 4096;

export class Slot implements Evaluator<Request> {
  readonly #calls: InnerCalls;
  readonly #contextSize: number;
  /** It alone knows which tokens it holds. */
  readonly #sequence: LlamaCpp.LlamaContextSequence;
  readonly #texts: TokenTexts;
  /** Host memory in bytes for the states that are kept. */
  readonly #checkpointBytes: number;
  /** Bytes of one kept state, all of a sequence being alike; known once one was taken. */
  #checkpointSize: number | undefined;
  #sampler: RequestSampler | undefined;
  /** What the next step evaluates. */
  #next: readonly number[] = [];

  constructor({ model, context }: Loaded, calls: InnerCalls, checkpointBytes: number) {
    this.#calls = calls;
    this.#contextSize = context.contextSize;
    this.#texts = tokenTexts(model);
    this.#checkpointBytes = checkpointBytes;
    this.#sequence = context.getSequence({
      contextShift: { strategy: refuseShift },
      checkpoints: { max: MOST_CHECKPOINTS, interval: false, maxMemory: checkpointBytes },
    });
  }

  get needsCheckpoints(): boolean {
    return this.#sequence.needsCheckpoints;
  }

  get position(): number {
    return this.#sequence.nextTokenIndex;
  }

  async restore(request: Request, tokens: number): Promise<void> {
    if (tokens === 0) await this.#sequence.clearHistory();
    else await this.#sequence.adaptStateToTokens(asTokens(request.prompt.tokens.slice(0, tokens)), false);
    request.cachedTokens = this.position;
  }

  async feed({ prompt }: Request, end: number): Promise<void> {
    await this.#calls.evaluate(this.#sequence, prompt.tokens.slice(this.position, end));
  }

  /** The library drops the oldest when its memory is full. */
  async keep(): Promise<number> {
    if ((this.#checkpointSize ?? 1) > this.#checkpointBytes) return 0;
    const before = this.#sequence.checkpointsMemoryUsage;
    await this.#sequence.takeCheckpoint();
    const after = this.#sequence.checkpointsMemoryUsage;
    this.#checkpointSize ??= after - before;
    return this.#checkpointSize > this.#checkpointBytes ? 0 : Math.round(after / this.#checkpointSize);
  }

  begin(request: Request): Promise<number> {
    this.#next = request.prompt.tokens.slice(this.position);
    this.#sampler = new RequestSampler(request, this.#calls, this.#contextSize);
    return this.step(request);
  }

  /** Whether the reply goes on is all that the next evaluation waits for; its text is made while that is under way. */
  async step(request: Request): Promise<number> {
    const sampled = await this.#evaluate(request.scoring !== undefined);
    if (request.scoring !== undefined) return this.#score(request, request.scoring.tokens, sampled);
    if (typeof sampled !== 'number' || sampled < 0) throw new Error('llama.cpp gave no token');
    this.#next = takeToken(request, sampled, this.#contextSize - 1 - this.position);
    setImmediate(tell, request);
    return this.#next.length;
  }

  #evaluate(probabilities: boolean): Promise<Sampled | undefined> {
    if (this.#sampler === undefined) throw new Error('the reply has not begun');
    return this.#calls.evaluate(this.#sequence, this.#next, { sampler: this.#sampler.ready(), probabilities });
  }

  /** One token at a time, since a long text's probabilities of whole vocabularies would not fit into memory. */
  #score(request: Request, tokens: readonly number[], sampled: Sampled | undefined): number {
    const listed = typeof sampled === 'object' ? (sampled[1] ?? []) : [];
    const probabilities = new Map<number, number>();
    for (let at = 0; at + 1 < listed.length; at += 2) probabilities.set(listed[at] ?? 0, listed[at + 1] ?? 0);
    if (probabilities.size === 0) throw new Error('llama.cpp gave no probabilities');
    const next = this.position - request.prompt.tokens.length;
    this.#next = tokens.slice(next, next + 1);
    return tellScore(request, next, probabilities, this.#texts) ? 1 : 0;
  }

  async leave(): Promise<void> {
    this.#sampler?.dispose();
    this.#sampler = undefined;
  }
}

/** Nothing may ever be shifted out of a context; lengths are checked before, so that this is never called. */
function refuseShift(): never {
  throw new Error('the context is full');
}
