// What serving a model takes of GPU and host memory, and which settings fit into what is free: arithmetic, before anything is loaded.

export type CacheType = 'f16' | 'q8_0';

/** What a GGUF file says of itself, as node-llama-cpp reads it (nested) or with dotted keys. */
export type GgufMetadata = Readonly<Record<string, unknown>>;
export interface GgufTensor {
  readonly name: string;
  readonly dimensions: readonly (number | bigint)[];
  readonly ggmlType: number;
}

/** What a model's memory depends on. Sizes in bytes. */
export interface ModelShape {
  readonly layers: readonly LayerShape[];
  /** Token embeddings: always in host memory. */
  readonly inputBytes: number;
  /** Counts as one more layer behind the last. */
  readonly outputBytes: number;
  readonly trainedContext: number;
  readonly embedding: number;
  readonly vocabulary: number;
  readonly heads: number;
}

interface LayerShape {
  readonly weightBytes: number;
  /** Values in the cache for each token: keys and values, 0 in a recurrent layer. */
  readonly cachedValues: number;
  /** State of a recurrent layer for each slot, of F32 whatever the cache is. */
  readonly stateBytes: number;
}

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

/** What the user asked for; `most` is as much as fits, `auto` the finest cache that does. */
export interface PlanWishes extends Omit<PlanSettings, 'contextSize' | 'gpuLayers' | 'kvCache'> {
  readonly contextSize: number | 'most';
  readonly gpuLayers: number | 'most';
  readonly kvCache: CacheType | 'auto';
}

export interface FreeMemory {
  /** 0 without a GPU. */
  readonly gpuBytes: number;
  readonly hostBytes: number;
  /** The GPU works in the host's memory, as on Apple's machines. */
  readonly shared?: boolean;
}

/** Bytes in one kind of memory. */
export interface MemoryUse {
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
/** Below it prompts of the benchmark are refused, which is said; and the cache is rather q8_0. */
const SHORT_CONTEXT = 32_768;
/** Below it a GPU is given up for a longer context. */
const CRAMPED_CONTEXT = 8_192;
/** Less is no use. */
const LEAST_CONTEXT = 4_096;
/** llama.cpp rounds contexts up to this. */
const CONTEXT_STEP = 256;
/** Left free for the driver, and for what else runs: half a GiB, and less where there is little. */
const MOST_RESERVE_BYTES = 2 ** 29;
const RESERVE_SHARE = 0.05;
/** Rows of the residual stream's width that a batch's activations take: measured against node-llama-cpp's estimates for this architecture. */
const ACTIVATION_ROWS = 12;
const GIB = 2 ** 30;

/** Bytes of a value in the cache; q8_0 has a scale of 2 bytes for each 32. */
const CACHE_VALUE_BYTES: Readonly<Record<CacheType, number>> = { f16: 2, q8_0: 34 / 32 };

/** Values and bytes of a block by ggml's type numbers (ggml.h, ggml-common.h). */
export const BLOCKS: Readonly<Record<number, readonly [values: number, bytes: number]>> = {
  0: [1, 4],
  1: [1, 2],
  2: [32, 18],
  3: [32, 20],
  6: [32, 22],
  7: [32, 24],
  8: [32, 34],
  10: [256, 84],
  11: [256, 110],
  12: [256, 144],
  13: [256, 176],
  14: [256, 210],
  15: [256, 292],
  16: [256, 66],
  17: [256, 74],
  18: [256, 98],
  19: [256, 50],
  20: [32, 18],
  21: [256, 110],
  22: [256, 82],
  23: [256, 136],
  24: [1, 1],
  25: [1, 2],
  26: [1, 4],
  27: [1, 8],
  28: [1, 8],
  29: [256, 56],
  30: [1, 2],
  34: [256, 54],
  35: [256, 66],
  39: [32, 17],
  40: [64, 36],
};
/** For types newer than this table. */
const UNKNOWN_BLOCK = [1, 2] as const;

// --- the model ---

/**
 * The shape of a transformer with attention in some or all layers and recurrent state (Mamba, gated DeltaNet) in the others.
 * Metadata that is absent is taken at llama.cpp's defaults.
 */
export function shapeOf(metadata: GgufMetadata, tensors: readonly GgufTensor[]): ModelShape {
  const architecture = String(valueAt(metadata, 'general.architecture') ?? '');
  const get = (key: string) => valueAt(metadata, `${architecture}.${key}`);
  const number = (key: string, other = 0) => numberOf(get(key)) ?? other;
  // The last blocks of some files predict further tokens and are not used.
  const count = Math.max(0, number('block_count') - number('nextn_predict_layers'));
  const embedding = number('embedding_length');
  const heads = numberOf(get('attention.head_count')) ?? Math.max(0, ...numbersOf(get('attention.head_count')));
  const headWidth = heads === 0 ? 0 : embedding / heads;
  const cachedWidth = number('attention.key_length', headWidth) + number('attention.value_length', headWidth);
  const isRecurrent = recurrentLayers(get, count);
  const stateBytes = recurrentStateBytes(number);
  const weights = weightsByLayer(tensors, count);
  return {
    layers: Array.from({ length: count }, (_, layer) => ({
      weightBytes: weights.layers[layer] ?? 0,
      cachedValues: isRecurrent(layer) ? 0 : cachedHeads(get('attention.head_count_kv'), layer, heads) * cachedWidth,
      stateBytes: isRecurrent(layer) ? stateBytes : 0,
    })),
    inputBytes: weights.input,
    outputBytes: weights.output,
    trainedContext: number('context_length', LEAST_CONTEXT),
    embedding,
    vocabulary: weights.vocabulary,
    heads,
  };
}

function valueAt(metadata: GgufMetadata, key: string): unknown {
  if (Object.hasOwn(metadata, key)) return metadata[key];
  let value: unknown = metadata;
  for (const part of key.split('.')) {
    if (typeof value !== 'object' || value === null) return undefined;
    value = (value as GgufMetadata)[part];
  }
  return value;
}

function numberOf(value: unknown): number | undefined {
  return typeof value === 'number' || typeof value === 'bigint' ? Number(value) : undefined;
}

function numbersOf(value: unknown): number[] {
  return Array.isArray(value) ? value.map(Number) : [];
}

function cachedHeads(value: unknown, layer: number, heads: number): number {
  return Array.isArray(value) ? (numbersOf(value)[layer] ?? 0) : (numberOf(value) ?? heads);
}

function recurrentLayers(get: (key: string) => unknown, count: number): (layer: number) => boolean {
  if (numberOf(get('ssm.state_size')) === undefined) return () => false;
  const listed = get('attention.recurrent_layers');
  if (Array.isArray(listed)) return (layer) => Boolean(listed[layer]);
  const headCounts = get('attention.head_count_kv');
  if (Array.isArray(headCounts)) return (layer) => !headCounts[layer];
  const interval = numberOf(get('full_attention_interval'));
  // Without attention at all: a purely recurrent model.
  if (interval === undefined && numberOf(get('attention.head_count')) === undefined) return (layer) => layer < count;
  return (layer) => (layer + 1) % (interval ?? 4) !== 0;
}

/** The state of all heads, and the last inputs of the convolution over queries, keys and values, in F32. */
function recurrentStateBytes(number: (key: string, other?: number) => number): number {
  const [inner, width] = [number('ssm.inner_size'), number('ssm.state_size')];
  const convolved = inner + 2 * number('ssm.group_count') * width;
  return 4 * (inner * width + Math.max(0, number('ssm.conv_kernel') - 1) * convolved);
}

function weightsByLayer(tensors: readonly GgufTensor[], count: number) {
  const layers = new Array<number>(count).fill(0);
  let [input, output, vocabulary] = [0, 0, 0];
  let hasOutput = false;
  for (const tensor of tensors) {
    const bytes = tensorBytes(tensor);
    const layer = Number(/^blk\.(\d+)\./.exec(tensor.name)?.[1] ?? Number.NaN);
    if (layer < count) layers[layer] = (layers[layer] ?? 0) + bytes;
    else if (tensor.name === 'token_embd.weight') {
      input += bytes;
      vocabulary = Number(tensor.dimensions[1] ?? 0);
    } else if (Number.isNaN(layer)) {
      output += bytes;
      hasOutput ||= tensor.name === 'output.weight';
    }
  }
  // Where the output shares the embeddings, llama.cpp holds them a second time.
  return { layers, input, output: hasOutput ? output : output + input, vocabulary };
}

function tensorBytes({ dimensions, ggmlType }: GgufTensor): number {
  const [values, bytes] = BLOCKS[ggmlType] ?? UNKNOWN_BLOCK;
  return (dimensions.reduce<number>((product, size) => product * Number(size), 1) / values) * bytes;
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

// --- costs ---

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

function usable(bytes: number): number {
  return bytes - Math.min(MOST_RESERVE_BYTES, bytes * RESERVE_SHARE);
}

function fits({ gpu, host }: Costs, free: FreeMemory): boolean {
  if (free.shared) return gpu.total + host.total <= usable(free.hostBytes) && gpu.total <= usable(free.gpuBytes);
  return gpu.total <= usable(free.gpuBytes) && host.total <= usable(free.hostBytes);
}

// --- plans ---

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

function allLayers(shape: ModelShape, free: FreeMemory): number {
  return free.gpuBytes > 0 ? shape.layers.length + 1 : 0;
}

function leastContext({ trainedContext }: ModelShape): number {
  return Math.min(LEAST_CONTEXT, trainedContext);
}

function wantedContext({ trainedContext }: ModelShape): number {
  return Math.min(WANTED_CONTEXT, trainedContext);
}

function cachesOf({ kvCache, flashAttention }: PlanWishes): readonly [finest: CacheType, ...CacheType[]] {
  if (kvCache !== 'auto') return [kvCache];
  return flashAttention ? ['f16', 'q8_0'] : ['f16'];
}

/** Wishes of which the cache is decided. */
type CachedWishes = PlanWishes & { readonly kvCache: CacheType };

function fitting(shape: ModelShape, wishes: PlanWishes, free: FreeMemory): PlanSettings | undefined {
  const gpuLayers = wishes.gpuLayers === 'most' ? allLayers(shape, free) : wishes.gpuLayers;
  const caches = cachesOf(wishes).map((kvCache): CachedWishes => ({ ...wishes, kvCache }));
  const { contextSize } = wishes;
  const short = contextSize === 'most' ? Math.min(SHORT_CONTEXT, shape.trainedContext) : contextSize;
  const most = contextSize === 'most' ? shape.trainedContext : contextSize;
  const cramped = Math.min(CRAMPED_CONTEXT, short);
  const coarsest = caches.at(-1) as CachedWishes;
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

// --- in words ---

/** The plan as a block of lines: what is held where, and what of it is free. */
export function planText(shape: ModelShape, settings: PlanSettings, free: FreeMemory): string {
  const { gpu, host } = costsOf(shape, settings);
  const { contextSize, slots, kvCache, gpuLayers } = settings;
  const each = slots === 1 ? '1 slot' : `${slots} slots`;
  const hasGpu = free.gpuBytes > 0;
  const rows: (readonly [string, number, number, string])[] = [
    [
      'weights',
      gpu.weights,
      host.weights,
      hasGpu ? `${gpuLayers} of ${shape.layers.length + 1} layers on the GPU` : '',
    ],
    [
      'cache',
      gpu.cache,
      host.cache,
      `${each} of ${grouped(contextSize)} tokens, ${kvCache}, ${sizeText(cacheBytesPerToken(shape, kvCache))} a token`,
    ],
    ['recurrent state', gpu.state, host.state, `${sizeText(checkpointSize(shape))} a slot`],
    ['compute', gpu.compute, host.compute, `batches of ${settings.batchSize}, estimated`],
    ['checkpoints', gpu.checkpoints, host.checkpoints, 'of the recurrent state, at most'],
    ['total', gpu.total, host.total, ''],
    ['free', free.gpuBytes, free.hostBytes, free.shared ? 'the GPU works in host memory' : ''],
  ];
  const shown = rows.filter(([name, onGpu, onHost]) => name === 'total' || name === 'free' || onGpu + onHost > 0);
  const lines = shown.map(([name, onGpu, onHost, note]) =>
    `${name.padEnd(15)}${hasGpu ? `  GPU ${sizeText(onGpu).padStart(9)}` : ''}  host ${sizeText(onHost).padStart(9)}${note && `  ${note}`}`.trimEnd(),
  );
  const beyond =
    contextSize > shape.trainedContext ? [`the model was trained on ${grouped(shape.trainedContext)} tokens`] : [];
  return `${[...lines, ...beyond].join('\n')}\n`;
}

/** What the settings gave up for memory, and how to have it otherwise: a sentence each. */
export function tradesText(shape: ModelShape, wishes: PlanWishes, settings: PlanSettings, free: FreeMemory): string[] {
  const { contextSize, kvCache, gpuLayers, slots } = settings;
  const onHost = allLayers(shape, free) - gpuLayers;
  const isWhole = free.gpuBytes > 0 && onHost === 0;
  const said: string[] = [];
  if (wishes.gpuLayers === 'most' && onHost > 0) {
    said.push(
      `${onHost} of ${shape.layers.length + 1} layers stay on the host, which is slow; a smaller file of the model may fit`,
    );
  }
  if (wishes.contextSize === 'most' && contextSize < shape.trainedContext) {
    const why = isWhole ? 'that leaves all layers on the GPU' : 'that fits';
    said.push(
      `the context is the longest ${why}, ${grouped(contextSize)} of ${grouped(shape.trainedContext)} tokens${isWhole ? ' (--context takes another)' : ''}`,
    );
  }
  if (wishes.kvCache === 'auto' && kvCache !== 'f16') {
    said.push(
      `the cache is ${kvCache}, which moves scores a little: with f16 there is no room for the context (--kv-cache f16)`,
    );
  }
  if (wishes.contextSize === 'most' && contextSize < Math.min(SHORT_CONTEXT, shape.trainedContext)) {
    const roomier = fewerSlots(shape, wishes, slots, free);
    const remedy = roomier === undefined ? '' : `; --parallel ${roomier.slots} holds ${grouped(roomier.contextSize)}`;
    said.push(`prompts longer than that are refused, and the benchmark has them${remedy}`);
  }
  return said;
}

/** The most slots below those asked for that leave no short context. */
function fewerSlots(shape: ModelShape, wishes: PlanWishes, asked: number, free: FreeMemory): PlanSettings | undefined {
  const counts = Array.from({ length: asked - 1 }, (_, fewer) => asked - 1 - fewer);
  return firstOf(counts, (slots) => {
    const found = fitting(shape, { ...wishes, slots }, free);
    return found !== undefined && found.contextSize >= SHORT_CONTEXT ? found : undefined;
  });
}

/** Why it does not fit and which flags would, as one sentence. */
export function refusalText(plan: Extract<MemoryPlan, { status: 'too-large' }>, free: FreeMemory): string {
  const { asked, costs, nearest } = plan;
  const hasGpu = free.gpuBytes > 0;
  const needs = hasGpu
    ? `needs ${sizeText(costs.gpu.total)} of GPU memory (${sizeText(free.gpuBytes)} free) and ${sizeText(costs.host.total)} of host memory (${sizeText(free.hostBytes)} free)`
    : `needs ${sizeText(costs.host.total)} of memory (${sizeText(free.hostBytes)} free)`;
  const flags = nearest === undefined ? [] : changedFlags(asked, nearest);
  if (flags.length === 0) return `the model ${needs}; take a smaller quantisation, or a machine with more`;
  return `this ${needs}; the nearest that fits: ${flags.join(' ')}`;
}

function changedFlags(asked: PlanSettings, nearest: PlanSettings): string[] {
  return [
    nearest.contextSize === asked.contextSize ? '' : `--context ${nearest.contextSize}`,
    nearest.slots === asked.slots ? '' : `--parallel ${nearest.slots}`,
    nearest.kvCache === asked.kvCache ? '' : `--kv-cache ${nearest.kvCache}`,
    nearest.gpuLayers === asked.gpuLayers ? '' : `--gpu-layers ${nearest.gpuLayers}`,
    nearest.checkpointBytes === asked.checkpointBytes ? '' : '--checkpoint-memory 0',
  ].filter((flag) => flag !== '');
}

function sizeText(bytes: number): string {
  if (bytes === 0) return '-';
  if (bytes >= GIB) return `${(bytes / GIB).toFixed(1)} GiB`;
  return bytes >= 2 ** 20 ? `${(bytes / 2 ** 20).toFixed(1)} MiB` : `${(bytes / 2 ** 10).toFixed(1)} KiB`;
}

function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}
