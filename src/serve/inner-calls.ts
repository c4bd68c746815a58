// node-llama-cpp, the optional peer: finding it, starting it, what to say where it is missing, and everything that is needed of its inner interface:
// its own calls of llama.cpp's binding, by which all slots share an evaluation. No other file imports it.

import { createRequire } from 'node:module';
import type * as LlamaCpp from 'node-llama-cpp';
import { codeOf, messageOf, unavailable } from '../core/errors.js';

/** The release whose inner interface this is; package.json's peerDependencies name the same. */
const RUNTIME_VERSION = '3.21.1';

/** What of it says how it is installed. */
const INSTALLATION = `npm install node-llama-cpp@${RUNTIME_VERSION}`;

/** Throws a UserError (69) for a release whose inner interface is not known. */
export function requireKnownRelease(version: string): void {
  if (version === RUNTIME_VERSION) return;
  throw unavailable(
    `node-llama-cpp ${version} is installed, and awb serve works with ${RUNTIME_VERSION}; \`${INSTALLATION}\` replaces it`,
  );
}

/** llama.cpp's context, as `AddonContext` in node-llama-cpp's bindings/AddonTypes.d.ts. */
export interface InnerContext {
  initBatch(tokens: number): void;
  /** `outputs` are places in `tokens`; resolves them to places in the batch. */
  addToBatch(sequence: number, position: number, tokens: Uint32Array, outputs: Uint32Array): Uint32Array;
  decodeBatch(): Promise<void>;
  /** A third argument, be it false, has it answer with a list. */
  sampleToken(output: number, sampler: InnerSampler, probabilities?: true): Promise<Sampled>;
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

/** The private fields in which `LlamaContextSequence` keeps what it holds. */
interface InnerSequence {
  readonly _sequenceId: number;
  _nextTokenIndex: number;
  readonly _contextTokens: number[];
}

/** The token, -1 where there is none; where they were wanted, with the probabilities of the whole vocabulary: tokens and probabilities by turns. */
export type Sampled = number | readonly [number, readonly number[] | undefined];

/** A slot's part of an evaluation. */
interface Part {
  readonly sequence: number;
  /** Where its first token stands. */
  readonly position: number;
  readonly tokens: readonly number[];
  /** Samples what comes behind the last token; absent: nothing is sampled. */
  readonly sampler?: InnerSampler;
  /** Whether the probabilities of the whole vocabulary are wanted too. */
  readonly probabilities?: true | undefined;
}

export type InnerCalls = ReturnType<typeof innerCalls>;

export function innerCalls(llama: LlamaCpp.Llama, model: LlamaCpp.LlamaModel, context: LlamaCpp.LlamaContext) {
  // Found in the release that was required above.
  const batch = new SharedBatch(Reflect.get(context, '_ctx') as InnerContext);
  const Sampler = Reflect.get(Reflect.get(llama, '_bindings'), 'AddonSampler');
  return {
    /**
     * Evaluates tokens behind those that the sequence holds, with those of all other sequences that are handed in before the next
     * microtask; never while an evaluation is under way. Resolves with what was sampled, or rejects with the others where that fails.
     */
    evaluate(
      sequence: LlamaCpp.LlamaContextSequence,
      tokens: readonly number[],
      how: Pick<Part, 'sampler' | 'probabilities'> = {},
    ) {
      // Likewise; they are private to the compiler alone.
      const inner = sequence as unknown as InnerSequence;
      const position = inner._nextTokenIndex;
      // The library is told before, also where evaluating fails: the slot is cleared then, and may hold some of them.
      for (const token of tokens) inner._contextTokens.push(token);
      inner._nextTokenIndex += tokens.length;
      return batch.evaluate({ sequence: inner._sequenceId, position, tokens, ...how });
    },
    newSampler: (): InnerSampler => Reflect.construct(Sampler, [Reflect.get(model, '_model')]),
    /** What a sampler's configuration takes for a grammar. */
    grammarState: (state: LlamaCpp.LlamaGrammarEvaluationState): object => Reflect.get(state, '_state'),
  };
}

interface Waiting extends Part {
  readonly resolve: (sampled: Sampled | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** One evaluation for all slots: what they hand in within a step is evaluated together, and sampled when it has been. */
export class SharedBatch {
  #waiting: Waiting[] = [];

  constructor(private readonly context: InnerContext) {}

  evaluate(part: Part): Promise<Sampled | undefined> {
    return new Promise((resolve, reject) => {
      if (this.#waiting.push({ ...part, resolve, reject }) === 1) queueMicrotask(() => void this.#run());
    });
  }

  async #run(): Promise<void> {
    // llama.cpp joins only sequences n, n + 1, n + 2 … in that order into one graph.
    const waiting = this.#waiting.sort((a, b) => a.sequence - b.sequence);
    this.#waiting = [];
    try {
      this.context.initBatch(waiting.reduce((sum, { tokens }) => sum + tokens.length, 0));
      const outputs = waiting.map(({ sequence, position, tokens, sampler }) => {
        const last = sampler === undefined ? [] : [tokens.length - 1];
        return this.context.addToBatch(sequence, position, Uint32Array.from(tokens), Uint32Array.from(last))[0];
      });
      await this.context.decodeBatch();
      await this.#handOver(waiting, outputs);
    } catch (error) {
      for (const { reject } of waiting) reject(error);
    }
  }

  /**
   * Samples side by side on the threads of Node's pool, each handed over as it comes, but for the first of an uneven batch: reading it,
   * llama.cpp puts its outputs in order. Slots that sample nothing go on last.
   */
  async #handOver(waiting: readonly Waiting[], outputs: readonly (number | undefined)[]): Promise<void> {
    let isOrdered = waiting.every(({ tokens }) => tokens.length === 1);
    const under: Promise<void>[] = [];
    for (const [index, { sampler, probabilities, resolve, reject }] of waiting.entries()) {
      const output = outputs[index];
      if (sampler === undefined || output === undefined) continue;
      under.push(this.context.sampleToken(output, sampler, probabilities).then(resolve, reject));
      if (!isOrdered) await under[0];
      isOrdered = true;
    }
    await Promise.all(under);
    for (const { resolve } of waiting) resolve(undefined);
  }
}

// node-llama-cpp, the optional peer: finding it, starting it, and what to say where it is missing. No other file imports it.

export type { LlamaCpp };

type Runtime = typeof LlamaCpp;
type Token = LlamaCpp.Token;
export type Gpu = 'auto' | 'cuda' | 'vulkan' | 'metal' | 'off';

/** The library brands its tokens; at run time they are plain numbers, which is how they travel here. */
export function asToken(token: number): Token {
  // The brand exists for the compiler alone.
  return token as Token;
}

/** The same list, as the library's calls take it; none of them changes it. */
export function asTokens(tokens: readonly number[]): Token[] {
  // The brand exists for the compiler alone.
  return tokens as Token[];
}

/** Whether node-llama-cpp is installed. */
export function hasRuntime(): boolean {
  try {
    createRequire(import.meta.url).resolve('node-llama-cpp');
    return true;
  } catch {
    return false;
  }
}

/** What is used of `@huggingface/jinja`, which implements chat templates as Transformers does. */
export interface Jinja {
  readonly Template: new (source: string) => { render(context: Record<string, unknown>): string };
}

/**
 * The optional peer, and the template library it depends on (so that the two agree, wherever npm put them). Throws a UserError (69) where
 * it is not installed, or in another release.
 */
export async function importRuntime(): Promise<{ runtime: Runtime; jinja: Jinja }> {
  try {
    const runtime: Runtime = await import('node-llama-cpp');
    requireKnownRelease(await runtime.getModuleVersion());
    const own = createRequire(import.meta.url);
    const jinja: Jinja = createRequire(own.resolve('node-llama-cpp'))('@huggingface/jinja');
    return { runtime, jinja };
  } catch (error) {
    if (codeOf(error) !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw unavailable(`serving a model needs node-llama-cpp, which is not installed; \`${INSTALLATION}\` adds it`);
  }
}

/** How GPU code is added, where there is any for this platform. */
export const GPU_CODE_HINT = `\`npm run gpu\` in a checkout, elsewhere \`${INSTALLATION}\`, adds code for GPUs`;

/** One for each kind of device in the whole process: making a second unhooks the first one's logger, and llama.cpp then writes its errors to stdout. */
const instances = new Map<Gpu, ReturnType<typeof makeLlama>>();
const MOST_LOG_LINES = 50;

/** The library and llama.cpp for a kind of device. Throws UserError (69) as `importRuntime`, and where no binary for it works here. */
export async function startLlama(gpu: Gpu) {
  const imported = await importRuntime();
  const started = instances.get(gpu) ?? makeLlama(imported.runtime, gpu);
  instances.set(gpu, started);
  started.catch(() => instances.delete(gpu));
  return { ...imported, ...(await started) };
}

/** Never builds from source: that takes minutes and tens of thousands of lines of output, silently by default. */
async function makeLlama(runtime: Runtime, gpu: Gpu) {
  const wanted = gpu === 'off' ? false : gpu;
  const isNamed = gpu !== 'auto' && gpu !== 'off';
  /** What llama.cpp said of errors, newest last. */
  const log: string[] = [];
  try {
    const llama = await runtime.getLlama({
      gpu: wanted,
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      // No limit here: each context names its threads.
      maxThreads: 0,
      logLevel: runtime.LlamaLogLevel.error,
      logger: (_, message) => {
        if (log.push(message.trim()) > MOST_LOG_LINES) log.shift();
      },
    });
    if (wanted !== 'auto' && llama.gpu !== wanted) throw new Error('it is not supported on this platform');
    return { llama, log };
  } catch (error) {
    const remedy = isNamed
      ? `${GPU_CODE_HINT}; check the driver and, for CUDA, its Toolkit (12 or 13), or use --gpu off`
      : 'install it with its optional packages';
    const device = isNamed ? gpu : 'this machine';
    throw unavailable(`node-llama-cpp has no working binary for ${device} (${lineOf(error)}); ${remedy}`);
  }
}

/** An error of the library, or what it said, as one line of bounded length. */
export function lineOf(error: unknown): string {
  return messageOf(error).replace(/\s+/g, ' ').trim().slice(0, 300);
}
