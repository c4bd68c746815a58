// The bytes of a GGUF file up to its tensors: metadata and the table of contents (GGUF version 3, little-endian).

/** One metadata value with its type in the file. */
type MetadataValue =
  | { readonly u32: number }
  | { readonly i32s: readonly number[] }
  | { readonly f32: number }
  | { readonly bool: boolean }
  | { readonly text: string }
  | { readonly texts: readonly string[] };
export type Metadata = Readonly<Record<string, MetadataValue>>;

/** ggml's names for the encodings written here, with the sizes of their blocks. */
export const ENCODINGS = {
  f32: { ggmlType: 0, blockValues: 1, blockBytes: 4 },
  f16: { ggmlType: 1, blockValues: 1, blockBytes: 2 },
  q8_0: { ggmlType: 8, blockValues: 32, blockBytes: 34 },
  q4_k: { ggmlType: 12, blockValues: 256, blockBytes: 144 },
} as const;
export type Encoding = keyof typeof ENCODINGS;

/** A tensor in the file; `dims` in ggml's order, the contiguous one first. */
export interface StoredTensor {
  readonly name: string;
  readonly dims: readonly number[];
  readonly encoding: Encoding;
}

/** Tensors start at multiples of this many bytes. */
const ALIGNMENT = 32;

const VALUE_TYPE = { u32: 4, i32: 5, f32: 6, bool: 7, text: 8, array: 9 } as const;

/** The size of a tensor's values in bytes. Throws RangeError if a row is not a whole number of the encoding's blocks. */
export function tensorBytes({ name, dims, encoding }: StoredTensor): number {
  const { blockValues, blockBytes } = ENCODINGS[encoding];
  if ((dims[0] ?? 0) % blockValues !== 0) {
    throw new RangeError(`${name}: rows of ${dims[0]} values do not divide into ${encoding} blocks of ${blockValues}`);
  }
  return (valueCount(dims) / blockValues) * blockBytes;
}

export function valueCount(dims: readonly number[]): number {
  return dims.reduce((product, size) => product * size, 1);
}

/** Bytes to add so that what follows `length` bytes is aligned. */
export function paddingAfter(length: number): number {
  return (ALIGNMENT - (length % ALIGNMENT)) % ALIGNMENT;
}

/** Everything before the first tensor's values, padded. The values follow in the given order, each tensor padded in the same way. */
export function headerBytes(metadata: Metadata, tensors: readonly StoredTensor[]): Uint8Array {
  const out = new Bytes();
  out.raw(new TextEncoder().encode('GGUF'));
  out.u32(3);
  out.u64(tensors.length);
  out.u64(Object.keys(metadata).length);
  for (const [key, value] of Object.entries(metadata)) {
    out.text(key);
    writeValue(out, value);
  }
  let offset = 0;
  for (const tensor of tensors) {
    out.text(tensor.name);
    out.u32(tensor.dims.length);
    for (const size of tensor.dims) out.u64(size);
    out.u32(ENCODINGS[tensor.encoding].ggmlType);
    out.u64(offset);
    const bytes = tensorBytes(tensor);
    offset += bytes + paddingAfter(bytes);
  }
  out.raw(new Uint8Array(paddingAfter(out.length)));
  return out.taken();
}

function writeValue(out: Bytes, value: MetadataValue): void {
  if ('u32' in value) {
    out.u32(VALUE_TYPE.u32);
    out.u32(value.u32);
  } else if ('f32' in value) {
    out.u32(VALUE_TYPE.f32);
    out.f32(value.f32);
  } else if ('bool' in value) {
    out.u32(VALUE_TYPE.bool);
    out.raw(Uint8Array.of(value.bool ? 1 : 0));
  } else if ('text' in value) {
    out.u32(VALUE_TYPE.text);
    out.text(value.text);
  } else if ('texts' in value) {
    out.arrayHead(VALUE_TYPE.text, value.texts.length);
    for (const text of value.texts) out.text(text);
  } else {
    out.arrayHead(VALUE_TYPE.i32, value.i32s.length);
    for (const item of value.i32s) out.u32(item);
  }
}

/** A growing buffer of little-endian values. Make room first, since that may replace the buffer. */
class Bytes {
  #bytes = new Uint8Array(65_536);
  #view = new DataView(this.#bytes.buffer);
  length = 0;

  raw(bytes: Uint8Array): void {
    const at = this.#room(bytes.length);
    this.#bytes.set(bytes, at);
  }
  u32(value: number): void {
    const at = this.#room(4);
    this.#view.setUint32(at, value >>> 0, true);
  }
  u64(value: number): void {
    const at = this.#room(8);
    this.#view.setBigUint64(at, BigInt(value), true);
  }
  f32(value: number): void {
    const at = this.#room(4);
    this.#view.setFloat32(at, value, true);
  }
  text(text: string): void {
    const bytes = new TextEncoder().encode(text);
    this.u64(bytes.length);
    this.raw(bytes);
  }
  arrayHead(itemType: number, length: number): void {
    this.u32(VALUE_TYPE.array);
    this.u32(itemType);
    this.u64(length);
  }
  taken(): Uint8Array {
    return this.#bytes.slice(0, this.length);
  }

  /** The position of the next `count` bytes; grows the buffer to fit them. */
  #room(count: number): number {
    const at = this.length;
    this.length += count;
    if (this.length > this.#bytes.length) {
      const larger = new Uint8Array(2 ** Math.ceil(Math.log2(this.length)));
      larger.set(this.#bytes);
      this.#bytes = larger;
      this.#view = new DataView(larger.buffer);
    }
    return at;
  }
}
