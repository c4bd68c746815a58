// One slot on node-llama-cpp's own queue of evaluations: for releases whose inner calls are not known.

import type { Request } from './engine-request.js';
import type { Loaded } from './load.js';
import { asToken, asTokens, type LlamaCpp } from './runtime.js';
import { sampling } from './sampling.js';
import type { Evaluator } from './scheduler.js';
import { takeToken, tell } from './slot-reply.js';
import { tellScore, tokenTexts, UNCHANGED } from './slot-scores.js';
import type { SlotSequence } from './slot-sequence.js';
import type { TokenTexts } from './token-scores.js';

export class LibrarySlot implements Evaluator<Request> {
  readonly #loaded: Loaded;
  readonly #slot: SlotSequence;
  readonly #priority: LlamaCpp.EvaluationPriority;
  readonly #texts: TokenTexts;
  /** The library's generator; there once the whole prompt is evaluated. */
  #reply: ReturnType<LlamaCpp.LlamaContextSequence['evaluate']> | undefined;
  /** What the next step evaluates. */
  #next: readonly number[] = [];

  constructor(loaded: Loaded, slot: SlotSequence, index: number) {
    this.#loaded = loaded;
    this.#texts = tokenTexts(loaded.model);
    // A number that only the batching strategy reads (load.ts); the library's type names its own five.
    this.#priority = (index + 1) as LlamaCpp.EvaluationPriority;
    this.#slot = slot;
  }

  get needsCheckpoints(): boolean {
    return this.#slot.sequence.needsCheckpoints;
  }

  async restore(request: Request, tokens: number): Promise<number> {
    request.cachedTokens = await this.#slot.restore(request.prompt.tokens.slice(0, tokens));
    return request.cachedTokens;
  }

  async feed({ prompt }: Request, from: number, to: number): Promise<void> {
    await this.#slot.sequence.evaluateWithoutGeneratingNewTokens(asTokens(prompt.tokens.slice(from, to)), {
      evaluationPriority: this.#priority,
    });
  }

  keep(): Promise<number> {
    return this.#slot.keep();
  }

  async begin(request: Request, from: number): Promise<number> {
    const tokens = request.prompt.tokens.slice(from);
    if (request.scoring !== undefined) return this.#score(request, tokens, 0);
    this.#next = [];
    this.#reply = this.#slot.sequence.evaluate(asTokens(tokens), {
      ...sampling(request, this.#loaded.context.contextSize, this.#loaded),
      evaluationPriority: this.#priority,
      yieldEogToken: true,
    });
    return this.step(request);
  }

  async step(request: Request): Promise<number> {
    const { sequence } = this.#slot;
    if (request.scoring !== undefined) {
      const scored = sequence.nextTokenIndex - request.prompt.tokens.length;
      return this.#score(request, request.scoring.tokens.slice(scored, scored + 1), scored + 1);
    }
    const next = await this.#reply?.next(asTokens(this.#next));
    if (next === undefined || next.done) throw new Error('llama.cpp gave no token');
    this.#next = takeToken(request, next.value, this.#loaded.context.contextSize - 1 - sequence.nextTokenIndex);
    tell(request);
    return this.#next.length;
  }

  /**
   * Evaluates tokens and scores the one behind them, `scoring.tokens[next]`. One at a time, since the library gives the probabilities of
   * the whole vocabulary for each, and a long text's would not fit into memory.
   */
  async #score(request: Request, tokens: readonly number[], next: number): Promise<number> {
    const [last] = tokens.slice(-1);
    if (last === undefined) throw new Error('there is no token to evaluate');
    const input: LlamaCpp.ControlledEvaluateInputItem[] = [
      ...asTokens(tokens.slice(0, -1)),
      [asToken(last), { generateNext: { probabilities: true, options: UNCHANGED } }],
    ];
    const outputs = await this.#slot.sequence.controlledEvaluate(input, { evaluationPriority: this.#priority });
    const probabilities = outputs[input.length - 1]?.next.probabilities;
    if (probabilities === undefined) throw new Error('llama.cpp gave no probabilities');
    return tellScore(request, next, probabilities, this.#texts) ? 1 : 0;
  }

  async leave(): Promise<void> {
    await this.#reply?.return();
    this.#reply = undefined;
  }
}
