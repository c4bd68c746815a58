// Text and bytes written in large blocks: one is filled while the one before is on its way, and no third.

const BLOCK_BYTES = 1 << 20;

export class BlockWriter {
  readonly #write: (block: Uint8Array) => Promise<unknown>;
  /** What waits lies in its first `size` bytes. */
  #block = Buffer.allocUnsafeSlow(BLOCK_BYTES);
  #size = 0;
  /** Resolves to the block that is free once the one before it is written. */
  #writing = Promise.resolve(Buffer.allocUnsafeSlow(BLOCK_BYTES));

  /** @param write is given one block after the other; nothing in it changes until it resolves */
  constructor(write: (block: Uint8Array) => Promise<unknown>) {
    this.#write = write;
  }

  /** @param length the bytes of all pieces in UTF-8 @throws what `write` rejected with, for this block or one before */
  async add(pieces: readonly (string | Uint8Array)[], length: number): Promise<void> {
    if (this.#size + length > this.#block.length) await this.#flush();
    if (length > this.#block.length) this.#block = Buffer.allocUnsafeSlow(length);
    for (const piece of pieces) {
      if (typeof piece === 'string') this.#size += this.#block.write(piece, this.#size);
      else {
        this.#block.set(piece, this.#size);
        this.#size += piece.length;
      }
    }
  }

  /** Resolves once everything is written. @throws what `write` rejected with */
  async end(): Promise<void> {
    await this.#flush();
    await this.#writing;
  }

  async #flush(): Promise<void> {
    const free = await this.#writing;
    const [block, size] = [this.#block, this.#size];
    if (size === 0) return;
    this.#block = free;
    this.#size = 0;
    // A block that was made for a single long piece is not kept.
    const next = block.length > BLOCK_BYTES ? Buffer.allocUnsafeSlow(BLOCK_BYTES) : block;
    this.#writing = this.#write(block.subarray(0, size)).then(() => next);
    // Whoever waits for it next is told.
    this.#writing.catch(() => {});
  }
}

/** The bytes of all pieces in UTF-8. */
export function bytesOf(pieces: readonly (string | Uint8Array)[]): number {
  return pieces.reduce((sum, piece) => sum + (typeof piece === 'string' ? Buffer.byteLength(piece) : piece.length), 0);
}
