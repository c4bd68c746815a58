// Appends to a file so that each write is on the disk before it counts, and waiting writes share one.

import { fstatSync, writeSync } from 'node:fs';
import type { FileHandle } from 'node:fs/promises';
import { cannotWrite, codeOf, UserError } from '../core/errors.js';

/** Group commit: writes that wait while another is being synced go out together with the next. */
export class Appender {
  #waiting: Buffer[] = [];
  #waitingBytes = 0;
  /** The write that will take the waiting lines; it resolves to its start offset. */
  #next: Promise<number> | undefined;
  #latest: Promise<unknown> = Promise.resolve();
  #broken: UserError | undefined;
  readonly #links: number;

  constructor(
    private readonly handle: FileHandle,
    private readonly path: string,
    private end: number,
  ) {
    this.#links = fstatSync(handle.fd).nlink;
  }

  /** Resolves to the line's offset once it is on the disk. Rejects with a UserError (74), as do all later appends. */
  async append(line: Buffer): Promise<number> {
    const place = this.#waitingBytes;
    this.#waiting.push(line);
    this.#waitingBytes += line.length;
    if (this.#next === undefined) {
      this.#next = this.#latest.then(() => this.#flush());
      this.#latest = this.#next.catch(() => undefined);
    }
    return (await this.#next) + place;
  }

  async idle(): Promise<void> {
    await this.#latest;
  }

  async #flush(): Promise<number> {
    const bytes = Buffer.concat(this.#waiting);
    this.#waiting = [];
    this.#waitingBytes = 0;
    this.#next = undefined;
    if (this.#broken !== undefined) throw this.#broken;
    const start = this.end;
    try {
      await this.#write(bytes);
    } catch (error) {
      this.#broken = await this.#failure(error, start);
      throw this.#broken;
    }
    return start;
  }

  async #write(bytes: Buffer): Promise<void> {
    this.#requireUntouched();
    let written = 0;
    while (written < bytes.length) {
      // Only copies into the system's memory; writing on a thread would cost each slot a turn of a busy event loop.
      written += writeSync(this.handle.fd, bytes, written, bytes.length - written, this.end + written);
    }
    await this.handle.datasync();
    this.end += bytes.length;
  }

  /** Detects a deleted or emptied journal: the run would keep paying for rows that are not kept. */
  #requireUntouched(): void {
    const { nlink, size } = fstatSync(this.handle.fd);
    if (size >= this.end && (nlink > 0 || this.#links === 0)) return;
    throw cannotWrite(
      `${this.path} was deleted or truncated while the run was writing it; its rows are lost, so leave the output folder alone and run the same command again`,
    );
  }

  /** Removes a half-written batch from the file: the disk may be full, but a shorter file always fits. */
  async #failure(error: unknown, start: number): Promise<UserError> {
    if (error instanceof UserError) return error;
    const code = codeOf(error) ?? String(error);
    const cause = code === 'ENOSPC' ? 'the disk is full' : code;
    await this.handle.truncate(start).catch(() => undefined);
    return cannotWrite(
      `cannot write ${this.path}: ${cause}; all rows finished before are safe, so free some space and run the same command again`,
    );
  }
}
