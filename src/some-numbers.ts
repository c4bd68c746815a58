// A number for some of many rows: four bytes for a whole one below 2^32, eight for any other.

import { Column } from './column.js';

/** A number for some of the places from 0 on. */
export class SomeNumbers {
  readonly #whole = new Column(Uint32Array);
  readonly #other = new Column(Float64Array);
  /** Two bits a place: none, a whole number, or another. */
  readonly #kinds = new Column(Uint32Array);

  /** Without a value the place has none, whatever it had before. */
  put(place: number, value: number | undefined): void {
    const kind = kindOf(value);
    if (kind === WHOLE) this.#whole.put(place, value ?? 0);
    if (kind === OTHER) this.#other.put(place, value ?? 0);
    const word = place >> 4;
    const shift = (place & 15) * 2;
    this.#kinds.put(word, (this.#kinds.at(word) & ~(3 << shift)) | (kind << shift));
  }

  at(place: number): number | undefined {
    const kind = (this.#kinds.at(place >> 4) >>> ((place & 15) * 2)) & 3;
    if (kind === WHOLE) return this.#whole.at(place);
    return kind === OTHER ? this.#other.at(place) : undefined;
  }
}

const NONE = 0;
const WHOLE = 1;
const OTHER = 2;

function kindOf(value: number | undefined): number {
  if (value === undefined) return NONE;
  return value >>> 0 === value ? WHOLE : OTHER;
}
