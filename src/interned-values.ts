// A value for each of many rows, where few values differ: four bytes a row, and each value once.

import { Column } from './column.js';

/** A value for each place from 0 on, of which few differ. */
export class InternedValues<T> {
  readonly #values: T[] = [];
  readonly #known = new Map<string, number>();
  readonly #numbers = new Column(Uint32Array);

  /** @param text what equal values share */
  put(place: number, value: T, text: string): void {
    const known = this.#known.get(text) ?? this.#values.push(value) - 1;
    this.#known.set(text, known);
    this.#numbers.put(place, known);
  }

  at(place: number): T {
    // A number stands for each value that was put.
    return this.#values[this.#numbers.at(place)] as T;
  }
}
