// What serving a model takes of GPU and host memory, in bytes, and whether that is free.

import type { LayerShape, ModelShape } from './model-shape.js';

export type CacheType = 'f16' | 'q8_0';

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

/** Bytes in one kind of memory. */
interface MemoryUse {
  readonly weights: number;
  readonly cache: number;
  readonly state: number;
  /** An estimate: logits, activations and the attention mask of a batch. */
  readonly compute: number;
  /** Saved recurrent states: always in host memory. */
  readonly checkpoints: number;
  readonly total: number;
}

export interface Costs {
  readonly gpu: MemoryUse;
  readonly host: MemoryUse;
}

/** Left free for the driver, and for what else runs: half a GiB, and less where there is little. */
const MOST_RESERVE_BYTES = 2 ** 29;
const RESERVE_SHARE = 0.05;
/** Rows of the residual stream's width that a batch's activations take: measured against node-llama-cpp's estimates for this architecture. */
const ACTIVATION_ROWS = 12;

/** Bytes of a value in the cache; q8_0 has a scale of 2 bytes for each 32. */
const CACHE_VALUE_BYTES: Readonly<Record<CacheType, number>> = { f16: 2, q8_0: 34 / 32 };

/** Weights are where their layers are; the embeddings and the checkpoints are always in host memory. */
export function costsOf(shape: ModelShape, settings: PlanSettings): Costs {
  const { slots, contextSize, kvCache, gpuLayers, checkpointBytes } = settings;
  const onHost = Math.max(0, shape.layers.length + 1 - gpuLayers);
  const isOutputOnGpu = gpuLayers > 0;
  const use = (
    layers: readonly LayerShape[],
    other: { readonly weights: number; readonly compute: number; readonly checkpoints: number },
  ) => {
    const weights = sum(layers, ({ weightBytes }) => weightBytes) + other.weights;
    const cache = sum(layers, ({ cachedValues }) => cachedValues) * CACHE_VALUE_BYTES[kvCache] * contextSize * slots;
    const state = sum(layers, ({ stateBytes }) => stateBytes) * slots;
    const { compute, checkpoints } = other;
    return { weights, cache, state, compute, checkpoints, total: weights + cache + state + compute + checkpoints };
  };
  const compute = computeBytes(shape, settings);
  const hasHostLayers = onHost > 0;
  return {
    gpu: use(shape.layers.slice(onHost), {
      weights: isOutputOnGpu ? shape.outputBytes : 0,
      compute: isOutputOnGpu ? compute : 0,
      checkpoints: 0,
    }),
    host: use(shape.layers.slice(0, onHost), {
      weights: shape.inputBytes + (isOutputOnGpu ? 0 : shape.outputBytes),
      // With layers in both memories, both compute.
      compute: hasHostLayers ? compute : 0,
      checkpoints: checkpointBytes,
    }),
  };
}

function computeBytes({ vocabulary, embedding, heads }: ModelShape, settings: PlanSettings): number {
  const { batchSize, contextSize, flashAttention } = settings;
  const logits = batchSize * vocabulary * 4;
  const activations = batchSize * embedding * ACTIVATION_ROWS * 4;
  // The mask in F32 and F16; without flash attention the scores of every head stand beside it.
  const attention = batchSize * contextSize * (6 + (flashAttention ? 0 : heads * 4));
  return logits + activations + attention;
}

/** Whether the costs leave a reserve of what is free. */
export function fits({ gpu, host }: Costs, free: FreeMemory): boolean {
  if (free.shared) return gpu.total + host.total <= usable(free.hostBytes) && gpu.total <= usable(free.gpuBytes);
  return gpu.total <= usable(free.gpuBytes) && host.total <= usable(free.hostBytes);
}

function usable(bytes: number): number {
  return bytes - Math.min(MOST_RESERVE_BYTES, bytes * RESERVE_SHARE);
}

/** Bytes of the cache for one more token in one slot. */
export function cacheBytesPerToken(shape: ModelShape, kvCache: CacheType): number {
  return sum(shape.layers, ({ cachedValues }) => cachedValues) * CACHE_VALUE_BYTES[kvCache];
}

/** Bytes of a slot's recurrent state, and so of a checkpoint. */
export function checkpointSize(shape: ModelShape): number {
  return sum(shape.layers, ({ stateBytes }) => stateBytes);
}

function sum<T>(list: readonly T[], of: (item: T) => number): number {
  return list.reduce((total, item) => total + of(item), 0);
}
