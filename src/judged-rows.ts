// Many judged rows in columns: some 100 bytes each, and a row is made when it is looked at.

import { HashedTexts, TextNumbers } from './hashed-texts.js';
import { InternedValues } from './interned-values.js';
import type { List } from './list.js';
import { present } from './present.js';
import { rowId, WORDS_OF_KEY } from './row-id.js';
import { SomeNumbers } from './some-numbers.js';
import { DIMENSIONS, type JudgedRow, type Ratings } from './types.js';

/** Rows in the order in which they were added, each once: no two share key, repeat and index. */
export class JudgedRows implements List<JudgedRow> {
  /** Whether any row stands in a rollout. */
  hasRollout = false;
  readonly #ids = new TextNumbers(WORDS_OF_KEY);
  readonly #keyLength = new SomeNumbers();
  readonly #trajectory = new HashedTexts(WORDS_OF_KEY);
  readonly #numbers = {
    repeat: new SomeNumbers(),
    index: new SomeNumbers(),
    turnIdx: new SomeNumbers(),
    total: new SomeNumbers(),
  };
  readonly #failed = new SomeNumbers();
  readonly #ratings = DIMENSIONS.map((dimension) => ({ dimension, column: new SomeNumbers() }));
  readonly #measures = new Map<string, SomeNumbers>();
  readonly #domain = new InternedValues<JudgedRow['domain']>();
  readonly #flags = new InternedValues<JudgedRow['flags']>();
  readonly #failure = new InternedValues<JudgedRow['failure']>();
  readonly #rollout = new Map<number, JudgedRow['rollout']>();

  get length(): number {
    return this.#ids.size;
  }

  add(row: JudgedRow): void {
    const count = this.length;
    const place = this.#ids.add(rowId(row.key, row.repeat, row.index));
    if (place < count) throw new Error('a judged row was added twice');
    this.#keyLength.put(place, row.key.length);
    this.#trajectory.put(place, row.trajectory);
    for (const name of NUMBERS) this.#numbers[name].put(place, row[name]);
    this.#failed.put(place, row.failed);
    for (const { dimension, column } of this.#ratings) column.put(place, row.ratings[dimension]);
    this.#domain.put(place, row.domain, row.domain);
    this.#flags.put(place, row.flags, JSON.stringify(row.flags));
    this.judge(place, row);
    if (row.rollout === undefined) return;
    this.#rollout.set(place, row.rollout);
    this.hasRollout = true;
  }

  /** Puts failure and measures of that row in place of the ones that stand there. */
  judge(place: number, { failure, measures }: JudgedRow): void {
    for (const [name, measure] of Object.entries(measures ?? {})) this.#measureColumn(name).put(place, measure);
    this.#failure.put(place, failure, JSON.stringify([failure?.class, failure?.reason]));
  }

  at(place: number): JudgedRow | undefined {
    // Its getters give undefined where a row lacks a member, and no reader tells that from a member that is not there.
    return place >= 0 && place < this.length ? (new RowAt(this, place) as unknown as JudgedRow) : undefined;
  }

  *[Symbol.iterator](): Generator<JudgedRow> {
    for (let place = 0; place < this.length; place++) yield present(this.at(place));
  }

  keyAt(place: number): string {
    return this.#ids.at(place).slice(0, this.#keyLength.at(place));
  }

  trajectoryAt(place: number): string {
    return this.#trajectory.at(place);
  }

  numberAt(name: (typeof NUMBERS)[number], place: number): number {
    return present(this.#numbers[name].at(place));
  }

  domainAt(place: number): JudgedRow['domain'] {
    return this.#domain.at(place);
  }

  failedAt(place: number): number | undefined {
    return this.#failed.at(place);
  }

  ratingsAt(place: number): Ratings {
    const ratings: Ratings = {};
    for (const { dimension, column } of this.#ratings) {
      const rating = column.at(place);
      if (rating !== undefined) ratings[dimension] = rating;
    }
    return ratings;
  }

  measuresAt(place: number): JudgedRow['measures'] {
    let measures: Record<string, number> | undefined;
    for (const [name, column] of this.#measures) {
      const measure = column.at(place);
      if (measure === undefined) continue;
      measures ??= {};
      measures[name] = measure;
    }
    return measures;
  }

  flagsAt(place: number): JudgedRow['flags'] {
    return this.#flags.at(place);
  }

  failureAt(place: number): JudgedRow['failure'] {
    return this.#failure.at(place);
  }

  rolloutAt(place: number): JudgedRow['rollout'] {
    return this.#rollout.get(place);
  }

  #measureColumn(name: string): SomeNumbers {
    const known = this.#measures.get(name);
    if (known !== undefined) return known;
    const column = new SomeNumbers();
    this.#measures.set(name, column);
    return column;
  }
}

const NUMBERS = ['repeat', 'index', 'turnIdx', 'total'] as const;

/** A row, whose members are read from the columns; those that are put together are made once. */
class RowAt {
  #ratings: Ratings | undefined;
  #measures: JudgedRow['measures'];

  constructor(
    private readonly rows: JudgedRows,
    private readonly place: number,
  ) {}

  get key() {
    return this.rows.keyAt(this.place);
  }

  get trajectory() {
    return this.rows.trajectoryAt(this.place);
  }

  get repeat() {
    return this.rows.numberAt('repeat', this.place);
  }

  get index() {
    return this.rows.numberAt('index', this.place);
  }

  get turnIdx() {
    return this.rows.numberAt('turnIdx', this.place);
  }

  get total() {
    return this.rows.numberAt('total', this.place);
  }

  get domain() {
    return this.rows.domainAt(this.place);
  }

  get failed() {
    return this.rows.failedAt(this.place);
  }

  get ratings() {
    this.#ratings ??= this.rows.ratingsAt(this.place);
    return this.#ratings;
  }

  get measures() {
    this.#measures ??= this.rows.measuresAt(this.place);
    return this.#measures;
  }

  get flags() {
    return this.rows.flagsAt(this.place);
  }

  get failure() {
    return this.rows.failureAt(this.place);
  }

  get rollout() {
    return this.rows.rolloutAt(this.place);
  }
}
