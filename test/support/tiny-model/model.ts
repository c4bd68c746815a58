// Makes small GGUF models of the architecture qwen35moe, for tests, benchmarks and the quickstart: scripted and random ones.

import { createHash, randomUUID } from 'node:crypto';
import { mkdir, open, rename, rm, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { type Encoding, headerBytes, paddingAfter, type StoredTensor, tensorBytes } from './gguf.js';
import { FULL_SIZE, type Shape, shapeMetadata, tensorsOf } from './shape.js';
import { type Script, vocabularyOf } from './vocabulary.js';
import { tensorChunks } from './weights.js';

/** Everything that defines a model: equal specs give equal files, byte for byte. */
export interface ModelSpec {
  readonly name: string;
  readonly shape: Shape;
  readonly weights: 'f16' | 'q8_0' | 'q4_k';
  readonly seed: number;
  /** The model's answer to any prompt; without it the answers are random. */
  readonly script?: Script;
  /** The approximate mean length of a random model's replies in tokens; without it they never end by themselves. */
  readonly replyTokens?: number;
}

interface MadeModel {
  readonly path: string;
  /** In hex. */
  readonly sha256: string;
  readonly bytes: number;
}

const MICRO: Shape = {
  layers: 4,
  attentionInterval: 4,
  embedding: 64,
  vocabulary: 320,
  contextLength: 262_144,
  heads: 2,
  keyValueHeads: 1,
  headWidth: 32,
  experts: 4,
  expertsUsed: 2,
  expertWidth: 32,
  sharedExpertWidth: 32,
  stateWidth: 32,
  keyHeads: 1,
  valueHeads: 2,
  convolution: 4,
};
const TINY: Shape = {
  ...MICRO,
  embedding: 128,
  vocabulary: 1536,
  heads: 4,
  experts: 8,
  keyHeads: 2,
  valueHeads: 4,
};
const LARGE: Shape = {
  ...MICRO,
  layers: 12,
  embedding: 768,
  vocabulary: 16_384,
  heads: 8,
  keyValueHeads: 2,
  headWidth: 128,
  experts: 32,
  expertsUsed: 4,
  expertWidth: 256,
  sharedExpertWidth: 256,
  stateWidth: 64,
  keyHeads: 8,
  valueHeads: 16,
};

/** Random models by size: `tiny` for tests; `large` and, with the real shapes, `full` for benchmarks. */
export const RANDOM_MODELS = {
  tiny: { name: 'tiny', shape: TINY, weights: 'f16', seed: 1, replyTokens: 48 },
  large: { name: 'large', shape: LARGE, weights: 'q8_0', seed: 1 },
  full: { name: 'full', shape: FULL_SIZE, weights: 'q4_k', seed: 1 },
} as const satisfies Readonly<Record<string, ModelSpec>>;

/** fixtures/tiny-random.gguf, which `awb quickstart` serves; `node test/support/tiny-model/write-fixture.mjs` writes it. */
export const QUICKSTART_MODEL = {
  ...RANDOM_MODELS.tiny,
  name: 'tiny-random',
  weights: 'q8_0',
  shape: { ...TINY, experts: 4 },
} as const satisfies ModelSpec;

/**
 * The smallest model that answers any prompt with this script: first the thinking, then the content, or only the content if thinking is
 * off.
 */
export function scriptedModel(script: Script): ModelSpec {
  return { name: 'scripted', shape: MICRO, weights: 'q8_0', seed: 1, script };
}

/**
 * Writes the model to `path`, completely or not at all. Throws RangeError for a spec that cannot be written, or the file system's error.
 */
export async function makeModel(spec: ModelSpec, path: string): Promise<MadeModel> {
  await mkdir(dirname(path), { recursive: true });
  const unfinished = `${path}.${randomUUID()}.part`;
  const hash = createHash('sha256');
  let bytes = 0;
  const file = await open(unfinished, 'wx');
  try {
    for (const chunk of modelBytes(spec)) {
      await file.writeFile(chunk);
      hash.update(chunk);
      bytes += chunk.length;
    }
    await file.close();
    await rename(unfinished, path);
  } catch (error) {
    await file.close().catch(() => undefined);
    await rm(unfinished, { force: true });
    throw error;
  }
  return { path, sha256: hash.digest('hex'), bytes };
}

/** The model's file in `folder`, made unless an equal spec has left it there. */
export async function keptModel(spec: ModelSpec, folder: string): Promise<string> {
  const identity = createHash('sha256')
    .update(JSON.stringify([MAKER, spec]))
    .digest('hex')
    .slice(0, 16);
  const path = join(folder, `${spec.name}-${identity}.gguf`);
  const there = await stat(path).catch(() => undefined);
  return there === undefined ? (await makeModel(spec, path)).path : path;
}

/** Increase this whenever equal specs give other bytes than before. */
const MAKER = 2;

/** The file's bytes in order, in chunks of about a mebibyte. */
export function* modelBytes(spec: ModelSpec): Generator<Uint8Array> {
  const vocabulary = vocabularyOf(spec.shape.vocabulary, spec.script);
  const shape = { ...spec.shape, vocabulary: vocabulary.tokens.length };
  const tensors = storedTensors(shape, spec.weights);
  const metadata = {
    ...shapeMetadata(shape),
    'general.name': { text: `agentworldbench ${spec.name}` },
    'general.file_type': { u32: FILE_TYPE[spec.weights] },
    ...vocabulary.metadata,
  };
  yield headerBytes(metadata, tensors);
  const intent = { seed: spec.seed, vocabulary, replyTokens: spec.replyTokens ?? Number.POSITIVE_INFINITY };
  for (const tensor of tensors) {
    yield* tensorChunks(tensor, intent);
    yield new Uint8Array(paddingAfter(tensorBytes(tensor)));
  }
}

/** llama.cpp's names for mixes of encodings: F16, Q8_0, Q4_K (small). */
const FILE_TYPE = { f16: 1, q8_0: 7, q4_k: 14 } as const;

/** Four-bit mixes keep embedding and output at eight bits, as published ones keep them finer than the rest. */
function storedTensors(shape: Shape, weights: ModelSpec['weights']): StoredTensor[] {
  const encodingOf = (name: string): Encoding =>
    weights === 'q4_k' && /^(?:token_embd|output)\./.test(name) ? 'q8_0' : weights;
  return tensorsOf(shape).map(({ name, dims, quantizable }) => ({
    name,
    dims,
    encoding: quantizable ? encodingOf(name) : 'f32',
  }));
}
