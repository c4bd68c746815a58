// node-llama-cpp, the optional peer: finding it, starting it, the message if it is missing, and the parts of its private interface that awb
// needs: direct calls of llama.cpp's binding, so that all slots share an evaluation. No other file imports it.

import { createRequire } from 'node:module';
import type * as LlamaCpp from 'node-llama-cpp';
import { codeOf, messageOf, unavailable } from '../core/errors.js';

/** The release whose private interface is used here; package.json's peerDependencies name the same. */
const RUNTIME_VERSION = '3.21.1';

/** The command that installs it. */
const INSTALLATION = `npm install node-llama-cpp@${RUNTIME_VERSION}`;

/** Throws a UserError (69) for a release with an unknown private interface. */
export function requireKnownRelease(version: string): void {
  if (version === RUNTIME_VERSION) return;
  throw unavailable(
    `node-llama-cpp ${version} is installed, but awb serve needs ${RUNTIME_VERSION}; \`${INSTALLATION}\` replaces it`,
  );
}

/** llama.cpp's context, as `AddonContext` in node-llama-cpp's bindings/AddonTypes.d.ts. */
export interface InnerContext {
  initBatch(tokens: number): void;
  /** `outputs` are positions in `tokens`; returns their positions in the batch. */
  addToBatch(sequence: number, position: number, tokens: Uint32Array, outputs: Uint32Array): Uint32Array;
  decodeBatch(): Promise<void>;
  /** With a third argument, even false, it answers with a list. */
  sampleToken(output: number, sampler: InnerSampler, probabilities?: true): Promise<Sampled>;
}

/** `AddonSampler`: keeps the state of its random numbers and penalties from one token to the next. */
export interface InnerSampler {
  /** Takes the full configuration each time: omitted keys are off. */
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

/** The token, or -1 if there is none; on request with the probabilities of the whole vocabulary, tokens and probabilities alternating. */
export type Sampled = number | readonly [number, readonly number[] | undefined];

/** A slot's part of an evaluation. */
interface Part {
  readonly sequence: number;
  /** Position of its first token. */
  readonly position: number;
  readonly tokens: readonly number[];
  /** Samples the token after the last one; absent: nothing is sampled. */
  readonly sampler?: InnerSampler;
  /** Whether to return the probabilities of the whole vocabulary. */
  readonly probabilities?: true | undefined;
}

export type InnerCalls = ReturnType<typeof innerCalls>;

export function innerCalls(llama: LlamaCpp.Llama, model: LlamaCpp.LlamaModel, context: LlamaCpp.LlamaContext) {
  // Exists in the release required above.
  const batch = new SharedBatch(Reflect.get(context, '_ctx') as InnerContext);
  const Sampler = Reflect.get(Reflect.get(llama, '_bindings'), 'AddonSampler');
  return {
    /**
     * Evaluates tokens after those already in the sequence, together with those of all other sequences submitted before the next
     * microtask; must not be called during an evaluation. Resolves with what was sampled; if the evaluation fails, all of them reject.
     */
    evaluate(
      sequence: LlamaCpp.LlamaContextSequence,
      tokens: readonly number[],
      how: Pick<Part, 'sampler' | 'probabilities'> = {},
    ) {
      // Likewise; they are private only to the compiler.
      const inner = sequence as unknown as { _sequenceId: number; _nextTokenIndex: number; _contextTokens: number[] };
      const position = inner._nextTokenIndex;
      // The library's record is updated first, even if evaluating fails: the sequence may then contain some of the tokens, and is cleared.
      for (const token of tokens) inner._contextTokens.push(token);
      inner._nextTokenIndex += tokens.length;
      return batch.evaluate({ sequence: inner._sequenceId, position, tokens, ...how });
    },
    newSampler: (): InnerSampler => Reflect.construct(Sampler, [Reflect.get(model, '_model')]),
    /** The value for a grammar in a sampler's configuration. */
    grammarState: (state: LlamaCpp.LlamaGrammarEvaluationState): object => Reflect.get(state, '_state'),
  };
}

interface Waiting extends Part {
  readonly resolve: (sampled: Sampled | undefined) => void;
  readonly reject: (error: unknown) => void;
}

/** One evaluation for all slots: the parts submitted within a step are evaluated together, then sampled. */
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
   * Samples in parallel on Node's thread pool and hands over each token as it arrives. In an uneven batch, the first is sampled alone,
   * since reading it makes llama.cpp put its outputs in order. Slots that sample nothing resolve last.
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

// Finding and starting node-llama-cpp, and the message if it is missing.

export type { LlamaCpp };

type Runtime = typeof LlamaCpp;
type Token = LlamaCpp.Token;
export type Gpu = 'auto' | 'cuda' | 'vulkan' | 'metal' | 'off';

/** The library brands its tokens; at run time they are plain numbers, as everywhere in this program. */
export function asToken(token: number): Token {
  // The brand exists only for the compiler.
  return token as Token;
}

/** The same list with the library's type; no call of the library changes it. */
export function asTokens(tokens: readonly number[]): Token[] {
  // The brand exists only for the compiler.
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

/** The part of `@huggingface/jinja` that is used; it implements chat templates as Transformers does. */
export interface Jinja {
  readonly Template: new (source: string) => { render(context: Record<string, unknown>): string };
}

/**
 * The optional peer, and the template library that it depends on (so that the two agree, wherever npm put them). Throws a UserError (69)
 * if it is not installed, or in another release.
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
    throw unavailable(`serving needs node-llama-cpp; if npm installed awb, \`${INSTALLATION}\` adds it`);
  }
}

/** How to add GPU code, if there is any for this platform. */
export const GPU_CODE_HINT = `\`npm run gpu\` in a checkout, elsewhere \`${INSTALLATION}\`, adds code for GPUs`;

/** One per kind of device and process: a second one unhooks the first one's logger, and llama.cpp then writes its errors to stdout. */
const instances = new Map<Gpu, ReturnType<typeof makeLlama>>();
const MOST_LOG_LINES = 50;

/** The library, and llama.cpp for a kind of device. Throws UserError (69) as `importRuntime`, and if no binary works on this machine. */
export async function startLlama(gpu: Gpu) {
  const imported = await importRuntime();
  const started = instances.get(gpu) ?? makeLlama(imported.runtime, gpu);
  instances.set(gpu, started);
  started.catch(() => instances.delete(gpu));
  return { ...imported, ...(await started) };
}

/** Never builds from source: that takes minutes and, silent by default, prints tens of thousands of lines. */
async function makeLlama(runtime: Runtime, gpu: Gpu) {
  const wanted = gpu === 'off' ? false : gpu;
  const isNamed = gpu !== 'auto' && gpu !== 'off';
  /** llama.cpp's error messages, newest last. */
  const log: string[] = [];
  try {
    const llama = await runtime.getLlama({
      gpu: wanted,
      build: 'never',
      skipDownload: true,
      progressLogs: false,
      // No limit here: each context sets its own threads.
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

/** An error of the library, or its message, as one line of bounded length. */
export function lineOf(error: unknown): string {
  return messageOf(error).replace(/\s+/g, ' ').trim().slice(0, 300);
}
