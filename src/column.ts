// A column of numbers, one a row, that grows with the rows: four or eight bytes each, and none where all of them are 0.

/** A chunk has 4096 numbers: a column has room for less than so many more than it holds, and is never copied to grow. */
const CHUNK_BITS = 12;
const CHUNK = 1 << CHUNK_BITS;
const WITHIN = CHUNK - 1;

type Numbers = Float64Array | Uint32Array;

/** A number for each index from 0 to 2^31 - 1; 0 where none was put. */
export class Column {
  readonly #chunks: (Numbers | undefined)[] = [];

  /** @param type what the numbers fit into: `Uint32Array`, or `Float64Array` */
  constructor(private readonly type: new (length: number) => Numbers) {}

  at(index: number): number {
    return this.#chunks[index >> CHUNK_BITS]?.[index & WITHIN] ?? 0;
  }

  put(index: number, value: number): void {
    const place = index >> CHUNK_BITS;
    let chunk = this.#chunks[place];
    if (chunk === undefined) {
      if (value === 0) return;
      chunk = new this.type(CHUNK);
      this.#chunks[place] = chunk;
    }
    chunk[index & WITHIN] = value;
  }
}
