// Appending to a file so that each write is on the disk before it counts, and writes that wait share one.

import { fdatasync, fstatSync, ftruncate, write } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { promisify } from 'node:util';
import { codeOf, EXIT, UserError } from '../errors.js';

const writeAt = promisify(write);
const syncData = promisify(fdatasync);
const truncateTo = promisify(ftruncate);

interface Waiting {
  readonly line: Buffer;
  readonly done: (offset: number) => void;
  readonly failed: (error: unknown) => void;
}

/** Group commit: whatever waits while one write is synced goes out together with the next. */
export class Appender {
  #waiting: Waiting[] = [];
  #flushing: Promise<void> | undefined;
  #broken: UserError | undefined;
  readonly #links: number;

  constructor(
    private readonly handle: FileHandle,
    private readonly path: string,
    private end: number,
  ) {
    this.#links = fstatSync(handle.fd).nlink;
  }

  append(line: Buffer): Promise<number> {
    return new Promise((done, failed) => {
      this.#waiting.push({ line, done, failed });
      this.#flushing ??= this.#flush();
    });
  }

  async idle(): Promise<void> {
    await this.#flushing;
  }

  async #flush(): Promise<void> {
    // One turn of the event loop lets calls that end together share a write.
    await new Promise(setImmediate);
    while (this.#waiting.length > 0) {
      const batch = this.#waiting;
      this.#waiting = [];
      const start = this.end;
      try {
        if (this.#broken !== undefined) throw this.#broken;
        await this.#write(Buffer.concat(batch.map((waiting) => waiting.line)));
      } catch (error) {
        const failure = await this.#fail(error, start);
        for (const waiting of batch) waiting.failed(failure);
        continue;
      }
      let offset = start;
      for (const waiting of batch) {
        waiting.done(offset);
        offset += waiting.line.length;
      }
    }
    // Nothing is awaited since the last look at what waits: a record that came in between would wait for ever.
    this.#flushing = undefined;
  }

  async #write(bytes: Buffer): Promise<void> {
    this.#requireUntouched();
    let written = 0;
    while (written < bytes.length) {
      const result = await writeAt(this.handle.fd, bytes, written, bytes.length - written, this.end + written);
      written += result.bytesWritten;
    }
    await syncData(this.handle.fd);
    this.end += bytes.length;
  }

  /** A run whose journal was deleted or emptied would otherwise go on paying for rows that nobody keeps. */
  #requireUntouched(): void {
    const { nlink, size } = fstatSync(this.handle.fd);
    if (size >= this.end && (nlink > 0 || this.#links === 0)) return;
    throw new UserError(
      `${this.path} was deleted or cut while the run was writing it; the rows in it are lost, so leave the output folder alone and run the same command again`,
      EXIT.cannotWrite,
    );
  }

  /** Takes a half-written batch off the file again: the disk may be full, but a shorter file always fits. */
  async #fail(error: unknown, start: number): Promise<UserError> {
    if (error instanceof UserError) this.#broken = error;
    if (this.#broken === undefined) {
      const code = codeOf(error) ?? String(error);
      const cause = code === 'ENOSPC' ? 'the disk is full' : code;
      await truncateTo(this.handle.fd, start).catch(() => undefined);
      this.#broken = new UserError(
        `cannot write ${this.path}: ${cause}; every row finished before is safe, so make room and run the same command again`,
        EXIT.cannotWrite,
      );
    }
    return this.#broken;
  }
}
