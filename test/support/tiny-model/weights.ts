// The values of a made-up model's tensors: what they must be for the model to say what is intended.

import { encoded, type Fill, generator, randomRows } from './encoded-values.js';
import { ENCODINGS, type StoredTensor, valueCount } from './gguf.js';
import type { Vocabulary } from './vocabulary.js';

/** What the weights make the model do. */
interface Intent {
  readonly seed: number;
  readonly vocabulary: Vocabulary;
  /** The approximate mean length of a random model's reply in tokens; Infinity for one that never ends by itself. */
  readonly replyTokens: number;
}

/** The first values of the residual stream of a random model are constant, so the output matrix has a bias per token. */
const CONSTANT_WIDTH = 32;
const CONSTANT = 2;
/** The spread of a random model's logits, and how far below the others a forbidden token is. */
const LOGIT_SPREAD = 3;
const FORBIDDEN = -60;
/** The mean distance between a random model's quotation marks, so that a string in constrained JSON ends. */
const QUOTE_TOKENS = 16;
/** The factor of a scripted model's output matrix: margins of a hundred nats withstand any sampling settings. */
const SCRIPT_GAIN = 4;
const CHUNK_BYTES = 1_048_576;
/** Matrices whose output is added to the residual stream. */
const WRITES_TO_STREAM = /(?:attn_output|ssm_out|ffn_down_exps|ffn_down_shexp)\.weight$/;

/** The bytes of one tensor, in chunks of complete rows of about a mebibyte. */
export function* tensorChunks(tensor: StoredTensor, intent: Intent): Generator<Uint8Array> {
  const [width = 1] = tensor.dims;
  const rows = valueCount(tensor.dims) / width;
  const { blockValues, blockBytes } = ENCODINGS[tensor.encoding];
  const rowBytes = (width / blockValues) * blockBytes;
  const rowsPerChunk = Math.max(1, Math.floor(CHUNK_BYTES / rowBytes));
  const fill = filler(tensor, intent);
  for (let first = 0; first < rows; first += rowsPerChunk) {
    const count = Math.min(rowsPerChunk, rows - first);
    const chunk = new Uint8Array(count * rowBytes);
    fill(chunk, first, count);
    yield chunk;
  }
}

function filler(tensor: StoredTensor, intent: Intent): Fill {
  const scripted = intent.vocabulary.chain.length > 0;
  if (/^(?:token_embd|output)\.weight$/.test(tensor.name)) {
    return scripted ? scriptRows(tensor, intent) : vocabularyRows(tensor, intent);
  }
  const random = randomRows(tensor, rangeOf(tensor), intent.seed);
  if (!WRITES_TO_STREAM.test(tensor.name)) return random;
  // A chunk starts as zero, and zero bytes are zeros in every encoding.
  if (scripted) return () => undefined;
  const [, embedding = 1] = tensor.dims;
  return (chunk, first, count) => {
    random(chunk, first, count);
    const rowBytes = chunk.length / count;
    for (let row = 0; row < count; row++) {
      if ((first + row) % embedding < CONSTANT_WIDTH) chunk.fill(0, row * rowBytes, (row + 1) * rowBytes);
    }
  };
}

/**
 * Only the embedding reaches the output of a scripted model, so it is a table of what follows what: a token's output row is the embedding
 * of the token before it in the script. All tokens outside the script share one embedding, which the script's first token follows. The
 * blank line that ends a prompt without thinking is in the script, so such a prompt is followed by the content at once.
 */
function scriptRows(tensor: StoredTensor, { seed, vocabulary }: Intent): Fill {
  const { chain, end } = vocabulary;
  const outside = -1;
  const place = new Map(chain.map((token, index) => [token, index]));
  const [width = 1] = tensor.dims;
  const vectorOf = (token: number): Float32Array => {
    const next = generator(`script ${token}`, seed);
    return Float32Array.from({ length: width }, () => (next() < 0 ? -1 : 1));
  };
  const embedding = (token: number): Float32Array => vectorOf(place.has(token) && token !== end ? token : outside);
  const output = (token: number): Float32Array => {
    const index = place.get(token);
    if (index === undefined) return new Float32Array(width);
    return vectorOf(chain[index - 1] ?? outside).map((value) => value * SCRIPT_GAIN);
  };
  const rowOf = tensor.name.startsWith('output') ? output : embedding;
  return (chunk, first, count) => {
    const rowBytes = chunk.length / count;
    for (let row = 0; row < count; row++) chunk.set(encoded(rowOf(first + row), tensor.encoding), row * rowBytes);
  };
}

/** Rows of a random model's embedding or output: random, except for the values of the constant, or of a token's bias. */
function vocabularyRows(tensor: StoredTensor, intent: Intent): Fill {
  const random = randomRows(tensor, rangeOf(tensor), intent.seed);
  const leading = (value: number): Uint8Array => encoded(new Float32Array(CONSTANT_WIDTH).fill(value), tensor.encoding);
  if (tensor.name.startsWith('token_embd')) {
    const constant = leading(CONSTANT);
    return (chunk, first, count) => {
      random(chunk, first, count);
      for (let row = 0; row < count; row++) chunk.set(constant, row * (chunk.length / count));
    };
  }
  const wanted = rates(intent);
  const [width = 1] = tensor.dims;
  const bias = biases(intent, wanted, width).map(leading);
  return (chunk, first, count) => {
    random(chunk, first, count);
    const rowBytes = chunk.length / count;
    for (let row = 0; row < count; row++) {
      if (wanted.has(first + row)) chunk.fill(0, row * rowBytes, (row + 1) * rowBytes);
      chunk.set(bias[first + row] ?? [], row * rowBytes);
    }
  };
}

/** Tokens with their own rate, whatever was said before: once in this many tokens. */
function rates({ vocabulary, replyTokens }: Intent): ReadonlyMap<number, number> {
  return new Map([
    [vocabulary.end, replyTokens],
    [vocabulary.quote, QUOTE_TOKENS],
  ]);
}

/** What each token's first output values must be so that only allowed tokens are said, at the rates wanted. */
function biases({ vocabulary }: Intent, wanted: ReadonlyMap<number, number>, width: number): number[] {
  const sayable = vocabulary.sayable.filter(Boolean).length;
  // For normally distributed logits: the logarithm of the sum of their exponentials.
  const total = Math.log(sayable) + LOGIT_SPREAD ** 2 / 2;
  // The constant after the last norm, taking the variance of the rest of the stream as 2.
  const rest = width - CONSTANT_WIDTH;
  const carried = CONSTANT / Math.sqrt((CONSTANT_WIDTH * CONSTANT ** 2 + rest * 2) / width);
  return vocabulary.sayable.map((can, token) => {
    const every = wanted.get(token);
    const logit = every === undefined ? (can ? 0 : FORBIDDEN) : Math.max(FORBIDDEN, total - Math.log(every));
    return logit / (CONSTANT_WIDTH * carried);
  });
}

/** Ranges of values by name, by default for variance 1 / width; the decays must be negative. */
function rangeOf({ name, dims: [width = 1] }: StoredTensor): readonly [number, number] {
  if (name.endsWith('norm.weight')) return [0.9, 1.1];
  if (name.endsWith('ssm_a')) return [-1.5, -0.05];
  if (name.endsWith('ssm_dt.bias')) return [-4, -1];
  const bound = Math.sqrt(3 / width);
  if (name === 'token_embd.weight') return [-Math.sqrt(3), Math.sqrt(3)];
  if (name === 'output.weight') return [-LOGIT_SPREAD * bound, LOGIT_SPREAD * bound];
  return [-bound, bound];
}
