// Loads a model and its context from settings; a failure is one sentence with the remedy.

import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import { badData, UserError, unavailable } from '../core/errors.js';
import { counted } from '../core/printable.js';
import { GPU_CODE_HINT, type Gpu, lineOf, startLlama } from './inner-calls.js';
import { type ModelFile, needsTwoThreads, type PlanSettings } from './memory.js';

export interface EngineSettings extends PlanSettings {
  readonly file: ModelFile;
  /** The name under which the model is served. */
  readonly name: string;
  readonly gpu: Gpu;
  readonly threads?: number | undefined;
  /** Called with notes for the server's operator. */
  readonly onNote?: (text: string) => void;
  /** Where file hashes are cached; absent: no cache. */
  readonly cacheDirectory?: string;
  /** Aborts loading. */
  readonly signal: AbortSignal;
  /** Called with a step's progress, 0 to 1; both steps run at the same time. */
  readonly onProgress?: (step: 'hashing' | 'loading', done: number) => void;
}

/** A loaded model and its context, and the libraries that loaded them. */
export type Loaded = Awaited<ReturnType<typeof load>>;

/** Throws UserError: 65 if llama.cpp cannot load the file, 69 if memory is too small or the settings cannot be served. */
export async function load(settings: EngineSettings) {
  const { file, gpu, signal, flashAttention, contextSize, slots, onNote, onProgress } = settings;
  const { runtime, jinja, llama, log } = await startLlama(gpu);
  log.length = 0;
  const threads = threadsOf(settings.threads, slots);
  if (gpu === 'auto' && llama.gpu === false) {
    onNote?.(`no usable GPU, running on ${counted(threads, 'thread')}; ${GPU_CODE_HINT}`);
  }
  const trained = file.insights.trainContextSize ?? Number.POSITIVE_INFINITY;
  if (contextSize > trained) {
    throw new UserError(
      `a context of ${contextSize} tokens is longer than the ${trained} that the model was trained on; lower --context`,
    );
  }
  const refuse = (otherwise: (why: string) => UserError) => (error: unknown) => {
    if (signal.aborted) throw error;
    const isNamed = error instanceof Error && /InsufficientMemory/.test(`${error.constructor.name} ${error.name}`);
    const isMemory = isNamed || log.some((line) => /out of memory|(?:failed|unable) to allocate/i.test(line));
    if (!isMemory) throw otherwise(lineOf(log[0] ?? error));
    throw unavailable(
      `too little memory (${lineOf(error)}); lower --context, --parallel or --gpu-layers, use --kv-cache q8_0, or take a smaller quantisation`,
    );
  };
  const loading = llama.loadModel({
    modelPath: file.path,
    gpuLayers: settings.gpuLayers,
    defaultContextFlashAttention: flashAttention,
    onLoadProgress: (loaded) => onProgress?.('loading', loaded),
    loadSignal: signal,
  });
  const model = await loading.catch(
    refuse((why) => {
      const { architecture } = file.insights.ggufFileInfo.metadata.general;
      const reason = file.insights.isSupportedByLlamaCpp
        ? ` (${why}); download it again, or use another file of the model`
        : `: this release does not know the architecture "${architecture}"; use another model`;
      return badData(`llama.cpp cannot load ${file.path}${reason}`);
    }),
  );
  try {
    const cacheType = settings.kvCache === 'q8_0' ? 'Q8_0' : 'F16';
    const context = await model.createContext({
      sequences: slots,
      contextSize,
      batchSize: Math.max(settings.batchSize, LARGEST_REPLY_DEMAND * slots),
      flashAttention,
      threads: { ideal: threads, min: threads },
      experimentalKvCacheKeyType: cacheType,
      experimentalKvCacheValueType: cacheType,
      // Retrying with smaller and smaller contexts takes long, and a context other than the requested one does not help.
      failedCreationRemedy: false,
    });
    return { runtime, jinja, llama, model, context };
  } catch (error) {
    await model.dispose();
    return refuse((why) => unavailable(`llama.cpp cannot serve the model with these settings (${why})`))(error);
  }
}

export async function unload({ context, model }: Loaded): Promise<void> {
  await context.dispose();
  await model.dispose();
}

/** Most tokens that a reply needs in one step: the end of thinking and its blank line. */
const LARGEST_REPLY_DEMAND = 4;

/** Compute threads: as set; else cores less one (ggml's spinning threads starve Node's own on the last core), at least two if one computes wrongly. */
function threadsOf(threads: number | undefined, slots: number): number {
  return threads ?? Math.max(needsTwoThreads(slots) ? 2 : 1, availableParallelism() - 1);
}

/** Everything that scores depend on; `/v1/models` reports it and manifests record it. */
export type ModelFacts = Readonly<ReturnType<typeof describe>>;

/** @param sha256 of the file, in hex */
export function describe({ runtime, llama, model, context }: Loaded, settings: EngineSettings, sha256: string) {
  const { file_type: fileType, architecture } = model.fileInfo.metadata.general;
  const typeName = fileType === undefined ? 'unknown' : (runtime.GgufFileType[fileType] ?? String(fileType));
  return {
    /** The name under which the model is served. */
    name: settings.name,
    file: basename(settings.file.path),
    sha256,
    bytes: settings.file.parts.reduce((sum, { bytes }) => sum + bytes, 0),
    architecture: String(architecture),
    /** For example Q4_K_M; `general.file_type` if the file names none. */
    quantization: typeName.replace(/^(?:MOSTLY|ALL)_/, ''),
    /** For example v0.5.0. */
    llamaCpp: llama.llamaCppRelease.release,
    kvCache: settings.kvCache,
    flashAttention: settings.flashAttention,
    /** Tokens per slot. */
    contextSize: context.contextSize,
    slots: settings.slots,
    gpu: String(llama.gpu || 'off'),
    gpuLayers: model.gpuLayers,
    threads: threadsOf(settings.threads, settings.slots),
    batchSize: context.batchSize,
  };
}
