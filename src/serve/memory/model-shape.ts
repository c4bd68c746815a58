// The shape of a model on which its memory depends, read from its file's metadata and tensors.

import { type GgufMetadata, type GgufTensor, tensorBytes, valueAt } from '../gguf-contents.js';

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

export interface LayerShape {
  readonly weightBytes: number;
  /** Values in the cache for each token: keys and values, 0 in a recurrent layer. */
  readonly cachedValues: number;
  /** State of a recurrent layer for each slot, of F32 whatever the cache is. */
  readonly stateBytes: number;
}

/** Tokens: a shorter context is no use. */
export const LEAST_CONTEXT = 4_096;
/** Of an encoding that is newer than the table: as F16 has it. */
const UNKNOWN_VALUE_BYTES = 2;

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
    const bytes = tensorBytes(tensor, UNKNOWN_VALUE_BYTES);
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
