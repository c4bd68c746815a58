// The rows of a dataset by their numbers, without their texts: where each lies, and what choosing and ordering need to know of it.

import { createHash } from 'node:crypto';
import { present } from '../present.js';
import type { Domain } from '../types.js';
import { inTurns } from './loop-turn.js';
import { bytesOf, KEY_WORDS, keyAt, type RowColumns, wordsOf } from './row-columns.js';

/** All that is known of one row. For looking at a few: many are cheaper by their numbers. */
export interface RowRef {
  /** The row's number: its position in input order over all files, from 0. */
  readonly position: number;
  readonly key: string;
  readonly trajectory: string;
  readonly domain: Domain;
  readonly id: string;
  readonly turnIdx: number;
  /** A number of `Dataset.files`. */
  readonly file: number;
  readonly line: number;
  readonly offset: number;
  readonly length: number;
}

/** Keys are hashes already, so that any word of them is as good as a hash of them. A table is at most half full. */
const TABLE_ROOM = 2;

/**
 * A row is known by its number: its position in input order over all files, from 0. Texts are made on demand, so that a row costs
 * about 60 bytes. To iterate gives `RowRef`s, each made when its turn comes.
 */
export class RowIndex implements Iterable<RowRef> {
  readonly length: number;
  /** Of rows that equal an earlier one: how many of these stand before it. */
  readonly #ordinals = new Map<number, number>();
  #find: ((key: string) => number | undefined) | undefined;
  readonly #keys: Buffer;
  readonly #trajectoryKeys: Buffer;

  constructor(private readonly columns: RowColumns) {
    this.length = columns.offset.length;
    this.#keys = bytesOf(columns.key);
    this.#trajectoryKeys = bytesOf(columns.trajectoryKey);
    const table = new KeyTable(columns.key);
    const further = new Map<number, number>();
    for (let row = 0; row < this.length; row++) {
      const first = table.add(row);
      if (first === row) continue;
      const before = (further.get(first) ?? 0) + 1;
      further.set(first, before);
      this.#ordinals.set(row, before);
    }
  }

  /** The hash of the row's fields, with `-N` behind it for the Nth further row that is equal. */
  key(row: number): string {
    return withOrdinal(keyAt(this.#keys, row), this.#ordinals.get(row) ?? 0);
  }

  trajectory(row: number): string {
    return keyAt(this.#trajectoryKeys, this.trajectoryNumber(row));
  }

  /** Rows of one trajectory have one number; numbers follow the trajectories' first rows. */
  trajectoryNumber(row: number): number {
    return present(this.columns.trajectory[row]);
  }

  domain(row: number): Domain {
    return present(this.columns.domainNames[present(this.columns.domain[row])]);
  }

  /** The domains that rows have, in the order of their first rows. */
  get domains(): readonly Domain[] {
    return this.columns.domainNames;
  }

  /** The row's `id`: a string's text, or a number's digits. */
  id(row: number): string {
    const { ids, idEnd } = this.columns;
    const start = row === 0 ? 0 : present(idEnd[row - 1]);
    const text = Buffer.from(ids.buffer, ids.byteOffset + start, present(idEnd[row]) - start).toString('utf8');
    return text.startsWith('"') ? String(JSON.parse(text)) : text;
  }

  /** 1-based. */
  turnIdx(row: number): number {
    return present(this.columns.turnIdx[row]);
  }

  /** The number of the file in `Dataset.files`. */
  file(row: number): number {
    return this.columns.fileEnd.findIndex((end) => row < end);
  }

  /** 1-based. */
  line(row: number): number {
    return present(this.columns.line[row]);
  }

  /** Of the line's first byte. */
  offset(row: number): number {
    return present(this.columns.offset[row]);
  }

  /** Bytes of the line. */
  bytes(row: number): number {
    return present(this.columns.length[row]);
  }

  /** CRC-32 of the line's bytes. */
  checksum(row: number): number {
    return present(this.columns.checksum[row]);
  }

  /** The row with this key; undefined where there is none. */
  find(key: string): number | undefined {
    this.#find ??= this.#finder();
    return this.#find(key);
  }

  at(row: number): RowRef {
    return {
      position: row,
      key: this.key(row),
      trajectory: this.trajectory(row),
      domain: this.domain(row),
      id: this.id(row),
      turnIdx: this.turnIdx(row),
      file: this.file(row),
      line: this.line(row),
      offset: this.offset(row),
      length: this.bytes(row),
    };
  }

  *[Symbol.iterator](): Generator<RowRef> {
    for (let row = 0; row < this.length; row++) yield this.at(row);
  }

  /** SHA-256 hex over the keys of all rows in order, a line each. */
  async fingerprint(): Promise<string> {
    const hash = createHash('sha256');
    for await (const row of inTurns(this.columns.offset.keys())) {
      hash.update(row === 0 ? this.key(row) : `\n${this.key(row)}`);
    }
    return hash.digest('hex');
  }

  #finder(): (key: string) => number | undefined {
    const table = new KeyTable(this.columns.key);
    for (let row = 0; row < this.length; row++) table.add(row);
    const further = new Map([...this.#ordinals.keys()].map((row) => [this.key(row), row]));
    return (key) => (KEY.test(key) ? table.find(key) : further.get(key));
  }
}

const KEY = /^[0-9a-f]{24}$/;

/** Gives equal rows keys of their own: the first keeps the bare hash, each further one gets `-1`, `-2` ... behind it. */
function withOrdinal(hash: string, before: number): string {
  return before === 0 ? hash : `${hash}-${before}`;
}

/** Rows by key, in a table of numbers: of equal ones, the first. */
class KeyTable {
  readonly #keys: Uint32Array;
  /** The number behind a row's, so that 0 means nobody. */
  readonly #slots: Uint32Array;

  /** A table with room for all of these keys. */
  constructor(keys: Uint32Array) {
    this.#keys = keys;
    this.#slots = new Uint32Array(2 ** Math.ceil(Math.log2(Math.max(1, keys.length / KEY_WORDS) * TABLE_ROOM)));
  }

  /** The first row with this row's key: itself, where it is that. */
  add(row: number): number {
    const slot = this.#slotOf(this.#keys, row * KEY_WORDS);
    const taken = present(this.#slots[slot]);
    if (taken > 0) return taken - 1;
    this.#slots[slot] = row + 1;
    return row;
  }

  find(key: string): number | undefined {
    const taken = present(this.#slots[this.#slotOf(wordsOf(key), 0)]);
    return taken === 0 ? undefined : taken - 1;
  }

  /** The slot of the key that stands there, or the free one that it would take. */
  #slotOf(words: Uint32Array, at: number): number {
    const mask = this.#slots.length - 1;
    for (let slot = present(words[at]) & mask; ; slot = (slot + 1) & mask) {
      const taken = present(this.#slots[slot]);
      if (taken === 0 || this.#isAt((taken - 1) * KEY_WORDS, words, at)) return slot;
    }
  }

  #isAt(place: number, words: Uint32Array, at: number): boolean {
    for (let word = 0; word < KEY_WORDS; word++) {
      if (this.#keys[place + word] !== words[at + word]) return false;
    }
    return true;
  }
}
