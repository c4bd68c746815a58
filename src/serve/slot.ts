// One slot on node-llama-cpp: a sequence of the context, and the request whose prompt and reply it evaluates.

import type { Request } from './engine-request.js';
import type { Loaded } from './load.js';
import { asToken, asTokens, type LlamaCpp } from './runtime.js';
import { sampling } from './sampling.js';
import type { Evaluator } from './scheduler.js';
import { scoreToken, spelledBytes, type TokenTexts } from './token-scores.js';

/** More than any memory budget allows. */
const MOST_CHECKPOINTS = 4096;

export class LlamaSlot implements Evaluator<Request> {
  readonly #sequence: LlamaCpp.LlamaContextSequence;
  readonly #contextSize: number;
  readonly #priority: LlamaCpp.EvaluationPriority;
  /** Host memory in bytes for the states that are kept. */
  readonly #checkpointBytes: number;
  /** Bytes of one kept state, all of a sequence being alike; known once one was taken. */
  #checkpointSize: number | undefined;
  /** The library's generator; there once the whole prompt is evaluated. */
  #reply: ReturnType<LlamaCpp.LlamaContextSequence['evaluate']> | undefined;
  /** What the next step evaluates in place of the sampled token. */
  #insteadOf: readonly number[] | undefined;

  readonly #loaded: Loaded;
  readonly #texts: TokenTexts;

  constructor(loaded: Loaded, slot: number, checkpointBytes: number) {
    const { context, model } = loaded;
    this.#loaded = loaded;
    this.#texts = tokenTexts(model);
    this.#contextSize = context.contextSize;
    this.#checkpointBytes = checkpointBytes;
    // A number that only the batching strategy reads (load.ts); the library's type names its own five.
    this.#priority = (slot + 1) as LlamaCpp.EvaluationPriority;
    this.#sequence = context.getSequence({
      contextShift: { strategy: refuseShift },
      checkpoints: { max: MOST_CHECKPOINTS, interval: false, maxMemory: checkpointBytes },
    });
  }

  get needsCheckpoints(): boolean {
    return this.#sequence.needsCheckpoints;
  }

  async restore(request: Request, tokens: number): Promise<number> {
    if (tokens === 0) await this.#sequence.clearHistory();
    else await this.#sequence.adaptStateToTokens(asTokens(request.prompt.tokens.slice(0, tokens)), false);
    request.cachedTokens = this.#sequence.nextTokenIndex;
    return request.cachedTokens;
  }

  async feed({ prompt }: Request, from: number, to: number): Promise<void> {
    await this.#sequence.evaluateWithoutGeneratingNewTokens(asTokens(prompt.tokens.slice(from, to)), {
      evaluationPriority: this.#priority,
    });
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

  async begin(request: Request, from: number): Promise<number> {
    if (request.scoring !== undefined) return this.#score(request, request.prompt.tokens.slice(from), 0);
    this.#insteadOf = undefined;
    this.#reply = this.#sequence.evaluate(asTokens(request.prompt.tokens.slice(from)), {
      ...sampling(request, this.#contextSize, this.#loaded),
      evaluationPriority: this.#priority,
      yieldEogToken: true,
    });
    return this.step(request);
  }

  async step(request: Request): Promise<number> {
    if (request.scoring !== undefined) {
      const { tokens } = request.scoring;
      const scored = this.#sequence.nextTokenIndex - request.prompt.tokens.length;
      return this.#score(request, tokens.slice(scored, scored + 1), scored + 1);
    }
    const { reader, events, spoken } = request;
    const { inThinking } = reader;
    const next = await this.#reply?.next(this.#insteadOf && asTokens(this.#insteadOf));
    this.#insteadOf = undefined;
    if (next === undefined || next.done) throw new Error('llama.cpp gave no token');
    const taken = reader.take(next.value);
    for (const text of taken.texts) events.push({ type: 'text', ...text });
    this.#insteadOf = taken.insteadOf;
    spoken.push(...(taken.insteadOf ?? [next.value]));
    if (inThinking || reader.inThinking) request.spokenThinking = spoken.length;
    const wants = taken.insteadOf?.length ?? 1;
    const full = taken.finish === undefined && this.#contextSize - 1 - this.#sequence.nextTokenIndex < wants;
    if (full) for (const text of reader.rest()) events.push({ type: 'text', ...text });
    const finishReason = taken.finish ?? (full ? 'length' : undefined);
    if (finishReason === undefined) return wants;
    finish(request, finishReason);
    return 0;
  }

  /**
   * Evaluates tokens and scores the one behind them, `scoring.tokens[next]`. One at a time, since the library gives the probabilities of
   * the whole vocabulary for each, and a long text's would not fit into memory.
   */
  async #score(request: Request, tokens: readonly number[], next: number): Promise<number> {
    const { scoring, events } = request;
    const wanted = scoring?.tokens[next];
    if (scoring === undefined || wanted === undefined) throw new Error('there is no token to score');
    const [last] = tokens.slice(-1);
    if (last === undefined) throw new Error('there is no token to evaluate');
    const input: LlamaCpp.ControlledEvaluateInputItem[] = [
      ...asTokens(tokens.slice(0, -1)),
      [asToken(last), { generateNext: { probabilities: true, options: UNCHANGED } }],
    ];
    const outputs = await this.#sequence.controlledEvaluate(input, { evaluationPriority: this.#priority });
    const probabilities = outputs[input.length - 1]?.next.probabilities;
    if (probabilities === undefined) throw new Error('llama.cpp gave no probabilities');
    events.push({ type: 'prompt', scores: [scoreToken(probabilities, wanted, scoring.top, this.#texts)] });
    if (next + 1 < scoring.tokens.length) return 1;
    finish(request, 'length');
    return 0;
  }

  async leave(): Promise<void> {
    await this.#reply?.return();
    this.#reply = undefined;
  }
}

/** The model's own distribution: every token, as likely as it is. */
const UNCHANGED = { temperature: 1, topK: 0, topP: 1, minP: 0, seed: 0 };

function tokenTexts(model: LlamaCpp.LlamaModel): TokenTexts {
  const textOf = (token: number): string => model.detokenize([asToken(token)], true);
  const { model: kind, tokens } = model.fileInfo.metadata.tokenizer?.ggml ?? {};
  // Other vocabularies do not spell out the bytes of a token that is no whole text.
  const spelling = kind === 'gpt2' ? tokens : undefined;
  return {
    textOf,
    bytesOf: (token) => spelledBytes(spelling?.[token] ?? textOf(token)),
  };
}

function finish({ reader, events, prompt, cachedTokens }: Request, finishReason: 'stop' | 'length'): void {
  events.push({
    type: 'end',
    finishReason,
    usage: {
      promptTokens: prompt.tokens.length,
      cachedTokens,
      completionTokens: reader.completionTokens,
      reasoningTokens: reader.reasoningTokens,
    },
  });
  events.close();
}

/** Nothing may ever be shifted out of a context; lengths are checked before, so that this is never called. */
function refuseShift(): never {
  throw new Error('the context is full');
}
