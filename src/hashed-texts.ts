// Many texts in little memory, where most begin with a hash in hex: its digits as numbers, and what stands behind them once for all.

import { Column } from './column.js';
import { present } from './present.js';

/**
 * A text for each index from 0 on, the empty one where none was put. Any text may be put. One that begins with as many hex digits as
 * expected costs four bytes for eight of them, and its ending is kept once for all texts that share it; another is kept as it is.
 */
export class HashedTexts {
  readonly #parts: PartColumns;

  /** @param wordCount hex digits of the hashes, divided by eight; 3 at most */
  constructor(private readonly wordCount: number) {
    this.#parts = new PartColumns(wordCount);
  }

  put(index: number, text: string): void {
    this.#parts.put(index, partsOf(text, this.wordCount));
  }

  at(index: number): string {
    return this.#parts.textAt(index);
  }
}

const FIRST_ROOM = 64;
/** A table is never fuller, so that a search ends soon. */
const FULLEST = 3 / 4;

/** Gives each text a number, from 0 on in the order in which they come, and finds it again; it keeps them as `HashedTexts` does. */
export class TextNumbers {
  size = 0;
  readonly #parts: PartColumns;
  /** By number: a table that grows would otherwise take tens of milliseconds to make them all anew. */
  readonly #hashes = new Column(Uint32Array);
  /** By the texts' hashes: a number and 1, or 0 where nobody stands. */
  #table = new Uint32Array(FIRST_ROOM);

  constructor(private readonly wordCount: number) {
    this.#parts = new PartColumns(wordCount);
  }

  /** The text's number; a new one where it has none yet. */
  add(text: string): number {
    if (this.size + 1 > this.#table.length * FULLEST) this.#grow();
    const parts = partsOf(text, this.wordCount);
    const hash = hashOf(parts);
    const place = this.#placeOf(parts, hash);
    const found = present(this.#table[place]) - 1;
    if (found >= 0) return found;
    const number = this.size++;
    this.#parts.put(number, parts);
    this.#hashes.put(number, hash);
    this.#table[place] = number + 1;
    return number;
  }

  find(text: string): number | undefined {
    const parts = partsOf(text, this.wordCount);
    const number = present(this.#table[this.#placeOf(parts, hashOf(parts))]) - 1;
    return number < 0 ? undefined : number;
  }

  at(number: number): string {
    return this.#parts.textAt(number);
  }

  *[Symbol.iterator](): Generator<string> {
    for (let number = 0; number < this.size; number++) yield this.at(number);
  }

  /** Where the text stands in the table, or where it would. */
  #placeOf(parts: Parts, hash: number): number {
    const mask = this.#table.length - 1;
    for (let place = hash & mask; ; place = (place + 1) & mask) {
      const number = present(this.#table[place]) - 1;
      if (number < 0 || this.#parts.isAt(number, parts)) return place;
    }
  }

  #grow(): void {
    const table = new Uint32Array(this.#table.length * 2);
    const mask = table.length - 1;
    for (let number = 0; number < this.size; number++) {
      let place = this.#hashes.at(number) & mask;
      while (table[place] !== 0) place = (place + 1) & mask;
      table[place] = number + 1;
    }
    this.#table = table;
  }
}

/** A text in its parts. */
interface Parts {
  /** The hash before the ending; none where the text does not begin with one. */
  readonly words: readonly number[];
  readonly ending: string;
}

interface Ending {
  readonly text: string;
  readonly isWhole: boolean;
}

/** The parts of a text for each index. */
class PartColumns {
  readonly #words = new Column(Uint32Array);
  readonly #endings = new Column(Uint32Array);
  /** The first is that of an empty text. */
  readonly #known: Ending[] = [{ text: '', isWhole: true }];
  readonly #numbers = { whole: new Map([['', 0]]), behindHash: new Map<string, number>() };

  constructor(private readonly wordCount: number) {}

  put(index: number, { words, ending }: Parts): void {
    for (let word = 0; word < this.wordCount; word++) this.#words.put(index * this.wordCount + word, words[word] ?? 0);
    this.#endings.put(index, this.#numberOf(ending, words.length === 0));
  }

  at(index: number): Parts {
    const { text: ending, isWhole } = present(this.#known[this.#endings.at(index)]);
    const words: number[] = [];
    for (let word = 0; word < this.wordCount && !isWhole; word++) {
      words.push(this.#words.at(index * this.wordCount + word));
    }
    return { words, ending };
  }

  textAt(index: number): string {
    const { text, isWhole } = present(this.#known[this.#endings.at(index)]);
    return isWhole ? text : hexOf(this.at(index).words) + text;
  }

  isAt(index: number, { words, ending }: Parts): boolean {
    const known = present(this.#known[this.#endings.at(index)]);
    if (known.isWhole !== (words.length === 0) || known.text !== ending) return false;
    for (let word = 0; word < words.length; word++) {
      if (words[word] !== this.#words.at(index * this.wordCount + word)) return false;
    }
    return true;
  }

  #numberOf(text: string, isWhole: boolean): number {
    const numbers = isWhole ? this.#numbers.whole : this.#numbers.behindHash;
    const known = numbers.get(text);
    if (known !== undefined) return known;
    const number = this.#known.push({ text, isWhole }) - 1;
    numbers.set(text, number);
    return number;
  }
}

/** Hex digits of a word of 32 bits. */
const DIGITS = 8;
const HEX_OF_BYTE = Array.from({ length: 256 }, (_, byte) => byte.toString(16).padStart(2, '0'));

/** Lower-case hex alone is a hash: the text has to come back as it was. Digit by digit, since every look at a row by its id comes here. */
function partsOf(text: string, wordCount: number): Parts {
  const words: number[] = [];
  const end = wordCount * DIGITS;
  let word = 0;
  for (let at = 0; at < end; at++) {
    const digit = digitOf(text.charCodeAt(at));
    if (digit === -1) return { words: [], ending: text };
    word = (word << 4) | digit;
    if (at % DIGITS === DIGITS - 1) words.push(word >>> 0);
  }
  return { words, ending: text.slice(end) };
}

/** What a lower-case hex digit stands for; -1 for anything else, and behind a text's end. */
function digitOf(code: number): number {
  if (code >= 0x30 && code <= 0x39) return code - 0x30;
  return code >= 0x61 && code <= 0x66 ? code - 0x57 : -1;
}

function hexOf(words: readonly number[]): string {
  let hex = '';
  for (const word of words) for (let shift = 24; shift >= 0; shift -= 8) hex += HEX_OF_BYTE[(word >>> shift) & 0xff];
  return hex;
}

/** A number that equal texts share, and few others. */
function hashOf({ words, ending }: Parts): number {
  let hash = 0x811c9dc5;
  for (const word of words) hash = mixed(hash, word);
  for (let at = 0; at < ending.length; at++) hash = mixed(hash, ending.charCodeAt(at));
  return hash;
}

function mixed(hash: number, value: number): number {
  const product = Math.imul(hash ^ value, 0x9e3779b1);
  // The low bits of a product follow the low bits alone.
  return product ^ (product >>> 15);
}
