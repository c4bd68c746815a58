// A model's GGUF file before it is loaded: its parts, whether it is complete, its SHA-256. Also the memory that serving it needs, by
// node-llama-cpp's estimates: settings that fit, with their costs, or the refusal.

import { createHash } from 'node:crypto';
import { createReadStream, readFileSync } from 'node:fs';
import { readFile, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { badData, inputMissing, UserError, unavailable } from '../core/errors.js';
import { sum } from '../core/groups.js';
import { counted, grouped } from '../core/printable.js';
import { makeFolders, replaceFile } from '../disk/files.js';
import { type Gpu, type LlamaCpp, lineOf, startLlama } from './inner-calls.js';

type CacheType = 'f16' | 'q8_0';

export interface PlanSettings {
  /** Tokens for each slot. */
  readonly contextSize: number;
  readonly slots: number;
  readonly kvCache: CacheType;
  /** As llama.cpp counts: from the last layer backwards, with the output as the very last; so at most one more than the model has. */
  readonly gpuLayers: number;
  readonly checkpointBytes: number;
  readonly batchSize: number;
  readonly flashAttention: boolean;
}

export interface FreeMemory {
  /** 0 without a GPU. */
  readonly gpuBytes: number;
  readonly hostBytes: number;
  /** The GPU works in the host's memory, as on Apple's machines. */
  readonly shared?: boolean;
}

/** Bytes on the GPU and on the host. */
interface MemoryUse {
  readonly gpu: number;
  readonly host: number;
}

/** Tokens; a shorter context is useless. */
const LEAST_CONTEXT = 4_096;

/** Memory that serving a model needs. */
export type ModelMemory = ReturnType<typeof modelMemory>;

/** Uses node-llama-cpp's estimates of weights and of f16 contexts; its estimates for q8_0 count a block of 32 values for each value. */
export function modelMemory(insights: LlamaCpp.GgufInsights) {
  const { architectureMetadata, metadata } = insights.ggufFileInfo;
  const { attention, embedding_length: embedding = 0 } = architectureMetadata;
  const context = (modelGpuLayers: number, contextSize: number, sequences: number): MemoryUse => {
    const asked = { modelGpuLayers, contextSize, sequences, batchSize: LEAST_CONTEXT, flashAttention: true };
    const { gpuVram, cpuRam } = insights.estimateContextResourceRequirements({ ...asked, includeGraphOverhead: false });
    return { gpu: gpuVram, host: cpuRam };
  };
  const splitAt = (gpuLayers: number) => {
    const { gpuVram, cpuRam } = insights.estimateModelResourceRequirements({ gpuLayers });
    const empty = context(gpuLayers, 0, 1);
    const filled = context(gpuLayers, LEAST_CONTEXT, 1);
    const two = context(gpuLayers, 0, 2);
    return {
      /** Weights are where their layers are; the embeddings are always on the host. */
      weights: { gpu: gpuVram, host: cpuRam },
      /** The f16 cache, per token of a slot. */
      token: { gpu: (filled.gpu - empty.gpu) / LEAST_CONTEXT, host: (filled.host - empty.host) / LEAST_CONTEXT },
      /** Recurrent state per slot, which is also the size of a checkpoint. */
      state: { gpu: two.gpu - empty.gpu, host: two.host - empty.host },
    };
  };
  const splits = new Map<number, ReturnType<typeof splitAt>>();
  return {
    /** Includes the output. */
    layers: insights.totalLayers,
    trainedContext: insights.trainContextSize ?? LEAST_CONTEXT,
    embedding,
    vocabulary: metadata.tokenizer?.ggml?.tokens?.length ?? 0,
    heads: Math.max(0, ...[attention?.head_count ?? 0].flat()),
    /** How memory is split with this many layers on the GPU. */
    split(gpuLayers: number) {
      const split = splits.get(gpuLayers) ?? splitAt(gpuLayers);
      splits.set(gpuLayers, split);
      return split;
    },
  };
}

/** Activations of a batch, in rows of the residual stream's width: measured against node-llama-cpp's estimates for this architecture. */
const ACTIVATION_ROWS = 12;
/** Relative to an f16 cache; q8_0 has a 2-byte scale for every 32 values. */
const CACHE_SHARE: Readonly<Record<CacheType, number>> = { f16: 1, q8_0: 34 / 64 };

/** Memory that the settings need, part by part. */
export function costsOf(memory: ModelMemory, settings: PlanSettings) {
  const { slots, contextSize, kvCache, gpuLayers, checkpointBytes, batchSize, flashAttention } = settings;
  const { weights, token, state } = memory.split(gpuLayers);
  // An estimate: logits, activations and the attention mask of a batch, in F32 and F16; without flash attention also every head's scores.
  const attention = contextSize * (6 + (flashAttention ? 0 : memory.heads * 4));
  const compute = batchSize * (memory.vocabulary * 4 + memory.embedding * ACTIVATION_ROWS * 4 + attention);
  const times = ({ gpu, host }: MemoryUse, factor: number) => ({ gpu: gpu * factor, host: host * factor });
  const costs = {
    weights,
    cache: times(token, CACHE_SHARE[kvCache] * contextSize * slots),
    state: times(state, slots),
    // If both memories have layers, both compute.
    compute: { gpu: gpuLayers > 0 ? compute : 0, host: gpuLayers < memory.layers ? compute : 0 },
    // Saved recurrent states are always on the host.
    checkpoints: { gpu: 0, host: checkpointBytes },
  };
  const uses = Object.values(costs);
  return { ...costs, total: { gpu: sum(uses, ({ gpu }) => gpu), host: sum(uses, ({ host }) => host) } };
}

/** Left free for the driver and other programs: half a GiB, or less if there is little. */
const MOST_RESERVE_BYTES = 2 ** 29;
const RESERVE_SHARE = 0.05;

/** Whether the use fits in free memory and leaves the reserve. */
function fits({ gpu, host }: MemoryUse, free: FreeMemory): boolean {
  const usable = (bytes: number) => bytes - Math.min(MOST_RESERVE_BYTES, bytes * RESERVE_SHARE);
  return gpu <= usable(free.gpuBytes) && host + (free.shared ? gpu : 0) <= usable(free.hostBytes);
}

/** The user's wishes; `most` is as much as fits, `auto` the finest cache that fits. */
export interface PlanWishes extends Omit<PlanSettings, 'contextSize' | 'gpuLayers' | 'kvCache'> {
  readonly contextSize: number | 'most';
  readonly gpuLayers: number | 'most';
  readonly kvCache: CacheType | 'auto';
}

/** Below this, some of the benchmark's prompts are refused, with a note; a q8_0 cache is preferred to that. */
const SHORT_CONTEXT = 32_768;
/** Below this, layers leave the GPU for a longer context. */
const CRAMPED_CONTEXT = 8_192;
/** llama.cpp rounds contexts up to this. */
const CONTEXT_STEP = 256;

/**
 * Finds settings that fit. Open settings are given up in this order, since layers on the host cost most: first, all layers go on the GPU,
 * with the longest context that leaves them there; if that is shorter than `SHORT_CONTEXT`, the cache becomes q8_0 (which needs flash
 * attention); then the context shrinks further, down to `CRAMPED_CONTEXT`; only then do layers stay on the host, as few as possible.
 * Explicit settings never change; undefined if they do not fit.
 */
export function planMemory(memory: ModelMemory, wishes: PlanWishes, free: FreeMemory): PlanSettings | undefined {
  for (const { least, most, ...plan } of plansFor(memory, wishes, free)) {
    const isRoomy = (contextSize: number) => fits(costsOf(memory, { ...plan, contextSize }).total, free);
    if (!isRoomy(least)) continue;
    let contextSize = most;
    while (!isRoomy(contextSize)) {
      contextSize = Math.max(least, Math.floor((contextSize - 1) / CONTEXT_STEP) * CONTEXT_STEP);
    }
    return { ...plan, contextSize };
  }
  return undefined;
}

/** All layers and the output if there is a GPU, else none. */
function allLayers(memory: ModelMemory, free: FreeMemory): number {
  return free.gpuBytes > 0 ? memory.layers : 0;
}

/** Candidate settings, best first, each with a context of `least` to `most` tokens. */
function plansFor(memory: ModelMemory, wishes: PlanWishes, free: FreeMemory) {
  const isOpen = wishes.contextSize === 'most';
  const most = wishes.contextSize === 'most' ? memory.trainedContext : wishes.contextSize;
  const short = isOpen ? Math.min(SHORT_CONTEXT, most) : most;
  const all = allLayers(memory, free);
  const layers =
    wishes.gpuLayers === 'most' ? Array.from({ length: all + 1 }, (_, onHost) => all - onHost) : [wishes.gpuLayers];
  const open: CacheType[] = wishes.flashAttention ? ['f16', 'q8_0'] : ['f16'];
  const caches = wishes.kvCache === 'auto' ? open : [wishes.kvCache];
  const [onGpu, coarsest] = [layers.slice(0, 1), caches.slice(-1)];
  const steps = [
    { layers: onGpu, caches, least: short, most },
    { layers: onGpu, caches: coarsest, least: Math.min(CRAMPED_CONTEXT, short), most: short },
    { layers, caches, least: short, most },
    { layers, caches: coarsest, least: Math.min(LEAST_CONTEXT, short), most: short },
  ];
  return steps
    .filter(({ least }) => isOpen || least === most)
    .flatMap(({ layers: counts, caches: kvCaches, ...range }) =>
      kvCaches.flatMap((kvCache) => counts.map((gpuLayers) => ({ ...wishes, kvCache, gpuLayers, ...range }))),
    );
}

/** Throws a UserError (2) for flags that exclude each other; call it before anything is downloaded. */
export function requirePossible({ kvCache, flashAttention, slots }: PlanWishes, threads: number | undefined): void {
  if (kvCache === 'q8_0' && !flashAttention) {
    throw new UserError('--kv-cache q8_0 needs flash attention; leave out --no-flash-attention, or use --kv-cache f16');
  }
  if (threads === 1 && needsTwoThreads(slots)) {
    throw new UserError(
      `with one thread and several slots llama.cpp gives wrong answers on this processor (AMX); use --threads 2, or --parallel 1`,
    );
  }
}

/**
 * Whether one thread would give wrong answers on this processor: llama.cpp's AMX code returns NaN for batches of several slots when a single
 * thread computes them (v0.4.0, seen with Q8_0 weights; not with two threads or without AMX). Only its Linux binaries have that code.
 */
export function needsTwoThreads(slots: number): boolean {
  if (slots === 1 || process.platform !== 'linux') return false;
  try {
    return /^flags\s*:.*\bamx_int8\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'));
  } catch {
    return false;
  }
}

/**
 * Reports through `say` what the model needs, what is free and what was given up.
 * Throws a UserError if the model does not fit (69), if layers should go on a GPU that is missing (2), or if the runtime or its binary
 * is missing (69).
 */
export async function settingsThatFit(
  file: ModelFile,
  gpu: Gpu,
  wishes: PlanWishes,
  say: (text: string) => void,
): Promise<PlanSettings> {
  const { llama } = await startLlama(gpu);
  const host = await llama.getRamState();
  const device = llama.gpu === false ? { free: 0, unifiedSize: 0 } : await llama.getVramState();
  const free = { gpuBytes: device.free, hostBytes: host.free, shared: device.unifiedSize > 0 };
  if (free.gpuBytes === 0 && wishes.gpuLayers !== 'most' && wishes.gpuLayers > 0) {
    throw new UserError(`--gpu-layers ${wishes.gpuLayers}: there is no GPU to put layers on; check --gpu`);
  }
  const memory = modelMemory(file.insights);
  const settings = planMemory(memory, wishes, free);
  if (settings === undefined) throw unavailable(refusalText(memory, wishes, free));
  say(planText(memory, settings, free));
  const traded = tradesText(memory, wishes, settings, free);
  if (traded !== undefined) say(traded);
  return settings;
}

const GIB = 2 ** 30;

/** The plan as a block of lines: memory used and free, on the GPU and on the host. */
export function planText(memory: ModelMemory, settings: PlanSettings, free: FreeMemory): string {
  const { contextSize, slots, kvCache, gpuLayers, batchSize } = settings;
  const { weights, cache, state, compute, checkpoints, total } = costsOf(memory, settings);
  const hasGpu = free.gpuBytes > 0;
  const tokens = `${counted(slots, 'slot')} of ${grouped(contextSize)} tokens`;
  const rows: (readonly [string, MemoryUse, string])[] = [
    ['weights', weights, hasGpu ? `${gpuLayers} of ${memory.layers} layers on the GPU` : ''],
    ['cache', cache, `${tokens}, ${kvCache}, ${sizeText((cache.gpu + cache.host) / slots / contextSize)} per token`],
    ['recurrent state', state, `${sizeText((state.gpu + state.host) / slots)} per slot`],
    ['compute', compute, `batches of ${batchSize}, estimated`],
    ['checkpoints', checkpoints, 'of the recurrent state, at most'],
    ['total', total, ''],
    ['free', { gpu: free.gpuBytes, host: free.hostBytes }, free.shared ? 'the GPU works in host memory' : ''],
  ];
  const shown = rows.filter(([name, use]) => name === 'total' || name === 'free' || use.gpu + use.host > 0);
  const lines = shown.map(([name, { gpu, host }, note]) => {
    const onGpu = hasGpu ? `  GPU ${sizeText(gpu).padStart(9)}` : '';
    return `${name.padEnd(15)}${onGpu}  host ${sizeText(host).padStart(9)}  ${note}`.trimEnd();
  });
  return lines.join('\n');
}

/** What the settings gave up for memory, with the flags; undefined if nothing. */
export function tradesText(
  memory: ModelMemory,
  wishes: PlanWishes,
  { contextSize, kvCache, gpuLayers }: PlanSettings,
  free: FreeMemory,
): string | undefined {
  const { trainedContext } = memory;
  const onHost = allLayers(memory, free) - gpuLayers;
  const given = [
    wishes.contextSize === 'most' && contextSize < trainedContext
      ? [`the context has ${grouped(contextSize)} of ${grouped(trainedContext)} tokens (--context)`]
      : [],
    wishes.kvCache === 'auto' && kvCache !== 'f16' ? [`the cache is ${kvCache} (--kv-cache)`] : [],
    wishes.gpuLayers === 'most' && onHost > 0 ? [`${onHost} layers stay on the host (--gpu-layers)`] : [],
  ].flat();
  if (given.length === 0) return undefined;
  return `to fit in memory, ${given.join(', ')}; lower --parallel or use a smaller file of the model to get more`;
}

/** The least memory it needs and what to change, as one sentence. */
export function refusalText(memory: ModelMemory, wishes: PlanWishes, free: FreeMemory): string {
  const { total } = costsOf(memory, {
    ...wishes,
    contextSize: wishes.contextSize === 'most' ? Math.min(LEAST_CONTEXT, memory.trainedContext) : wishes.contextSize,
    gpuLayers: wishes.gpuLayers === 'most' ? allLayers(memory, free) : wishes.gpuLayers,
    kvCache: wishes.kvCache === 'auto' ? 'f16' : wishes.kvCache,
  });
  const onGpu = `${sizeText(total.gpu)} of GPU memory (${sizeText(free.gpuBytes)} free) and `;
  const onHost = `${sizeText(total.host)} of host memory (${sizeText(free.hostBytes)} free)`;
  return `the model needs ${free.gpuBytes > 0 ? onGpu : ''}${onHost}; leave out --context, --gpu-layers and --kv-cache, lower --parallel or --checkpoint-memory, or take a smaller quantisation`;
}

function sizeText(bytes: number): string {
  if (bytes === 0) return '-';
  if (bytes >= GIB) return `${(bytes / GIB).toFixed(1)} GiB`;
  return bytes >= 2 ** 20 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / 2 ** 10).toFixed(1)} KiB`;
}

// A model's GGUF file before it is loaded: its parts, whether it is complete, its metadata and its SHA-256.

/** A model's file, or all parts of a split one; the path is that of the first part. */
export type ModelFile = Awaited<ReturnType<typeof readModelFile>>;

/**
 * Reads the header of a model's file, and checks that the file contains everything it lists, before reading gigabytes.
 * Throws a UserError: the file or a part is missing (66), is not GGUF, truncated or damaged (65), or the runtime or its binary for `gpu` is missing (69).
 */
export async function readModelFile(path: string, gpu: Gpu) {
  const parts = await partsOf(path);
  const { runtime, llama } = await startLlama(gpu);
  const damaged = (why: string) => badData(`${path} is truncated or damaged (${why}); download it again`);
  try {
    const info = await runtime.readGgufFileInfo(path, { sourceType: 'filesystem', logWarnings: false });
    const insights = await runtime.GgufInsights.from(info, llama);
    // A lower bound: padding between tensors and the headers of further parts come on top. The library reads zeros past a file's end.
    const needed = (info.infoEndOffset ?? 0) + insights.estimateModelResourceRequirements({ gpuLayers: 0 }).cpuRam;
    const bytes = parts.reduce((sum, part) => sum + part.bytes, 0);
    if (needed > bytes) throw damaged(`it has ${bytes} of at least ${needed} bytes`);
    return { path, parts, insights };
  } catch (error) {
    if (error instanceof UserError) throw error;
    if (error instanceof Error && error.constructor.name === 'InvalidGgufMagicError') {
      const remedy = 'download a GGUF file of the model, or convert it with llama.cpp';
      throw badData(`${path} is not a GGUF file; ${remedy}`);
    }
    throw damaged(lineOf(error));
  }
}

/** llama.cpp names parts `…-00001-of-00003.gguf`. */
async function partsOf(path: string) {
  const [, base, index, count = '00001'] = /^(.*)-(\d{5})-of-(\d{5})\.gguf$/.exec(path) ?? [];
  if (index !== undefined && Number(index) !== 1) {
    throw new UserError(`${path} is part ${Number(index)} of a split model; name its first part`);
  }
  const parts = Array.from({ length: Number(count) }, async (_, at) => {
    const part = base === undefined ? path : `${base}-${String(at + 1).padStart(5, '0')}-of-${count}.gguf`;
    const found = await stat(part).catch(() => undefined);
    if (found?.isFile()) return { path: part, bytes: found.size };
    throw inputMissing(`${part}: no such file; name a GGUF file with all its parts`);
  });
  return Promise.all(parts);
}

const CHUNK_BYTES = 2 ** 22;
/** Smaller files are hashed too quickly to be worth caching. */
const LEAST_REMEMBERED_BYTES = 2 ** 26;

/**
 * SHA-256 in hex of a file, or of several files concatenated. Cached between starts, since reading 22 GB takes minutes: files with
 * unchanged path, size and times are not read again. Rejects if a file cannot be read, and with the signal's reason.
 * @param directory of cached hashes; created if missing. Absent: no cache.
 * @param onProgress called with the share of the files read, 0 to 1; not called if the hash was cached
 */
export async function hashFiles(
  paths: readonly string[],
  signal: AbortSignal,
  directory?: string,
  onProgress?: (read: number) => void,
): Promise<string> {
  const before = await Promise.all(paths.map(stateOf));
  const total = before.reduce((sum, { size }) => sum + Number(size), 0);
  const name = createHash('sha256').update(JSON.stringify(before)).digest('hex').slice(0, 32);
  const isWorthIt = directory !== undefined && total >= LEAST_REMEMBERED_BYTES;
  const record = isWorthIt ? join(directory, 'hashes', name) : undefined;
  const known = record && (await readFile(record, 'utf8').catch(() => ''));
  if (known && /^[0-9a-f]{64}$/.test(known)) return known;
  const hash = createHash('sha256');
  let read = 0;
  for (const path of paths) {
    const chunks: AsyncIterable<Buffer> = createReadStream(path, { highWaterMark: CHUNK_BYTES, signal });
    for await (const chunk of chunks) {
      hash.update(chunk);
      read += chunk.length;
      onProgress?.(total === 0 ? 1 : Math.min(1, read / total));
    }
  }
  const digest = hash.digest('hex');
  const after = await Promise.all(paths.map(stateOf));
  if (record !== undefined && JSON.stringify(after) === JSON.stringify(before)) {
    const kept = makeFolders(dirname(record)).then(() => replaceFile(record, [digest], { remedy: '' }));
    // A folder that is not writable only costs time at the next start.
    await kept.catch(() => undefined);
  }
  return digest;
}

/** A file's current state. Times in nanoseconds; only the system sets the last one, at every change. */
async function stateOf(path: string) {
  const real = await realpath(path);
  const { size, mtimeNs, ctimeNs } = await stat(real, { bigint: true });
  return { path: real, size: String(size), modified: String(mtimeNs), changed: String(ctimeNs) };
}
