// The calls of llama.cpp's binding that node-llama-cpp makes itself: found on what it loaded, or absent where a release has them no more.

import type { Loaded } from './load.js';
import type { LlamaCpp } from './runtime.js';

/** llama.cpp's context, as `AddonContext` in node-llama-cpp's bindings/AddonTypes.d.ts, which every release from 3.0 has alike. */
export interface InnerContext {
  initBatch(tokens: number): void;
  /** `outputs` are places in `tokens`; resolves them to places in the batch. */
  addToBatch(sequence: number, position: number, tokens: Uint32Array, outputs: Uint32Array): Uint32Array;
  decodeBatch(): Promise<void>;
  /** -1 where nothing can be sampled. */
  sampleToken(output: number, sampler: InnerSampler): Promise<number>;
  /** With the probabilities of the whole vocabulary, tokens and probabilities by turns. */
  sampleToken(
    output: number,
    sampler: InnerSampler,
    probabilities: true,
  ): Promise<readonly [number, readonly number[] | undefined]>;
}

/** `AddonSampler`: it keeps the state of its random numbers and penalties from one token to the next. */
export interface InnerSampler {
  /** All of it each time: what is left out is off. */
  applyConfig(config: SamplerConfig): void;
  dispose(): void;
}

export interface SamplerConfig {
  readonly temperature: number;
  readonly topK: number;
  readonly topP: number;
  readonly minP: number;
  readonly seed: number;
  readonly repeatPenalty?: number;
  readonly repeatPenaltyMaxTokens?: number;
  readonly repeatPenaltyTokens?: Uint32Array;
  readonly repeatPenaltyPresencePenalty?: number;
  readonly repeatPenaltyFrequencyPenalty?: number;
  readonly tokenBiasKeys?: Uint32Array;
  readonly tokenBiasValues?: Float32Array;
  readonly grammarEvaluationState?: object;
}

/** What node-llama-cpp believes of a sequence; it must be told what was evaluated past it before it goes back or keeps a state. */
export interface InnerSequence {
  readonly _sequenceId: number;
  _nextTokenIndex: number;
  _contextTokens: number[];
}

export interface InnerCalls {
  readonly context: InnerContext;
  sequence(sequence: LlamaCpp.LlamaContextSequence): InnerSequence;
  newSampler(): InnerSampler;
  /** What a sampler's configuration takes for a grammar. */
  grammarState(grammar: LlamaCpp.LlamaGrammarEvaluationState): object;
}

/** Undefined where any of it has another shape than the releases that were tried (3.21.1). */
export function innerCalls({ llama, model, context }: Loaded): InnerCalls | undefined {
  const inner: unknown = Reflect.get(context, '_ctx');
  const addonModel: unknown = Reflect.get(model, '_model');
  const Sampler: unknown = Reflect.get(Object(Reflect.get(llama, '_bindings')), 'AddonSampler');
  if (typeof Sampler !== 'function' || addonModel === undefined) return undefined;
  if (!hasMethods(inner, ['initBatch', 'addToBatch', 'decodeBatch', 'sampleToken'])) return undefined;
  if (!hasMethods(Sampler.prototype, ['applyConfig', 'dispose'])) return undefined;
  return {
    // Its methods are there; what they take and give is what was tried.
    context: inner as InnerContext,
    // Its fields are private to the compiler alone.
    sequence: (sequence) => sequence as unknown as InnerSequence,
    newSampler: () => Reflect.construct(Sampler, [addonModel]),
    grammarState: (grammar) => Object(Reflect.get(grammar, '_state')),
  };
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return names.every((name) => typeof Reflect.get(Object(value), name) === 'function');
}
