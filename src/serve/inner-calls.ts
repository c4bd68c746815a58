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

/** Accepts one text; whether a grammar's state is found is tried on it. */
const ANY_GRAMMAR = 'root ::= "a"';

/** Undefined where any of it has another shape than the releases that were tried (3.21.1). `fresh` holds nothing yet. */
export async function innerCalls(
  { runtime, llama, model, context }: Loaded,
  fresh: LlamaCpp.LlamaContextSequence,
): Promise<InnerCalls | undefined> {
  const inner: unknown = Reflect.get(context, '_ctx');
  const addonModel: unknown = Reflect.get(model, '_model');
  const bindings = Object(Reflect.get(llama, '_bindings'));
  const Sampler: unknown = Reflect.get(bindings, 'AddonSampler');
  const GrammarState: unknown = Reflect.get(bindings, 'AddonGrammarEvaluationState');
  if (typeof Sampler !== 'function' || typeof GrammarState !== 'function' || addonModel === undefined) return undefined;
  if (!hasMethods(inner, ['initBatch', 'addToBatch', 'decodeBatch', 'sampleToken'])) return undefined;
  if (!hasMethods(Sampler.prototype, ['applyConfig', 'dispose'])) return undefined;
  if (!believesWhatItIsTold(fresh)) return undefined;
  const grammar = await llama.createGrammar({ grammar: ANY_GRAMMAR });
  const held = new runtime.LlamaGrammarEvaluationState({ model, grammar });
  if (!(Reflect.get(held, '_state') instanceof GrammarState)) return undefined;
  return {
    // Its methods are there; what they take and give is what was tried.
    context: inner as InnerContext,
    // Its fields are private to the compiler alone, and were found above.
    sequence: (sequence) => sequence as unknown as InnerSequence,
    newSampler: () => Reflect.construct(Sampler, [addonModel]),
    grammarState: (state) => Object(Reflect.get(state, '_state')),
  };
}

/** Whether what a sequence holds, as anyone may ask it, is what its fields were set to: others of that name would be set in vain. */
function believesWhatItIsTold(fresh: LlamaCpp.LlamaContextSequence): boolean {
  // Looked at field by field before it is written to.
  const inner = fresh as unknown as InnerSequence;
  const isKnown =
    Number.isInteger(inner._sequenceId) && inner._nextTokenIndex === 0 && Array.isArray(inner._contextTokens);
  if (!isKnown) return false;
  const before = inner._contextTokens;
  inner._contextTokens = [1, 2];
  inner._nextTokenIndex = 2;
  const believes = fresh.nextTokenIndex === 2 && fresh.contextTokens.join() === '1,2';
  inner._contextTokens = before;
  inner._nextTokenIndex = 0;
  return believes;
}

function hasMethods(value: unknown, names: readonly string[]): boolean {
  return names.every((name) => typeof Reflect.get(Object(value), name) === 'function');
}
