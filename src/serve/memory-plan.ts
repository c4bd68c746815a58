// Which settings of a model fit into the memory that is free, by node-llama-cpp's estimates, before anything is loaded.

import type { LlamaCpp } from './runtime.js';

type CacheType = 'f16' | 'q8_0';

export interface PlanSettings {
  /** Tokens for each slot. */
  readonly contextSize: number;
  readonly slots: number;
  readonly kvCache: CacheType;
  /** As llama.cpp counts: the last ones of all layers, the output the very last; so at most one more than the model has. */
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
export interface MemoryUse {
  readonly gpu: number;
  readonly host: number;
}

/** Tokens: a shorter context is no use. */
const LEAST_CONTEXT = 4_096;

/** What serving a model takes of memory. */
export type ModelMemory = ReturnType<typeof modelMemory>;

/** By node-llama-cpp's estimates of weights, and of contexts in f16: those in q8_0 take a block of 32 values for each value. */
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
      /** Of the cache in f16, for each token of a slot. */
      token: { gpu: (filled.gpu - empty.gpu) / LEAST_CONTEXT, host: (filled.host - empty.host) / LEAST_CONTEXT },
      /** Of recurrent state for each slot, and so of a checkpoint. */
      state: { gpu: two.gpu - empty.gpu, host: two.host - empty.host },
    };
  };
  const splits = new Map<number, ReturnType<typeof splitAt>>();
  return {
    /** The output is one of them. */
    layers: insights.totalLayers,
    trainedContext: insights.trainContextSize ?? LEAST_CONTEXT,
    embedding,
    vocabulary: metadata.tokenizer?.ggml?.tokens?.length ?? 0,
    heads: Math.max(0, ...[attention?.head_count ?? 0].flat()),
    /** Where the memory lies with so many layers on the GPU. */
    split(gpuLayers: number) {
      const split = splits.get(gpuLayers) ?? splitAt(gpuLayers);
      splits.set(gpuLayers, split);
      return split;
    },
  };
}

/** Rows of the residual stream's width that a batch's activations take: measured against node-llama-cpp's estimates for this architecture. */
const ACTIVATION_ROWS = 12;
/** Of the cache in f16; q8_0 has a scale of 2 bytes for each 32 values. */
const CACHE_SHARE: Readonly<Record<CacheType, number>> = { f16: 1, q8_0: 34 / 64 };

/** What the settings take, part by part. */
export function costsOf(memory: ModelMemory, settings: PlanSettings) {
  const { slots, contextSize, kvCache, gpuLayers, checkpointBytes } = settings;
  const { weights, token, state } = memory.split(gpuLayers);
  const compute = computeBytes(memory, settings);
  const costs = {
    weights,
    cache: times(token, CACHE_SHARE[kvCache] * contextSize * slots),
    state: times(state, slots),
    // With layers in both memories, both compute.
    compute: { gpu: gpuLayers > 0 ? compute : 0, host: gpuLayers < memory.layers ? compute : 0 },
    // Saved recurrent states are always on the host.
    checkpoints: { gpu: 0, host: checkpointBytes },
  };
  const sum = (of: keyof MemoryUse) => Object.values(costs).reduce((total, use) => total + use[of], 0);
  return { ...costs, total: { gpu: sum('gpu'), host: sum('host') } };
}

function times({ gpu, host }: MemoryUse, factor: number): MemoryUse {
  return { gpu: gpu * factor, host: host * factor };
}

/** An estimate: logits, activations and the attention mask of a batch. */
function computeBytes({ vocabulary, embedding, heads }: ModelMemory, settings: PlanSettings): number {
  const { batchSize, contextSize, flashAttention } = settings;
  const logits = batchSize * vocabulary * 4;
  const activations = batchSize * embedding * ACTIVATION_ROWS * 4;
  // The mask in F32 and F16; without flash attention the scores of every head stand beside it.
  const attention = batchSize * contextSize * (6 + (flashAttention ? 0 : heads * 4));
  return logits + activations + attention;
}

/** Left free for the driver, and for what else runs: half a GiB, and less where there is little. */
const MOST_RESERVE_BYTES = 2 ** 29;
const RESERVE_SHARE = 0.05;

/** Whether it leaves a reserve of what is free. */
function fits({ gpu, host }: MemoryUse, free: FreeMemory): boolean {
  if (free.shared) return gpu + host <= usable(free.hostBytes) && gpu <= usable(free.gpuBytes);
  return gpu <= usable(free.gpuBytes) && host <= usable(free.hostBytes);
}

function usable(bytes: number): number {
  return bytes - Math.min(MOST_RESERVE_BYTES, bytes * RESERVE_SHARE);
}

/** What the user asked for; `most` is as much as fits, `auto` the finest cache that does. */
export interface PlanWishes extends Omit<PlanSettings, 'contextSize' | 'gpuLayers' | 'kvCache'> {
  readonly contextSize: number | 'most';
  readonly gpuLayers: number | 'most';
  readonly kvCache: CacheType | 'auto';
}

export type MemoryPlan =
  | { readonly status: 'fits'; readonly settings: PlanSettings }
  | {
      readonly status: 'too-large';
      readonly asked: PlanSettings;
      readonly needs: MemoryUse;
      /** Undefined where the weights alone are too large. */
      readonly nearest: PlanSettings | undefined;
    };

/** A context that holds the longest prompts of the benchmark with room for thinking. */
const WANTED_CONTEXT = 131_072;
/** Below it some prompts of the benchmark are refused, which is said; a cache in q8_0 is preferred to that. */
export const SHORT_CONTEXT = 32_768;
/** Below it a GPU is given up for a longer context. */
const CRAMPED_CONTEXT = 8_192;
/** llama.cpp rounds contexts up to this. */
const CONTEXT_STEP = 256;

/**
 * Settings that fit. What is open is traded in this order, since layers on the host cost most: all layers are on the GPU, with the
 * longest context that leaves them there; where that is less than `SHORT_CONTEXT`, the cache is q8_0 (which needs flash attention);
 * then the context is shorter than that, down to `CRAMPED_CONTEXT`; and only then layers stay on the host, as few as may be.
 * What was asked for is never changed: where it does not fit, the nearest plan is named, found by first shortening the context to
 * `WANTED_CONTEXT`, then taking slots away, then shortening further, then caching in q8_0, then moving layers to the host where their
 * number was fixed, and last going without checkpoints.
 */
export function planMemory(memory: ModelMemory, wishes: PlanWishes, free: FreeMemory): MemoryPlan {
  const found = fitting(memory, wishes, free);
  if (found !== undefined) return { status: 'fits', settings: found };
  const asked: PlanSettings = {
    ...wishes,
    contextSize: wishes.contextSize === 'most' ? leastContext(memory) : wishes.contextSize,
    gpuLayers: wishes.gpuLayers === 'most' ? allLayers(memory, free) : wishes.gpuLayers,
    kvCache: wishes.kvCache === 'auto' ? 'f16' : wishes.kvCache,
  };
  const needs = costsOf(memory, asked).total;
  return { status: 'too-large', asked, needs, nearest: nearestPlan(memory, wishes, free) };
}

/** All layers and the output where there is a GPU, else none. */
export function allLayers(memory: ModelMemory, free: FreeMemory): number {
  return free.gpuBytes > 0 ? memory.layers : 0;
}

function leastContext({ trainedContext }: ModelMemory): number {
  return Math.min(LEAST_CONTEXT, trainedContext);
}

function wantedContext({ trainedContext }: ModelMemory): number {
  return Math.min(WANTED_CONTEXT, trainedContext);
}

function cachesOf({ kvCache, flashAttention }: PlanWishes): readonly [finest: CacheType, ...coarser: CacheType[]] {
  if (kvCache !== 'auto') return [kvCache];
  return flashAttention ? ['f16', 'q8_0'] : ['f16'];
}

/** Wishes of which the cache is decided. */
type CachedWishes = PlanWishes & { readonly kvCache: CacheType };

function fitting(memory: ModelMemory, wishes: PlanWishes, free: FreeMemory): PlanSettings | undefined {
  const gpuLayers = wishes.gpuLayers === 'most' ? allLayers(memory, free) : wishes.gpuLayers;
  const cached = (kvCache: CacheType): CachedWishes => ({ ...wishes, kvCache });
  const [finest, coarser = finest] = cachesOf(wishes);
  const caches = cachesOf(wishes).map(cached);
  const coarsest = cached(coarser);
  const { contextSize } = wishes;
  const short = contextSize === 'most' ? Math.min(SHORT_CONTEXT, memory.trainedContext) : contextSize;
  const most = contextSize === 'most' ? memory.trainedContext : contextSize;
  const cramped = Math.min(CRAMPED_CONTEXT, short);
  return (
    firstOf(caches, (cached) => mostContext(memory, { ...cached, gpuLayers }, free, short, most)) ??
    (contextSize === 'most' ? mostContext(memory, { ...coarsest, gpuLayers }, free, cramped, short) : undefined) ??
    firstOf(caches, (cached) => splitting(memory, cached, free, short, most)) ??
    (contextSize === 'most' ? mostContext(memory, coarsest, free, leastContext(memory), short) : undefined)
  );
}

/** With layers on the host: as few as `short` tokens leave there, and as many tokens as leave it at that. */
function splitting(
  memory: ModelMemory,
  wishes: CachedWishes,
  free: FreeMemory,
  short: number,
  most: number,
): PlanSettings | undefined {
  const split = withLayers(memory, { ...wishes, contextSize: short }, free);
  return split && mostContext(memory, { ...wishes, gpuLayers: split.gpuLayers }, free, short, most);
}

function firstOf<T, R>(items: readonly T[], of: (item: T) => R | undefined): R | undefined {
  for (const item of items) {
    const found = of(item);
    if (found !== undefined) return found;
  }
  return undefined;
}

/** With as many layers on the GPU as fit, where their number is open. */
function withLayers(
  memory: ModelMemory,
  wishes: CachedWishes & { readonly contextSize: number },
  free: FreeMemory,
): PlanSettings | undefined {
  const [from, to] = wishes.gpuLayers === 'most' ? [allLayers(memory, free), 0] : [wishes.gpuLayers, wishes.gpuLayers];
  for (let gpuLayers = from; gpuLayers >= to; gpuLayers--) {
    const settings = { ...wishes, gpuLayers };
    if (fits(costsOf(memory, settings).total, free)) return settings;
  }
  return undefined;
}

/** The largest context of `least` to `most` that fits. What fits with a context fits with every smaller one. */
function mostContext(
  memory: ModelMemory,
  wishes: CachedWishes,
  free: FreeMemory,
  least: number,
  most: number,
): PlanSettings | undefined {
  const at = (contextSize: number) => withLayers(memory, { ...wishes, contextSize }, free);
  const whole = at(most);
  if (whole !== undefined || least >= most) return whole;
  let [best, low, high] = [at(least), Math.ceil(least / CONTEXT_STEP), Math.floor(most / CONTEXT_STEP)];
  while (best !== undefined && low < high) {
    const middle = Math.ceil((low + high) / 2);
    const found = at(middle * CONTEXT_STEP);
    if (found === undefined) high = middle - 1;
    else [best, low] = [found, middle];
  }
  return best;
}

function nearestPlan(memory: ModelMemory, wishes: PlanWishes, free: FreeMemory): PlanSettings | undefined {
  const most = wishes.contextSize === 'most' ? memory.trainedContext : wishes.contextSize;
  const wanted = Math.min(most, wantedContext(memory));
  const slots = Array.from({ length: wishes.slots }, (_, fewer) => wishes.slots - fewer);
  const caches = cachesOf(wishes.kvCache === 'f16' ? { ...wishes, kvCache: 'auto' } : wishes);
  const layers: PlanWishes['gpuLayers'][] = wishes.gpuLayers === 'most' ? ['most'] : [wishes.gpuLayers, 'most'];
  for (const gpuLayers of layers) {
    for (const kvCache of caches) {
      const changed = { ...wishes, gpuLayers, kvCache };
      for (const count of slots) {
        const found = mostContext(memory, { ...changed, slots: count }, free, wanted, most);
        if (found !== undefined) return found;
      }
      const found = mostContext(memory, { ...changed, slots: 1 }, free, Math.min(leastContext(memory), most), wanted);
      if (found !== undefined) return found;
    }
  }
  const bare = { ...wishes, checkpointBytes: 0 };
  return wishes.checkpointBytes > 0 ? nearestPlan(memory, bare, free) : undefined;
}

/** The most slots below those asked for that leave no short context. */
export function fewerSlots(
  memory: ModelMemory,
  wishes: PlanWishes,
  asked: number,
  free: FreeMemory,
): PlanSettings | undefined {
  const counts = Array.from({ length: asked - 1 }, (_, fewer) => asked - 1 - fewer);
  return firstOf(counts, (slots) => {
    const found = fitting(memory, { ...wishes, slots }, free);
    return found !== undefined && found.contextSize >= SHORT_CONTEXT ? found : undefined;
  });
}
