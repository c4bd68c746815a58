// node-llama-cpp behind the engine contract: opening a GGUF file, and taking requests for its slots.

import type { Engine, GenerateEvent, ModelFacts } from './engine-contract.js';
import { hashFiles } from './file-hash.js';
import { checkFiles, type ModelFile, requireWhole } from './gguf-file.js';
import { describe, type EngineSettings, type Loaded, load, unload } from './load.js';
import type { FreeMemory, GgufMetadata, GgufTensor } from './plan.js';
import { preparing } from './prepare.js';
import type { Request } from './request.js';
import { type Gpu, importRuntime, startLlama } from './runtime.js';
import { Scheduler } from './scheduler.js';
import { scoredReply } from './scored-reply.js';
import { LlamaSlot } from './slot.js';
import { readTemplate, type Templating } from './template.js';

/**
 * Loads a model. Throws UserError where it cannot be served: the runtime or its GPU library is missing (69), the file is missing (66), no
 * GGUF or cut off or of an unknown architecture (65), or memory does not suffice (69).
 *
 * Scores depend on how llama.cpp samples: logit biases of penalties first, then top-k, top-p, min-p, and temperature last (vLLM and SGLang
 * apply temperature first, so that at another temperature than 1 top-p keeps other tokens). Quantised weights and caches move scores too:
 * the facts say which were used. Equal requests give equal replies with one slot; with several, which of them share a batch changes
 * floating-point sums.
 */
export async function openEngine(settings: EngineSettings): Promise<Engine> {
  const files = await checkFiles(settings.modelPath);
  const { runtime, jinja } = await importRuntime();
  for (const file of files) await requireWhole(runtime, file);
  const stopHashing = new AbortController();
  const ends = AbortSignal.any([stopHashing.signal, ...(settings.signal === undefined ? [] : [settings.signal])]);
  const hashing = hashOf(files, settings, ends);
  hashing.catch(() => undefined);
  let loaded: Loaded | undefined;
  try {
    loaded = await load(runtime, settings);
    const template = readTemplate(loaded, jinja, settings.modelPath);
    const facts: ModelFacts = { ...describe(loaded, settings, files), sha256: await hashing };
    return createEngine(loaded, template, facts, settings);
  } catch (error) {
    stopHashing.abort();
    if (loaded !== undefined) await unload(loaded);
    throw error;
  }
}

function hashOf(files: readonly ModelFile[], settings: EngineSettings, signal: AbortSignal): Promise<string> {
  const { sha256, cacheDirectory, onProgress } = settings;
  if (sha256 !== undefined) return Promise.resolve(sha256);
  return hashFiles(
    files.map(({ path }) => path),
    { directory: cacheDirectory, signal, onProgress: (read) => onProgress?.('hashing', read) },
  );
}

/** What a plan of memory is made from, before anything is loaded. Throws UserError as `openEngine` does for files and the runtime. */
export async function inspectModel(
  modelPath: string,
  gpu: Gpu,
): Promise<{ metadata: GgufMetadata; tensors: readonly GgufTensor[]; free: FreeMemory }> {
  const files = await checkFiles(modelPath);
  const { runtime } = await importRuntime();
  for (const file of files) await requireWhole(runtime, file);
  const info = await runtime.readGgufFileInfo(modelPath, { sourceType: 'filesystem', logWarnings: false });
  const { llama } = await startLlama(runtime, gpu);
  const host = await llama.getRamState();
  const device = llama.gpu === false ? { free: 0, unifiedSize: 0 } : await llama.getVramState();
  return {
    metadata: info.metadata,
    tensors: info.fullTensorInfo ?? info.tensorInfo ?? [],
    free: { gpuBytes: device.free, hostBytes: host.free, shared: device.unifiedSize > 0 },
  };
}

/** Generates nothing and scores nothing. */
const NO_SCORES = { reply: false, top: 0 };

function createEngine(loaded: Loaded, template: Templating, facts: ModelFacts, settings: EngineSettings): Engine {
  const checkpointBytes = Math.floor(settings.checkpointBytes / settings.parallel);
  const slots = Array.from({ length: settings.parallel }, (_, slot) => new LlamaSlot(loaded, slot, checkpointBytes));
  const scheduler = new Scheduler(slots, { batchSize: facts.batchSize, reuse: !settings.noReuse });
  const prepare = preparing(loaded, template, facts);
  const open = new Set<Request>();
  let closed = false;

  async function* run(request: Request, signal: AbortSignal): AsyncGenerator<GenerateEvent, void, void> {
    if (closed || signal.aborted) return;
    const leave = (): void => {
      open.delete(request);
      request.events.close();
      scheduler.withdraw(request);
    };
    signal.addEventListener('abort', leave, { once: true });
    open.add(request);
    try {
      scheduler.submit(request);
      yield* request.events.read();
    } finally {
      signal.removeEventListener('abort', leave);
      leave();
    }
  }

  return {
    facts,
    tokenize: prepare.tokenize,
    detokenize: prepare.detokenize,
    async *generate(prompt, options, signal) {
      if (closed || signal.aborted) return;
      const request = await prepare.request(prompt, options);
      const scores = options.scores ?? (options.maxTokens === 0 ? NO_SCORES : undefined);
      if (scores === undefined) yield* run(request, signal);
      else {
        const scoring = (tokens: readonly number[], from: number) => prepare.scoring(tokens, from, request);
        yield* scoredReply(request, scores, (part) => run(part, signal), scoring);
      }
    },
    get busy() {
      return scheduler.busy;
    },
    async close() {
      closed = true;
      for (const { events } of open) events.close();
      await scheduler.close();
      await unload(loaded);
    },
  };
}
