// Which settings of a model fit into the memory that is free: arithmetic, before anything is loaded.

import { type CacheType, type Costs, costsOf, type FreeMemory, fits, type PlanSettings } from './memory-costs.js';
import { LEAST_CONTEXT, type ModelShape } from './model-shape.js';

/** What the user asked for; `most` is as much as fits, `auto` the finest cache that does. */
export interface PlanWishes extends Omit<PlanSettings, 'contextSize' | 'gpuLayers' | 'kvCache'> {
  readonly contextSize: number | 'most';
  readonly gpuLayers: number | 'most';
  readonly kvCache: CacheType | 'auto';
}

export type MemoryPlan =
  | { readonly status: 'fits'; readonly settings: PlanSettings; readonly costs: Costs }
  | {
      readonly status: 'too-large';
      readonly asked: PlanSettings;
      readonly costs: Costs;
      /** Absent where the weights alone are too large. */
      readonly nearest?: PlanSettings;
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
export function planMemory(shape: ModelShape, wishes: PlanWishes, free: FreeMemory): MemoryPlan {
  const found = fitting(shape, wishes, free);
  if (found !== undefined) return { status: 'fits', settings: found, costs: costsOf(shape, found) };
  const asked: PlanSettings = {
    ...wishes,
    contextSize: wishes.contextSize === 'most' ? leastContext(shape) : wishes.contextSize,
    gpuLayers: wishes.gpuLayers === 'most' ? allLayers(shape, free) : wishes.gpuLayers,
    kvCache: wishes.kvCache === 'auto' ? 'f16' : wishes.kvCache,
  };
  const nearest = nearestPlan(shape, wishes, free);
  return { status: 'too-large', asked, costs: costsOf(shape, asked), ...(nearest !== undefined && { nearest }) };
}

/** All layers and the output where there is a GPU, else none. */
export function allLayers(shape: ModelShape, free: FreeMemory): number {
  return free.gpuBytes > 0 ? shape.layers.length + 1 : 0;
}

function leastContext({ trainedContext }: ModelShape): number {
  return Math.min(LEAST_CONTEXT, trainedContext);
}

function wantedContext({ trainedContext }: ModelShape): number {
  return Math.min(WANTED_CONTEXT, trainedContext);
}

function cachesOf({ kvCache, flashAttention }: PlanWishes): readonly [finest: CacheType, ...coarser: CacheType[]] {
  if (kvCache !== 'auto') return [kvCache];
  return flashAttention ? ['f16', 'q8_0'] : ['f16'];
}

/** Wishes of which the cache is decided. */
type CachedWishes = PlanWishes & { readonly kvCache: CacheType };

function fitting(shape: ModelShape, wishes: PlanWishes, free: FreeMemory): PlanSettings | undefined {
  const gpuLayers = wishes.gpuLayers === 'most' ? allLayers(shape, free) : wishes.gpuLayers;
  const cached = (kvCache: CacheType): CachedWishes => ({ ...wishes, kvCache });
  const [finest, coarser = finest] = cachesOf(wishes);
  const caches = cachesOf(wishes).map(cached);
  const coarsest = cached(coarser);
  const { contextSize } = wishes;
  const short = contextSize === 'most' ? Math.min(SHORT_CONTEXT, shape.trainedContext) : contextSize;
  const most = contextSize === 'most' ? shape.trainedContext : contextSize;
  const cramped = Math.min(CRAMPED_CONTEXT, short);
  return (
    firstOf(caches, (cached) => mostContext(shape, { ...cached, gpuLayers }, free, short, most)) ??
    (contextSize === 'most' ? mostContext(shape, { ...coarsest, gpuLayers }, free, cramped, short) : undefined) ??
    firstOf(caches, (cached) => splitting(shape, cached, free, short, most)) ??
    (contextSize === 'most' ? mostContext(shape, coarsest, free, leastContext(shape), short) : undefined)
  );
}

/** With layers on the host: as few as `short` tokens leave there, and as many tokens as leave it at that. */
function splitting(
  shape: ModelShape,
  wishes: CachedWishes,
  free: FreeMemory,
  short: number,
  most: number,
): PlanSettings | undefined {
  const split = withLayers(shape, { ...wishes, contextSize: short }, free);
  return split && mostContext(shape, { ...wishes, gpuLayers: split.gpuLayers }, free, short, most);
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
  shape: ModelShape,
  wishes: CachedWishes & { readonly contextSize: number },
  free: FreeMemory,
): PlanSettings | undefined {
  const [from, to] = wishes.gpuLayers === 'most' ? [allLayers(shape, free), 0] : [wishes.gpuLayers, wishes.gpuLayers];
  for (let gpuLayers = from; gpuLayers >= to; gpuLayers--) {
    const settings = { ...wishes, gpuLayers };
    if (fits(costsOf(shape, settings), free)) return settings;
  }
  return undefined;
}

/** The largest context of `least` to `most` that fits. What fits with a context fits with every smaller one. */
function mostContext(
  shape: ModelShape,
  wishes: CachedWishes,
  free: FreeMemory,
  least: number,
  most: number,
): PlanSettings | undefined {
  const at = (contextSize: number) => withLayers(shape, { ...wishes, contextSize }, free);
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

function nearestPlan(shape: ModelShape, wishes: PlanWishes, free: FreeMemory): PlanSettings | undefined {
  const most = wishes.contextSize === 'most' ? shape.trainedContext : wishes.contextSize;
  const wanted = Math.min(most, wantedContext(shape));
  const slots = Array.from({ length: wishes.slots }, (_, fewer) => wishes.slots - fewer);
  const caches = cachesOf(wishes.kvCache === 'f16' ? { ...wishes, kvCache: 'auto' } : wishes);
  const layers: PlanWishes['gpuLayers'][] = wishes.gpuLayers === 'most' ? ['most'] : [wishes.gpuLayers, 'most'];
  for (const gpuLayers of layers) {
    for (const kvCache of caches) {
      const changed = { ...wishes, gpuLayers, kvCache };
      for (const count of slots) {
        const found = mostContext(shape, { ...changed, slots: count }, free, wanted, most);
        if (found !== undefined) return found;
      }
      const found = mostContext(shape, { ...changed, slots: 1 }, free, Math.min(leastContext(shape), most), wanted);
      if (found !== undefined) return found;
    }
  }
  const bare = { ...wishes, checkpointBytes: 0 };
  return wishes.checkpointBytes > 0 ? nearestPlan(shape, bare, free) : undefined;
}

/** The most slots below those asked for that leave no short context. */
export function fewerSlots(
  shape: ModelShape,
  wishes: PlanWishes,
  asked: number,
  free: FreeMemory,
): PlanSettings | undefined {
  const counts = Array.from({ length: asked - 1 }, (_, fewer) => asked - 1 - fewer);
  return firstOf(counts, (slots) => {
    const found = fitting(shape, { ...wishes, slots }, free);
    return found !== undefined && found.contextSize >= SHORT_CONTEXT ? found : undefined;
  });
}
