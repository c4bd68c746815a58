// node-llama-cpp behind the engine contract: opening a GGUF file, and taking requests for its slots.

import type { Engine, GenerateEvent, ModelFacts } from './engine-contract.js';
import { Preparation, type Request } from './engine-request.js';
import { hashFiles } from './file-hash.js';
import { innerCalls } from './inner-calls.js';
import { describe, type EngineSettings, type Loaded, load, unload } from './load.js';
import { PromptTokens, readTemplate, type Templating } from './prompt.js';
import { importRuntime } from './runtime.js';
import { Scheduler } from './scheduler.js';
import { scoredReply } from './scored-reply.js';
import { Slot } from './slot.js';

/**
 * Loads a model. Throws UserError where it cannot be served: the runtime or its GPU library is missing (69), the file is of an unknown
 * architecture (65), or memory does not suffice (69).
 *
 * Scores depend on how llama.cpp samples: logit biases of penalties first, then top-k, top-p, min-p, and temperature last (vLLM and SGLang
 * apply temperature first, so that at another temperature than 1 top-p keeps other tokens). Quantised weights and caches move scores too:
 * the facts say which were used. Equal requests give equal replies with one slot; with several, which of them share a batch changes
 * floating-point sums.
 */
export async function openEngine(settings: EngineSettings): Promise<Engine> {
  const { runtime, jinja } = await importRuntime();
  const stopHashing = new AbortController();
  const ends = AbortSignal.any([stopHashing.signal, ...(settings.signal === undefined ? [] : [settings.signal])]);
  const hashing = hashOf(settings, ends);
  hashing.catch(() => undefined);
  let loaded: Loaded | undefined;
  try {
    loaded = await load(runtime, settings);
    const template = readTemplate(loaded, jinja, settings.file.path);
    const facts: ModelFacts = { ...describe(loaded, settings), sha256: await hashing };
    return createEngine(loaded, createSlots(loaded, settings), template, facts);
  } catch (error) {
    stopHashing.abort();
    if (loaded !== undefined) await unload(loaded);
    throw error;
  }
}

function hashOf({ file, ...settings }: EngineSettings, signal: AbortSignal): Promise<string> {
  const { sha256, cacheDirectory, onProgress } = settings;
  if (sha256 !== undefined) return Promise.resolve(sha256);
  return hashFiles(
    file.parts.map(({ path }) => path),
    { directory: cacheDirectory, signal, onProgress: (read) => onProgress?.('hashing', read) },
  );
}

/** Generates nothing and scores nothing. */
const NO_SCORES = { reply: false, top: 0 };

/** Roughly: of a prompt, evaluated in the time of a reply's step, which reads all weights however few tokens it has. */
const TOKENS_PER_STEP = { cpu: 7, gpu: 32 };

function createSlots(loaded: Loaded, { parallel, checkpointBytes }: EngineSettings): Slot[] {
  const calls = innerCalls(loaded.llama, loaded.model, loaded.context);
  const each = Math.floor(checkpointBytes / parallel);
  return Array.from({ length: parallel }, () => new Slot(loaded, calls, each));
}

function createEngine(loaded: Loaded, slots: readonly Slot[], template: Templating, facts: ModelFacts): Engine {
  const scheduler = new Scheduler(slots, {
    batchSize: facts.batchSize,
    tokensPerStep: facts.gpu === 'off' ? TOKENS_PER_STEP.cpu : TOKENS_PER_STEP.gpu,
  });
  const prompts = new PromptTokens(loaded.model, template, facts.contextSize);
  const prepare = new Preparation(loaded, prompts, template.marks, facts);
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
    tokenize: async (prompt, options) => (await prompts.of(prompt, options)).tokens,
    detokenize: (tokens) => prompts.textOf(tokens),
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
