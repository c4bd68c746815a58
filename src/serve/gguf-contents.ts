// What a GGUF file says of itself: metadata by key, and its tensors with their sizes.

import { isObject } from '../json.js';

/** As node-llama-cpp reads it (nested) or with dotted keys. */
export type GgufMetadata = Readonly<Record<string, unknown>>;

export interface GgufTensor {
  readonly name: string;
  readonly dimensions: readonly (number | bigint)[];
  readonly ggmlType: number;
}

/** The value under a dotted key; undefined where there is none. */
export function valueAt(metadata: GgufMetadata, key: string): unknown {
  if (Object.hasOwn(metadata, key)) return metadata[key];
  let value: unknown = metadata;
  for (const part of key.split('.')) {
    if (!isObject(value)) return undefined;
    value = value[part];
  }
  return value;
}

/** Bytes of a tensor's values, at so many bytes a value where its encoding is newer than the table. */
export function tensorBytes({ dimensions, ggmlType }: GgufTensor, unknownValueBytes: number): number {
  const [values, bytes] = BLOCKS[ggmlType] ?? [1, unknownValueBytes];
  return (dimensions.reduce<number>((product, size) => product * Number(size), 1) / values) * bytes;
}

/** Values and bytes of a block by ggml's type numbers (ggml.h, ggml-common.h). */
const BLOCKS: Readonly<Record<number, readonly [values: number, bytes: number]>> = {
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
