// node-llama-cpp behind the engine contract: loading a GGUF file, and generating on its slots in steps that all slots share.

import { createHash } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { open, stat } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { availableParallelism } from 'node:os';
import { basename } from 'node:path';
import type * as LlamaCpp from 'node-llama-cpp';
import { EXIT, UserError } from '../errors.js';
import {
  type Engine,
  EngineError,
  type EngineMessage,
  type GenerateEvent,
  type GenerateOptions,
  type ModelFacts,
} from './engine-contract.js';
import { grammarSchema, SchemaError } from './json-schema.js';
import { BLOCKS, type FreeMemory, type GgufMetadata, type GgufTensor } from './plan.js';
import { type ReplyReader, type ReplyTokens, readReply } from './reply-reader.js';
import { addCheckpoint, chooseSlot, type MessageMarks, type Prompt, planPrompt, shareBatch } from './slots.js';

/** The release that is tested; `npm i` lines name it. */
const RUNTIME_VERSION = '3.21.1';

export interface EngineSettings {
  /** A GGUF file, or the first part of one that is split. */
  readonly modelPath: string;
  /** The name under which the model is served. */
  readonly name: string;
  readonly gpu: 'auto' | 'cuda' | 'vulkan' | 'metal' | 'off';
  /** Layers on the GPU; absent: as many as fit. */
  readonly gpuLayers?: number;
  /** Tokens per slot; absent: as many as fit, up to what the model was trained on. */
  readonly contextSize?: number;
  /** Slots: requests served at the same time. */
  readonly parallel: number;
  readonly kvCache: 'f16' | 'q8_0';
  readonly flashAttention: boolean;
  /** Absent: cores less one, since ggml's waiting threads starve Node's own on the last core. */
  readonly threads?: number;
  /** Host memory in bytes for checkpoints of recurrent state, all slots together; 0 keeps none. */
  readonly checkpointBytes: number;
  /** Tokens per evaluation, all slots together. Default 512. */
  readonly batchSize?: number;
  /** Evaluate every prompt from its start. */
  readonly noReuse?: boolean;
  /** Told of every batch before it is evaluated: how many tokens each slot has in it, in the order in which they stand there. */
  readonly onBatch?: (batch: readonly { readonly slot: number; readonly tokens: number }[]) => void;
  /** Told how far loading is, 0 to 1. */
  readonly onProgress?: (loaded: number) => void;
}

const DEFAULT_BATCH = 512;

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
  const hashing = hashFiles(files, stopHashing.signal);
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

/** What a plan of memory is made from, before anything is loaded. Throws UserError as `openEngine` does for files and the runtime. */
export async function inspectModel(
  modelPath: string,
  gpu: EngineSettings['gpu'],
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

/** Whether node-llama-cpp is installed. */
export function hasRuntime(): boolean {
  try {
    createRequire(import.meta.url).resolve('node-llama-cpp');
    return true;
  } catch {
    return false;
  }
}

// ---- the file

interface ModelFile {
  readonly path: string;
  readonly bytes: number;
}

/** The file, or all parts of a split one, each at least begun like a GGUF file: known before gigabytes are read. */
async function checkFiles(path: string): Promise<ModelFile[]> {
  const files = await Promise.all(
    partsOf(path).map(async (part) => {
      const found = await stat(part).catch(() => undefined);
      if (!found?.isFile()) throw new UserError(`${part}: no such file; name a GGUF file`, EXIT.inputMissing);
      return { path: part, bytes: found.size };
    }),
  );
  for (const file of files) await requireMagic(file.path);
  return files;
}

/** llama.cpp names parts `…-00001-of-00003.gguf`. */
function partsOf(path: string): string[] {
  const match = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/.exec(path);
  if (match === null) return [path];
  return Array.from(
    { length: Number(match[3]) },
    (_, index) => `${match[1]}-${String(index + 1).padStart(5, '0')}-of-${match[3]}.gguf`,
  );
}

async function requireMagic(path: string): Promise<void> {
  const file = await open(path);
  try {
    const { buffer, bytesRead } = await file.read(Buffer.alloc(4), 0, 4, 0);
    if (bytesRead < 4 || buffer.toString('latin1') !== 'GGUF') {
      throw new UserError(
        `${path} is not a GGUF file; download a GGUF file of the model, or convert it with llama.cpp`,
        EXIT.badData,
      );
    }
  } finally {
    await file.close();
  }
}

/** Whether the file is as long as its own table of contents says; the library reads zeros behind a file's end. */
async function requireWhole(runtime: Runtime, { path, bytes }: ModelFile): Promise<void> {
  const damaged = (why: string) =>
    new UserError(`${path} is cut off or damaged (${why}); download it again`, EXIT.badData);
  let info: LlamaCpp.GgufFileInfo;
  try {
    info = await runtime.readGgufFileInfo(path, {
      sourceType: 'filesystem',
      spliceSplitFiles: false,
      logWarnings: false,
    });
  } catch (error) {
    throw damaged(lineOf(error));
  }
  const ends = (info.tensorInfo ?? []).map(({ fileOffset, dimensions, ggmlType }) => {
    // Of an encoding that is not in the table the size is not checked.
    const [values, size] = BLOCKS[ggmlType] ?? [1, 0];
    return (
      Number(fileOffset) + (dimensions.reduce<number>((product, width) => product * Number(width), 1) / values) * size
    );
  });
  const needed = ends.reduce((most, end) => Math.max(most, end), info.infoEndOffset ?? 0);
  if (needed > bytes) throw damaged(`it holds ${bytes} of at least ${needed} bytes`);
}

/** SHA-256 in hex of the file, or of the parts one after the other. */
async function hashFiles(files: readonly ModelFile[], signal: AbortSignal): Promise<string> {
  const hash = createHash('sha256');
  for (const file of files) {
    for await (const chunk of createReadStream(file.path, { highWaterMark: 1 << 22, signal })) hash.update(chunk);
  }
  return hash.digest('hex');
}

// ---- the runtime

type Runtime = typeof LlamaCpp;
type Token = LlamaCpp.Token;

/** What is used of `@huggingface/jinja`, which implements chat templates as Transformers does. */
interface Jinja {
  readonly Template: new (source: string) => { render(context: Record<string, unknown>): string };
}

/** The optional peer, and the template library it depends on (so that the two agree, wherever npm put them). */
async function importRuntime(): Promise<{ runtime: Runtime; jinja: Jinja }> {
  try {
    const runtime: Runtime = await import('node-llama-cpp');
    const own = createRequire(import.meta.url);
    const jinja: Jinja = createRequire(own.resolve('node-llama-cpp'))('@huggingface/jinja');
    return { runtime, jinja };
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_MODULE_NOT_FOUND') throw error;
    throw new UserError(
      `serving a model needs node-llama-cpp, which is not installed; ${installationHint(process.platform, process.arch)}`,
      EXIT.unavailable,
    );
  }
}

const PLATFORM: Readonly<Record<string, string>> = { linux: 'linux', darwin: 'mac', win32: 'win' };

/** How to add the runtime on a platform (as Node names it), by what it computes on; each binary package stands for itself. */
export function installationHint(platform: string, arch: string): string {
  const base = `${PLATFORM[platform] ?? platform}-${arch}`;
  const packages: Readonly<Record<string, string>> =
    base === 'mac-arm64'
      ? { Metal: `${base}-metal` }
      : base === 'linux-x64' || base === 'win-x64'
        ? { CPU: base, CUDA: `${base}-cuda`, Vulkan: `${base}-vulkan` }
        : { CPU: base };
  const lines = Object.entries(packages).map(
    ([kind, name]) =>
      `for ${kind}: npm i --omit=optional node-llama-cpp@${RUNTIME_VERSION} @node-llama-cpp/${name}@${RUNTIME_VERSION}`,
  );
  return `add it ${lines.join('; or ')}`;
}

interface Instance {
  readonly llama: LlamaCpp.Llama;
  /** What llama.cpp said of errors, newest last. */
  readonly log: string[];
}

interface Loaded {
  readonly runtime: Runtime;
  readonly llama: LlamaCpp.Llama;
  readonly model: LlamaCpp.LlamaModel;
  readonly context: LlamaCpp.LlamaContext;
}

async function load(runtime: Runtime, settings: EngineSettings): Promise<Loaded> {
  const { llama, log } = await startLlama(runtime, settings.gpu);
  log.length = 0;
  const model = await loadModel(runtime, llama, settings, log);
  try {
    return { runtime, llama, model, context: await createContext(model, settings) };
  } catch (error) {
    await model.dispose();
    throw error;
  }
}

async function unload({ context, model }: Loaded): Promise<void> {
  await context.dispose();
  await model.dispose();
}

/** One for the whole process: making a second unhooks the first one's logger, and llama.cpp then writes its errors to stdout. */
const instances = new Map<EngineSettings['gpu'], Promise<Instance>>();
const MOST_LOG_LINES = 50;

function startLlama(runtime: Runtime, gpu: EngineSettings['gpu']): Promise<Instance> {
  const started = instances.get(gpu) ?? makeLlama(runtime, gpu);
  instances.set(gpu, started);
  started.catch(() => instances.delete(gpu));
  return started;
}

/** Never builds from source: that takes minutes and tens of thousands of lines of output, silently by default. */
async function makeLlama(runtime: Runtime, gpu: EngineSettings['gpu']): Promise<Instance> {
  const wanted = gpu === 'off' ? false : gpu;
  const hint = installationHint(process.platform, process.arch);
  const missing = (why: string) =>
    new UserError(
      `node-llama-cpp has no working binary for ${wanted || 'this machine'} (${why}); check the driver, use --gpu off, or ${hint}`,
      EXIT.unavailable,
    );
  const log: string[] = [];
  let llama: LlamaCpp.Llama;
  try {
    llama = await runtime.getLlama({
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
  } catch (error) {
    throw missing(lineOf(error));
  }
  if (wanted !== 'auto' && llama.gpu !== wanted) throw missing('it is not supported on this platform');
  return { llama, log };
}

function threadsOf(settings: Pick<EngineSettings, 'threads'>): number {
  return settings.threads ?? Math.max(1, availableParallelism() - 1);
}

async function loadModel(
  runtime: Runtime,
  llama: LlamaCpp.Llama,
  settings: EngineSettings,
  log: readonly string[],
): Promise<LlamaCpp.LlamaModel> {
  const { gpuLayers, contextSize, onProgress } = settings;
  const { metadata } = await runtime.readGgufFileInfo(settings.modelPath, {
    sourceType: 'filesystem',
    readTensorInfo: false,
    logWarnings: false,
  });
  const { architecture } = metadata.general;
  const trained = Number(Reflect.get(metadata, architecture)?.context_length ?? Number.POSITIVE_INFINITY);
  if (contextSize !== undefined && contextSize > trained) {
    throw new UserError(
      `a context of ${contextSize} tokens is longer than the ${trained} that the model was trained on; lower --context`,
    );
  }
  try {
    return await llama.loadModel({
      modelPath: settings.modelPath,
      gpuLayers:
        gpuLayers ??
        (contextSize === undefined ? 'auto' : { fitContext: { contextSize: contextSize * settings.parallel } }),
      defaultContextFlashAttention: settings.flashAttention,
      ...(onProgress === undefined ? {} : { onLoadProgress: onProgress }),
    });
  } catch (error) {
    throw loadFailure(runtime, settings, architecture, error, log);
  }
}

/** One sentence with the remedy. */
function loadFailure(
  runtime: Runtime,
  settings: EngineSettings,
  architecture: string,
  error: unknown,
  log: readonly string[],
): UserError {
  if (isMemoryError(error) || log.some((line) => /out of memory|(?:failed|unable) to allocate/i.test(line)))
    return memoryFailure(error);
  // A const enum to the compiler, an object at run time.
  const known = Object.values<string>(Reflect.get(runtime as object, 'GgufArchitectureType'));
  const reason = known.includes(architecture)
    ? `(${oneLine(log[0] ?? lineOf(error))}); download it again, or use another file of the model`
    : `: this release does not know the architecture "${architecture}"; use a newer node-llama-cpp or another model`;
  return new UserError(`llama.cpp cannot load ${settings.modelPath} ${reason}`.replace(' :', ':'), EXIT.badData);
}

function isMemoryError(error: unknown): boolean {
  return error instanceof Error && /InsufficientMemory/.test(`${error.constructor.name} ${error.name}`);
}

function memoryFailure(error: unknown): UserError {
  return new UserError(
    `too little memory (${lineOf(error)}); lower --context, --parallel or --gpu-layers, use --kv-cache q8_0, or take a smaller quantisation`,
    EXIT.unavailable,
  );
}

function lineOf(error: unknown): string {
  return oneLine(error instanceof Error ? error.message : String(error));
}

function oneLine(text: string): string {
  return text.replace(/\s+/g, ' ').trim().slice(0, 300);
}

/** Smallest context worth having where the size is left to what fits. */
const LEAST_CONTEXT = 2048;

async function createContext(model: LlamaCpp.LlamaModel, settings: EngineSettings): Promise<LlamaCpp.LlamaContext> {
  const cacheType = settings.kvCache === 'q8_0' ? 'Q8_0' : 'F16';
  try {
    return await model.createContext({
      sequences: settings.parallel,
      contextSize: settings.contextSize ?? {
        min: Math.min(LEAST_CONTEXT, model.trainContextSize),
        max: model.trainContextSize,
      },
      batchSize: Math.max(settings.batchSize ?? DEFAULT_BATCH, LARGEST_REPLY_DEMAND * settings.parallel),
      flashAttention: settings.flashAttention,
      threads: { ideal: threadsOf(settings), min: threadsOf(settings) },
      experimentalKvCacheKeyType: cacheType,
      experimentalKvCacheValueType: cacheType,
      batching: { itemPrioritizationStrategy: inSlotOrder(settings.onBatch) },
      // Retrying with ever smaller contexts takes long, and another context than the one asked for is no help.
      failedCreationRemedy: false,
    });
  } catch (error) {
    throw memoryFailure(error);
  }
}

/** Tokens a reply can ask for in one step: the end of thinking and its blank line. */
const LARGEST_REPLY_DEMAND = 4;

/**
 * All of every slot's tokens, in ascending slot order: llama.cpp joins only sequences n, n + 1, n + 2 … in that order into one graph. The
 * library hands the slot on as a priority, which it does not read itself where a strategy is given.
 */
function inSlotOrder(onBatch: EngineSettings['onBatch']): LlamaCpp.CustomBatchingPrioritizationStrategy {
  return ({ items }) => {
    const ordered = [...items].sort((a, b) => a.evaluationPriority - b.evaluationPriority);
    onBatch?.(ordered.map((item) => ({ slot: item.evaluationPriority - 1, tokens: item.tokens.length })));
    return ordered.map((item) => ({ item, processAmount: item.tokens.length }));
  };
}

function describe(
  { runtime, llama, model, context }: Loaded,
  settings: EngineSettings,
  files: readonly ModelFile[],
): Omit<ModelFacts, 'sha256'> {
  const fileType = model.fileInfo.metadata.general.file_type;
  const typeName = fileType === undefined ? undefined : runtime.GgufFileType[fileType];
  return {
    name: settings.name,
    file: basename(settings.modelPath),
    bytes: files.reduce((sum, file) => sum + file.bytes, 0),
    architecture: model.fileInfo.metadata.general.architecture,
    quantization: typeName?.replace(/^(?:MOSTLY|ALL)_/, '') ?? (fileType === undefined ? 'unknown' : String(fileType)),
    llamaCpp: llama.llamaCppRelease.release,
    kvCache: settings.kvCache,
    flashAttention: settings.flashAttention,
    contextSize: context.contextSize,
    slots: settings.parallel,
    gpu: llama.gpu === false ? 'off' : llama.gpu,
    gpuLayers: model.gpuLayers,
    threads: threadsOf(settings),
    batchSize: context.batchSize,
  };
}

// ---- prompts

interface Templating {
  /** The text of a prompt, the generation prompt at its end included. Throws EngineError where the template refuses. */
  render(messages: readonly EngineMessage[], options: GenerateOptions): string;
  readonly marks: MessageMarks | undefined;
}

/** Stands for any message's text while the template is asked how it marks messages. */
const PROBE = 'Q7x';

function readTemplate({ model }: Loaded, { Template }: Jinja, path: string): Templating {
  const source = model.fileInfo.metadata.tokenizer?.chat_template;
  if (source === undefined)
    throw new UserError(`${path} has no chat template; use a file of an instruction-tuned model`, EXIT.badData);
  const template = parseTemplate(Template, source, path);
  const fixed = { bos_token: model.tokens.bosString ?? '', eos_token: model.tokens.eosString ?? '' };
  const render = (
    messages: readonly EngineMessage[],
    add_generation_prompt: boolean,
    extra: Readonly<Record<string, unknown>> = {},
  ): string => template.render({ ...extra, ...fixed, messages, add_generation_prompt });
  return {
    marks: findMarks(model, (add) => render([{ role: 'user', content: PROBE }], add)),
    render(messages, options) {
      try {
        return render(messages, true, options.templateArguments);
      } catch (error) {
        throw new EngineError({
          reason: 'invalid-request',
          message: `the model's chat template refuses the messages: ${lineOf(error)}`,
          param: 'messages',
        });
      }
    },
  };
}

function parseTemplate(Template: Jinja['Template'], source: string, path: string): InstanceType<Jinja['Template']> {
  try {
    return new Template(source);
  } catch (error) {
    throw new UserError(
      `the chat template of ${path} cannot be read (${lineOf(error)}); use another file of the model`,
      EXIT.badData,
    );
  }
}

/** Special tokens around messages, read off a rendered message; undefined where the template uses none. */
function findMarks(model: LlamaCpp.LlamaModel, render: (add: boolean) => string): MessageMarks | undefined {
  let [plain, prompting] = ['', ''];
  try {
    [plain, prompting] = [render(false), render(true)];
  } catch {
    // A template that wants more than a lone user message says nothing about its marks.
    return undefined;
  }
  const [openerId] = model.tokenize(prompting.slice(plain.length), true);
  const [closerId] = model.tokenize(plain.slice(plain.lastIndexOf(PROBE) + PROBE.length), true);
  if (!prompting.startsWith(plain) || !model.isSpecialToken(openerId) || !model.isSpecialToken(closerId))
    return undefined;
  const nameOf = (token: Token | undefined): string => (token === undefined ? '' : model.detokenize([token], true));
  return { opener: nameOf(openerId), openerId: openerId as number, closer: nameOf(closerId) };
}

// ---- generating

/** A request from its arrival to the end of its events. */
interface Request {
  readonly prompt: Prompt;
  readonly options: GenerateOptions;
  readonly reader: ReplyReader;
  readonly grammar: LlamaCpp.LlamaGrammarEvaluationState | undefined;
  readonly events: EventQueue;
  /** The reply's tokens, as they were evaluated. */
  readonly spoken: number[];
  /** Set when nobody waits for the reply any more. */
  left: boolean;
}

interface Slot {
  readonly slot: number;
  readonly sequence: LlamaCpp.LlamaContextSequence;
  prompt: Prompt | undefined;
  restorable: number[];
  lastUsed: number;
  work: Work | undefined;
}

/** A request in its slot. */
interface Work {
  readonly request: Request;
  readonly cachedTokens: number;
  /** Prompt tokens evaluated so far. */
  position: number;
  /** The library's generator; there once the whole prompt is evaluated. */
  reply: ReturnType<LlamaCpp.LlamaContextSequence['evaluate']> | undefined;
  /** What the next step evaluates in place of the sampled token. */
  insteadOf: readonly number[] | undefined;
  done: boolean;
}

function createEngine(loaded: Loaded, template: Templating, facts: ModelFacts, settings: EngineSettings): Engine {
  const { model, context } = loaded;
  const tokens = replyTokens(model);
  const memoryPerSlot = Math.floor(settings.checkpointBytes / settings.parallel);
  const slots = Array.from(
    { length: settings.parallel },
    (_, slot): Slot => ({
      slot,
      sequence: context.getSequence({
        contextShift: { strategy: refuseShift },
        checkpoints: {
          max: MOST_CHECKPOINTS,
          interval: false,
          maxMemory: memoryPerSlot,
        },
      }),
      prompt: undefined,
      restorable: [],
      lastUsed: 0,
      work: undefined,
    }),
  );
  const waiting: Request[] = [];
  let uses = 0;
  /** Bytes; known once one was taken. */
  let checkpointSize: number | undefined;
  let running: Promise<void> | undefined;
  let closed = false;

  /** Steps while there is work. */
  async function run(): Promise<void> {
    for (;;) {
      for (const slot of slots) if (slot.work !== undefined) await vacate(slot, slot.work);
      await admit();
      const working = slots.flatMap((slot) => (slot.work === undefined ? [] : [{ slot, work: slot.work }]));
      if (working.length === 0) return;
      const shares = shareBatch(
        working.map(({ work }) => demandOf(work)),
        facts.batchSize,
      );
      // The step barrier: the library's own queue does not keep sequences in step, and batches then run half empty.
      await Promise.all(working.map(({ slot, work }, index) => advance(slot, work, shares[index] as number)));
    }
  }

  function wake(): void {
    running ??= run()
      .catch(failAll)
      .finally(() => {
        running = undefined;
        if (waiting.length > 0) wake();
      });
  }

  /** Should stepping itself fail, nobody waits for ever. */
  function failAll(error: unknown): void {
    for (const request of waiting.splice(0)) request.events.fail(error);
    for (const slot of slots) {
      slot.work?.request.events.fail(error);
      slot.work = undefined;
      forget(slot);
    }
  }

  async function vacate(slot: Slot, work: Work): Promise<void> {
    if (!work.done && !work.request.left) return;
    await work.reply?.return();
    slot.work = undefined;
  }

  async function admit(): Promise<void> {
    while (waiting.length > 0) {
      const request = waiting[0] as Request;
      if (request.left) {
        waiting.shift();
        continue;
      }
      const choice = chooseSlot(
        slots.filter(({ work }) => work === undefined),
        request.prompt,
      );
      if (choice === undefined) return;
      waiting.shift();
      await start(slots[choice.slot] as Slot, request, settings.noReuse ? 0 : choice.reuse);
    }
  }

  /** Brings the slot's sequence to the state that is reused. What the library really restored counts, should the two disagree. */
  async function start(slot: Slot, request: Request, reuse: number): Promise<void> {
    const { sequence } = slot;
    try {
      if (reuse === 0) await sequence.clearHistory();
      else await sequence.adaptStateToTokens(request.prompt.tokens.slice(0, reuse) as Token[], false);
    } catch (error) {
      forget(slot);
      request.events.fail(error);
      return;
    }
    const position = sequence.nextTokenIndex;
    slot.prompt = request.prompt;
    slot.restorable = slot.restorable.filter((at) => at <= position);
    uses += 1;
    slot.lastUsed = uses;
    slot.work = { request, cachedTokens: position, position, reply: undefined, insteadOf: undefined, done: false };
  }

  /** Nothing is reused of a slot in an unknown state. */
  function forget(slot: Slot): void {
    slot.prompt = undefined;
    slot.restorable = [];
  }

  /** One slot's part of a step. A failure ends its request alone. */
  async function advance(slot: Slot, work: Work, share: number): Promise<void> {
    if (share === 0) return;
    try {
      if (work.reply !== undefined) await step(slot, work);
      else if (work.position + share < work.request.prompt.tokens.length) await feed(slot, work, share);
      else await answer(slot, work);
    } catch (error) {
      work.done = true;
      forget(slot);
      work.request.events.fail(error);
    }
  }

  async function feed(slot: Slot, work: Work, share: number): Promise<void> {
    const { tokens: all, pauses, checkpoints } = work.request.prompt;
    const end = work.position + share;
    const chunk = all.slice(work.position, end) as Token[];
    await slot.sequence.evaluateWithoutGeneratingNewTokens(chunk, { evaluationPriority: priorityOf(slot) });
    work.position = end;
    if (!pauses.includes(end)) return;
    if (!slot.sequence.needsCheckpoints)
      slot.restorable = addCheckpoint(slot.restorable, end, Number.POSITIVE_INFINITY);
    else if (checkpoints.includes(end)) await keepState(slot, end);
  }

  /** The library drops the oldest checkpoints when its memory is full; all of a sequence are of one size. */
  async function keepState(slot: Slot, position: number): Promise<void> {
    const { sequence } = slot;
    if (settings.noReuse || (checkpointSize ?? 1) > memoryPerSlot) return;
    const before = sequence.checkpointsMemoryUsage;
    await sequence.takeCheckpoint();
    const after = sequence.checkpointsMemoryUsage;
    checkpointSize ??= after - before;
    const kept = checkpointSize > memoryPerSlot ? 0 : Math.round(after / checkpointSize);
    slot.restorable = addCheckpoint(slot.restorable, position, kept);
  }

  /** Evaluates the last of the prompt, which yields the reply's first token. */
  async function answer(slot: Slot, work: Work): Promise<void> {
    const { request } = work;
    const chunk = request.prompt.tokens.slice(work.position) as Token[];
    work.reply = slot.sequence.evaluate(chunk, {
      ...sampling(request, facts.contextSize),
      evaluationPriority: priorityOf(slot),
      yieldEogToken: true,
    });
    work.position = request.prompt.tokens.length;
    await step(slot, work);
  }

  async function step(slot: Slot, work: Work): Promise<void> {
    const { reader, events, spoken } = work.request;
    const next = await work.reply?.next(work.insteadOf as Token[] | undefined);
    work.insteadOf = undefined;
    if (next === undefined || next.done) throw new Error('llama.cpp gave no token');
    const taken = reader.take(next.value);
    for (const text of taken.texts) events.push({ type: 'text', ...text });
    work.insteadOf = taken.insteadOf;
    spoken.push(...(taken.insteadOf ?? [next.value]));
    const room = facts.contextSize - 1 - slot.sequence.nextTokenIndex;
    const full = taken.finish === undefined && room < (taken.insteadOf?.length ?? 1);
    if (full) for (const text of reader.rest()) events.push({ type: 'text', ...text });
    const finishReason = taken.finish ?? (full ? 'length' : undefined);
    if (finishReason !== undefined) finish(work, finishReason);
  }

  function finish(work: Work, finishReason: 'stop' | 'length'): void {
    const { reader, events, prompt } = work.request;
    work.done = true;
    events.push({
      type: 'end',
      finishReason,
      usage: {
        promptTokens: prompt.tokens.length,
        cachedTokens: work.cachedTokens,
        completionTokens: reader.completionTokens,
        reasoningTokens: reader.reasoningTokens,
      },
    });
    events.close();
  }

  async function prepare(messages: readonly EngineMessage[], options: GenerateOptions): Promise<Request> {
    refusePenaltyMix(options);
    const text = template.render(messages, options);
    const tokenize = (part: string): readonly number[] => model.tokenize(part, true);
    const all = tokenize(text);
    // One position stays free, since the library shifts the context when the last is taken; and a reply needs room for a token.
    if (all.length > facts.contextSize - 1) {
      throw new EngineError({ reason: 'context-overflow', promptTokens: all.length, contextSize: facts.contextSize });
    }
    const grammar = await grammarOf(loaded, options);
    return {
      prompt: planPrompt(text, all, template.marks, tokenize),
      options,
      reader: readReply(tokens, {
        thinking: tokens.closeThinking !== undefined && text.trimEnd().endsWith(THINK),
        thinkingBudget: options.thinkingBudget,
        maxTokens: options.maxTokens ?? Number.POSITIVE_INFINITY,
        stop: options.responseFormat.type === 'json_schema' ? [...options.stop, SCHEMA_END] : options.stop,
        blankLineAfterThinking: grammar !== undefined,
      }),
      grammar,
      events: eventQueue(),
      spoken: [],
      left: false,
    };
  }

  return {
    facts,
    async *generate(messages, options, signal) {
      if (closed || signal.aborted) return;
      const request = await prepare(messages, options);
      const leave = (): void => {
        request.left = true;
        request.events.close();
      };
      signal.addEventListener('abort', leave, { once: true });
      try {
        if (signal.aborted) return;
        waiting.push(request);
        wake();
        yield* request.events.read();
      } finally {
        signal.removeEventListener('abort', leave);
        leave();
        // Frees the slot where the reader left early and no other work would.
        wake();
      }
    },
    get busy() {
      return slots.filter(({ work }) => work !== undefined && !work.done && !work.request.left).length;
    },
    async close() {
      closed = true;
      for (const request of [...waiting, ...slots.flatMap(({ work }) => work?.request ?? [])]) {
        request.left = true;
        request.events.close();
      }
      while (running !== undefined) await running;
      await unload(loaded);
    },
  };
}

/** More than any memory budget allows. */
const MOST_CHECKPOINTS = 4096;
const THINK = '<think>';
const END_OF_THINK = '</think>';
/** The grammar maker ends a schema's text with these; they are cut off like a stop string. */
const SCHEMA_END = '\n\n\n\n';

/** Nothing may ever be shifted out of a context; lengths are checked before, so that this is never called. */
function refuseShift(): never {
  throw new Error('the context is full');
}

function priorityOf({ slot }: Slot): LlamaCpp.EvaluationPriority {
  return (slot + 1) as LlamaCpp.EvaluationPriority;
}

function demandOf({ request, position, reply, insteadOf }: Work): { tokens: number; replying: boolean } {
  if (reply !== undefined) return { tokens: insteadOf?.length ?? 1, replying: true };
  const { tokens, pauses } = request.prompt;
  return { tokens: (pauses.find((pause) => pause > position) ?? tokens.length) - position, replying: false };
}

function replyTokens(model: LlamaCpp.LlamaModel): ReplyTokens {
  const single = (text: string): number | undefined => {
    const found = model.tokenize(text, true);
    return found.length === 1 ? found[0] : undefined;
  };
  return {
    isEnd: (token) => model.isEogToken(token as Token),
    textOf: (tokens, before) => model.detokenize(tokens as Token[], false, before as Token[]),
    openThinking: single(THINK),
    closeThinking: single(END_OF_THINK),
    blankLine: model.tokenize('\n\n', true),
  };
}

/** Seeds are 32 bits wide, and llama.cpp takes the largest as "any". */
function seedOf(seed: number): number {
  return (seed >>> 0) % 0xffff_ffff;
}

/** Every value the library knows: its defaults are not those of the wire format. */
function sampling(
  { options, grammar, reader, prompt, spoken }: Request,
  contextSize: number,
): LlamaCpp.SequenceEvaluateOptions {
  const { repetitionPenalty, presencePenalty, frequencyPenalty } = options;
  const penalized = repetitionPenalty !== 1 || presencePenalty !== 0 || frequencyPenalty !== 0;
  return {
    temperature: options.temperature,
    topK: options.topK,
    topP: options.topP,
    minP: options.minP,
    seed: seedOf(options.seed),
    ...(grammar === undefined ? {} : { grammarEvaluationState: () => (reader.inThinking ? undefined : grammar) }),
    ...(penalized
      ? {
          repeatPenalty: {
            punishTokens: () => [...(repetitionPenalty === 1 ? [] : prompt.tokens), ...spoken] as Token[],
            maxPunishTokens: contextSize,
            penalty: repetitionPenalty,
            presencePenalty,
            frequencyPenalty,
          },
        }
      : {}),
  };
}

/** Presence and frequency count the reply's tokens, repetition the prompt's too; llama.cpp keeps one count for all three. */
function refusePenaltyMix({ repetitionPenalty, presencePenalty, frequencyPenalty }: GenerateOptions): void {
  if (repetitionPenalty === 1 || (presencePenalty === 0 && frequencyPenalty === 0)) return;
  throw new EngineError({
    reason: 'invalid-request',
    message:
      'repetition_penalty cannot be combined with presence_penalty or frequency_penalty here; set it to 1 or the others to 0',
    param: 'repetition_penalty',
  });
}

async function grammarOf(
  { runtime, llama, model }: Loaded,
  { responseFormat }: GenerateOptions,
): Promise<LlamaCpp.LlamaGrammarEvaluationState | undefined> {
  if (responseFormat.type === 'text') return undefined;
  try {
    const grammar =
      responseFormat.type === 'json_object'
        ? await llama.getGrammarFor('json')
        : await llama.createGrammarForJsonSchema(grammarSchema(responseFormat.schema) as { readonly type: 'object' });
    return new runtime.LlamaGrammarEvaluationState({ model, grammar });
  } catch (error) {
    if (!(error instanceof SchemaError) && responseFormat.type === 'json_object') throw error;
    throw new EngineError({ reason: 'invalid-request', message: lineOf(error), param: 'response_format' });
  }
}

/** Events from the steps to the one who reads them. */
interface EventQueue {
  push(event: GenerateEvent): void;
  fail(error: unknown): void;
  /** What was pushed before is still read. */
  close(): void;
  read(): AsyncGenerator<GenerateEvent, void, void>;
}

function eventQueue(): EventQueue {
  const events: GenerateEvent[] = [];
  let failure: { readonly error: unknown } | undefined;
  let ended = false;
  let notify: () => void = () => undefined;
  const end = (): void => {
    ended = true;
    notify();
  };
  return {
    push(event) {
      events.push(event);
      notify();
    },
    fail(error) {
      failure = { error };
      end();
    },
    close: end,
    async *read() {
      for (;;) {
        yield* events.splice(0);
        if (failure !== undefined) throw failure.error;
        if (ended && events.length === 0) return;
        if (events.length === 0) {
          await new Promise<void>((resolve) => {
            notify = resolve;
          });
        }
      }
    },
  };
}
