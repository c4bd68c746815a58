// Values as bytes in the encodings of a GGUF file, random or given; the same seed gives the same bytes everywhere.

import type { Encoding, StoredTensor } from './gguf.js';

/** Writes `count` rows of a tensor, starting at row `first`, to `chunk`. */
export type Fill = (chunk: Uint8Array, first: number, count: number) => void;

/** Uniform values in 256 levels, or the quantised encodings' own levels, straight from random bits: a gigabyte in seconds. */
export function randomRows(
  tensor: StoredTensor,
  [low, high]: readonly [low: number, high: number],
  seed: number,
): Fill {
  const next = generator(tensor.name, seed);
  const levels = Float32Array.from({ length: 256 }, (_, level) => low + ((high - low) * level) / 255);
  switch (tensor.encoding) {
    case 'f32':
      return (chunk) => spread(new Float32Array(chunk.buffer), levels, next);
    case 'f16':
      return (chunk) => spread(new Uint16Array(chunk.buffer), Uint16Array.from(levels, halfFloat), next);
    case 'q8_0':
      return (chunk) => randomQ8(new Uint16Array(chunk.buffer), halfFloat(high / 127), next);
    case 'q4_k':
      return (chunk) => randomQ4(new Int32Array(chunk.buffer), high, next);
    default:
      return tensor.encoding satisfies never;
  }
}

function spread(out: Float32Array | Uint16Array, levels: Float32Array | Uint16Array, next: () => number): void {
  let bits = 0;
  for (let index = 0; index < out.length; index++) {
    bits = index % 4 === 0 ? next() : bits >>> 8;
    // Eight bits select one of the 256 levels.
    out[index] = levels[bits & 255] as number;
  }
}

/** A block: the scale, then 32 signed bytes. */
function randomQ8(out: Uint16Array, scale: number, next: () => number): void {
  for (let block = 0; block < out.length; block += 17) {
    out[block] = scale;
    for (let index = 1; index < 17; index += 2) {
      const bits = next();
      out[block + index] = bits & 0xffff;
      out[block + index + 1] = bits >>> 16;
    }
  }
}

/** A block: scale and minimum, eight 6-bit pairs of factors for them (here all 8), 256 times 4 bits. */
function randomQ4(out: Int32Array, high: number, next: () => number): void {
  const factor = 8;
  const scales = halfFloat(high / (7.5 * factor)) | (halfFloat(high / factor) << 16);
  for (let block = 0; block < out.length; block += 36) {
    out[block] = scales;
    out[block + 1] = 0x08080808;
    out[block + 2] = 0x08080808;
    out[block + 3] = 0x88888888;
    for (let index = 4; index < 36; index++) out[block + index] = next();
  }
}

/** Given values in an encoding, in complete blocks only. Throws RangeError for q4_k, in which no given values are ever written. */
export function encoded(values: Float32Array, encoding: Encoding): Uint8Array {
  switch (encoding) {
    case 'f32':
      return new Uint8Array(values.slice().buffer);
    case 'f16':
      return new Uint8Array(Uint16Array.from(values, halfFloat).buffer);
    case 'q8_0':
      return encodedQ8(values);
    case 'q4_k':
      throw new RangeError('given values are not written in q4_k');
    default:
      return encoding satisfies never;
  }
}

function encodedQ8(values: Float32Array): Uint8Array {
  const out = new Uint8Array((values.length / 32) * 34);
  const view = new DataView(out.buffer);
  for (let block = 0; block < values.length / 32; block++) {
    const part = values.subarray(block * 32, block * 32 + 32);
    const scale = part.reduce((most, value) => Math.max(most, Math.abs(value)), 0) / 127;
    view.setUint16(block * 34, halfFloat(scale), true);
    part.forEach((value, index) => {
      view.setInt8(block * 34 + 2 + index, scale === 0 ? 0 : Math.round(value / scale));
    });
  }
  return out;
}

/** IEEE 754 binary16 of a number within its normal range, rounded half up; smaller numbers become 0. */
function halfFloat(value: number): number {
  const [bits = 0] = new Uint32Array(Float32Array.of(value).buffer);
  const rounded = ((bits & 0x7fffffff) + 0x1000) >>> 13;
  const magnitude = rounded - ((127 - 15) << 10);
  return ((bits >>> 16) & 0x8000) | (magnitude < 0x400 ? 0 : magnitude);
}

/** Pseudo-random 32-bit integers, a separate stream for each name (sfc32 by Chris Doty-Humphrey, seeded by FNV-1a). */
export function generator(name: string, seed: number): () => number {
  let hash = 0x811c9dc5;
  for (const byte of new TextEncoder().encode(name)) hash = Math.imul(hash ^ byte, 0x01000193);
  let [a, b, c, counter] = [hash | 0, seed | 0, 0x9e3779b9 | 0, 1];
  const next = (): number => {
    const sum = (a + b + counter) | 0;
    counter = (counter + 1) | 0;
    a = b ^ (b >>> 9);
    b = (c + (c << 3)) | 0;
    c = ((c << 21) | (c >>> 11)) + sum;
    c |= 0;
    return sum;
  };
  for (let round = 0; round < 16; round++) next();
  return next;
}
