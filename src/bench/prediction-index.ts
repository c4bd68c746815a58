// The index of a predictions file: what is known of each prediction, column by column, and read from there when it is looked at.

import { Column } from '../column.js';
import { HashedTexts } from '../hashed-texts.js';
import { InternedValues } from '../interned-values.js';
import type { List } from '../list.js';
import type { NoPrediction } from '../prediction.js';
import { WORDS_OF_KEY } from '../row-id.js';
import type { Domain } from '../types.js';
import type { PredictionRef } from './prediction-ref.js';

/** A stamp is 16 hex digits. */
const WORDS_OF_STAMP = 2;

/** One entry a prediction; what most of them have is number 0, and costs nothing. */
class Columns {
  readonly key = new HashedTexts(WORDS_OF_KEY);
  readonly trajectory = new HashedTexts(WORDS_OF_KEY);
  readonly stamp = new HashedTexts(WORDS_OF_STAMP);
  readonly offset = new Column(Float64Array);
  readonly length = new Column(Uint32Array);
  readonly checksum = new Column(Uint32Array);
  readonly line = new Column(Uint32Array);
  readonly turnIdx = new Column(Uint32Array);
  /** Whoever wrote the file may have written any whole number. */
  readonly repeat = new Column(Float64Array);
  readonly index = new Column(Float64Array);
  /** The number and 1. */
  readonly row = new Column(Uint32Array);
  readonly domain = new InternedValues<Domain>();
  readonly failure = new InternedValues<NoPrediction | undefined>();
}

/** The predictions of a file, about 60 bytes each beside the texts that are no hashes. */
export class PredictionIndex implements List<PredictionRef> {
  length = 0;
  readonly #columns = new Columns();

  add(ref: PredictionRef): void {
    const columns = this.#columns;
    const number = this.length++;
    for (const name of ['key', 'trajectory', 'stamp'] as const) columns[name].put(number, ref[name]);
    for (const name of ['offset', 'length', 'checksum', 'line', 'turnIdx', 'repeat', 'index'] as const) {
      columns[name].put(number, ref[name]);
    }
    columns.row.put(number, ref.row === undefined ? 0 : ref.row + 1);
    columns.domain.put(number, ref.domain, ref.domain);
    columns.failure.put(number, ref.failure, JSON.stringify(ref.failure) ?? '');
  }

  at(number: number): PredictionRef | undefined {
    return number >= 0 && number < this.length ? new IndexedPrediction(this.#columns, number) : undefined;
  }

  *[Symbol.iterator](): Generator<PredictionRef> {
    for (let number = 0; number < this.length; number++) yield new IndexedPrediction(this.#columns, number);
  }
}

/** A prediction as it stands in the columns. */
class IndexedPrediction implements PredictionRef {
  readonly #columns: Columns;
  readonly #number: number;

  constructor(columns: Columns, number: number) {
    this.#columns = columns;
    this.#number = number;
  }

  get key(): string {
    return this.#columns.key.at(this.#number);
  }

  get trajectory(): string {
    return this.#columns.trajectory.at(this.#number);
  }

  get stamp(): string {
    return this.#columns.stamp.at(this.#number);
  }

  get offset(): number {
    return this.#columns.offset.at(this.#number);
  }

  get length(): number {
    return this.#columns.length.at(this.#number);
  }

  get checksum(): number {
    return this.#columns.checksum.at(this.#number);
  }

  get line(): number {
    return this.#columns.line.at(this.#number);
  }

  get turnIdx(): number {
    return this.#columns.turnIdx.at(this.#number);
  }

  get repeat(): number {
    return this.#columns.repeat.at(this.#number);
  }

  get index(): number {
    return this.#columns.index.at(this.#number);
  }

  get domain(): Domain {
    return this.#columns.domain.at(this.#number);
  }

  get failure(): NoPrediction | undefined {
    return this.#columns.failure.at(this.#number);
  }

  get row(): number | undefined {
    const row = this.#columns.row.at(this.#number);
    return row === 0 ? undefined : row - 1;
  }
}
