// What is known of many rows, column by column: a row costs tens of bytes, and columns pass between threads and files as they are.

import { present } from '../present.js';
import type { Domain } from '../types.js';

/** Words of 32 bits in a key or a trajectory's key, which are hashes of 24 hex digits. */
export const KEY_WORDS = 3;
const KEY_BYTES = KEY_WORDS * Uint32Array.BYTES_PER_ELEMENT;

/** A row as it is added. */
interface ColumnRow {
  /** 24 hex digits each: without the ordinal among equal rows. */
  readonly key: string;
  readonly trajectory: string;
  readonly domain: Domain;
  /** The row's `id` as canonical JSON text; empty where there is none. */
  readonly id: string;
  readonly turnIdx: number;
  readonly line: number;
  readonly offset: number;
  readonly length: number;
  /** CRC-32 of the line's bytes. */
  readonly checksum: number;
}

/** One entry a row, in input order, where nothing else is said. */
export interface RowColumns {
  readonly offset: Float64Array<ArrayBuffer>;
  readonly length: Uint32Array<ArrayBuffer>;
  readonly line: Uint32Array<ArrayBuffer>;
  readonly turnIdx: Uint32Array<ArrayBuffer>;
  readonly checksum: Uint32Array<ArrayBuffer>;
  /** Numbers of `domainNames` and `trajectoryKey`. */
  readonly domain: Uint32Array<ArrayBuffer>;
  readonly trajectory: Uint32Array<ArrayBuffer>;
  /** `KEY_WORDS` a row. */
  readonly key: Uint32Array<ArrayBuffer>;
  /** Where the row's id ends in `ids`. */
  readonly idEnd: Uint32Array<ArrayBuffer>;
  /** UTF-8, one behind the other. */
  readonly ids: Uint8Array<ArrayBuffer>;
  /** `KEY_WORDS` a trajectory. */
  readonly trajectoryKey: Uint32Array<ArrayBuffer>;
  /** An entry a domain. */
  readonly domainNames: readonly Domain[];
  /** An entry a file: how many rows there are up to its end. */
  readonly fileEnd: readonly number[];
}

/** Rows that come one after the other, or in pieces, into columns. */
export class ColumnsBuilder {
  readonly #offset = new GrowingArray(Float64Array);
  readonly #length = new GrowingArray(Uint32Array);
  readonly #line = new GrowingArray(Uint32Array);
  readonly #turnIdx = new GrowingArray(Uint32Array);
  readonly #checksum = new GrowingArray(Uint32Array);
  readonly #domain = new GrowingArray(Uint32Array);
  readonly #trajectory = new GrowingArray(Uint32Array);
  readonly #key = new GrowingArray(Uint32Array);
  readonly #idEnd = new GrowingArray(Uint32Array);
  readonly #ids = new GrowingArray(Uint8Array);
  readonly #domains = new Numbers<Domain>();
  readonly #trajectories = new Numbers<string>();
  readonly #fileEnd: number[] = [];

  get rows(): number {
    return this.#offset.length;
  }

  add(row: ColumnRow): void {
    this.#offset.push(row.offset);
    this.#length.push(row.length);
    this.#line.push(row.line);
    this.#turnIdx.push(row.turnIdx);
    this.#checksum.push(row.checksum);
    this.#domain.push(this.#domains.of(row.domain));
    this.#trajectory.push(this.#trajectories.of(row.trajectory));
    this.#key.append(wordsOf(row.key));
    this.#ids.append(Buffer.from(row.id));
    this.#idEnd.push(this.#ids.length);
  }

  /** Adds the rows of a piece of a file, before which `linesBefore` lines of that file stand. */
  addPiece(piece: RowColumns, linesBefore: number): void {
    const idsBefore = this.#ids.length;
    const trajectoryKeys = bytesOf(piece.trajectoryKey);
    const trajectories = Array.from({ length: piece.trajectoryKey.length / KEY_WORDS }, (_, number) =>
      this.#trajectories.of(keyAt(trajectoryKeys, number)),
    );
    const domains = piece.domainNames.map((name) => this.#domains.of(name));
    this.#offset.append(piece.offset);
    this.#length.append(piece.length);
    this.#line.append(piece.line.map((line) => line + linesBefore));
    this.#turnIdx.append(piece.turnIdx);
    this.#checksum.append(piece.checksum);
    this.#domain.append(piece.domain.map((number) => present(domains[number])));
    this.#trajectory.append(piece.trajectory.map((number) => present(trajectories[number])));
    this.#key.append(piece.key);
    this.#idEnd.append(piece.idEnd.map((end) => end + idsBefore));
    this.#ids.append(piece.ids);
  }

  /** What was added since the file before belongs to one file. */
  endFile(): void {
    this.#fileEnd.push(this.rows);
  }

  columns(): RowColumns {
    const trajectoryKey = new Uint32Array(this.#trajectories.names.length * KEY_WORDS);
    for (const [number, name] of this.#trajectories.names.entries()) {
      trajectoryKey.set(wordsOf(name), number * KEY_WORDS);
    }
    return {
      offset: this.#offset.entries(),
      length: this.#length.entries(),
      line: this.#line.entries(),
      turnIdx: this.#turnIdx.entries(),
      checksum: this.#checksum.entries(),
      domain: this.#domain.entries(),
      trajectory: this.#trajectory.entries(),
      key: this.#key.entries(),
      idEnd: this.#idEnd.entries(),
      ids: this.#ids.entries(),
      trajectoryKey,
      domainNames: this.#domains.names,
      fileEnd: this.#fileEnd,
    };
  }
}

/** The bytes of a column of keys. To make them takes longer than to read a key, so they are made once for many. */
export function bytesOf(keys: Uint32Array): Buffer {
  return Buffer.from(keys.buffer, keys.byteOffset, keys.byteLength);
}

/** The 24 hex digits of a key in a column's bytes. */
export function keyAt(bytes: Buffer, number: number): string {
  return bytes.toString('hex', number * KEY_BYTES, (number + 1) * KEY_BYTES);
}

/** A key's 24 hex digits as they stand in a column. */
export function wordsOf(key: string): Uint32Array {
  const words = new Uint32Array(KEY_WORDS);
  Buffer.from(words.buffer).write(key, 'hex');
  return words;
}

/** Gives each name a number, in the order in which they first come. */
class Numbers<Name> {
  readonly names: Name[] = [];
  readonly #numbers = new Map<Name, number>();

  of(name: Name): number {
    const known = this.#numbers.get(name);
    if (known !== undefined) return known;
    this.#numbers.set(name, this.names.length);
    return this.names.push(name) - 1;
  }
}

type Entries = Float64Array<ArrayBuffer> | Uint32Array<ArrayBuffer> | Uint8Array<ArrayBuffer>;

/** A typed array that grows. */
class GrowingArray<E extends Entries> {
  length = 0;
  #entries: E;

  constructor(private readonly type: new (length: number) => E) {
    this.#entries = new type(1024);
  }

  push(entry: number): void {
    this.#makeRoom(1);
    this.#entries[this.length++] = entry;
  }

  append(entries: ArrayLike<number>): void {
    this.#makeRoom(entries.length);
    this.#entries.set(entries, this.length);
    this.length += entries.length;
  }

  /** What is there, in an array of its own without room for more. */
  entries(): E {
    return this.#copy(this.length);
  }

  #makeRoom(more: number): void {
    const needed = this.length + more;
    if (needed > this.#entries.length) this.#entries = this.#copy(Math.max(needed, this.#entries.length * 2));
  }

  #copy(room: number): E {
    const copy = new this.type(room);
    copy.set(this.#entries.subarray(0, this.length));
    return copy;
  }
}
