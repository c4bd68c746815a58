// Spans of an open file, where most of them are asked for one behind the other: neighbours come with one read of the disk.

/** Something open that gives bytes at a position, fewer or none at its end. */
export interface ByteSource {
  read(buffer: Uint8Array, offset: number, length: number, position: number): Promise<{ readonly bytesRead: number }>;
}

/** Bytes of a file that are read at once. */
interface Block {
  readonly start: number;
  readonly end: number;
  readonly bytes: Promise<Uint8Array>;
}

const BLOCK_BYTES = 1 << 19;
/** Few spans of this length fit into a block, so that each is read by itself. */
const LONG_BYTES = BLOCK_BYTES / 4;
/** Between a span and the one behind it there is a line's end, or some lines that nobody asks for. */
const FARTHEST_NEIGHBOUR = BLOCK_BYTES / 8;
/** Several spans are under way at once, and those of the block before are not all taken when the next one begins. */
const BLOCKS = 2;

/**
 * Each read of the disk wakes up a thread, which costs more than what it reads. A span that is asked for behind its neighbour begins a
 * block; what lies in a block that was read is not read again.
 */
export class SpanReader {
  #blocks: readonly Block[] = [];
  /** Where the span ended that was asked for last. */
  #end = Number.NaN;

  constructor(private readonly source: ByteSource) {}

  /** `length` bytes at `offset`; fewer where the file has become shorter. They are to be looked at and not changed. */
  async read(offset: number, length: number): Promise<Uint8Array> {
    const gap = offset - this.#end;
    const end = offset + length;
    this.#end = end;
    const block = this.#blocks.find((one) => offset >= one.start && end <= one.end);
    if (block !== undefined) return (await block.bytes).subarray(offset - block.start, end - block.start);
    const isNeighbour = gap >= 0 && gap <= FARTHEST_NEIGHBOUR && length <= LONG_BYTES;
    return isNeighbour ? (await this.#begin(offset)).subarray(0, length) : bytesAt(this.source, offset, length);
  }

  #begin(start: number): Promise<Uint8Array> {
    const bytes = bytesAt(this.source, start, BLOCK_BYTES);
    const block = { start, end: start + BLOCK_BYTES, bytes };
    this.#blocks = [block, ...this.#blocks].slice(0, BLOCKS);
    // Another try reads it again.
    bytes.catch(() => {
      this.#blocks = this.#blocks.filter((one) => one !== block);
    });
    return bytes;
  }
}

async function bytesAt(source: ByteSource, offset: number, length: number): Promise<Uint8Array> {
  const bytes = new Uint8Array(length);
  const { bytesRead } = await source.read(bytes, 0, length, offset);
  return bytes.subarray(0, bytesRead);
}
