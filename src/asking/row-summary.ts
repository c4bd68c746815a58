// What stays in memory of a finished row, and the shelf that keeps so much of every row of a run.

import { Column } from '../column.js';
import { HashedTexts } from '../hashed-texts.js';
import { isInteger } from '../json.js';
import { present } from '../present.js';
import type { Shelf } from '../run/journal.js';
import type { Usage } from '../types.js';
import { isCounted, TOKEN_KINDS } from '../usage.js';

/** What a finished row has come to. */
export interface RowState {
  readonly status: 'ok' | 'failed';
  readonly class?: string;
  /** Of a failed row. */
  readonly reason?: string;
  readonly flags: readonly string[];
}

/** What stays in memory of a finished row. */
export interface RowSummary extends RowState {
  /** What the row's record has cost, over all its tries. */
  readonly usage: Usage;
  /** Characters that were sent, where one call is all that the record took. */
  readonly chars?: number;
  /** Tries of all its calls; 0 for a record that needed none. */
  readonly attempts: number;
  /** Calls that the usage is of. */
  readonly calls: number;
  /** What earlier records of the row took that asked for it, too; absent where there is none. The shelf says so of what it gives. */
  readonly earlier?: readonly Taken[];
  /** What the record was made from and with (see `AskedStage.stampOf`). */
  readonly stamp: string;
}

/** What one record took. */
type Taken = Pick<RowSummary, 'usage' | 'calls'>;

/** What few records differ in. */
type Common = Omit<RowSummary, 'usage' | 'chars' | 'stamp' | 'earlier'>;
type Counts = Pick<RowSummary, 'usage' | 'chars'>;

/** What is kept of earlier records of a row that nobody counted: many rows may have failed so, and one text says it of all. */
const UNCOUNTED: readonly Taken[] = [{ usage: {}, calls: 1 }];
/** A column holds a count and 1, so that 0 is a count that is absent. */
const MOST_IN_COLUMN = 2 ** 32 - 2;
/** The stamp of a prediction begins with so many words of hex digits. */
const WORDS_OF_STAMP = 2;

/** Keeps the summaries of a run's records, about thirty bytes each, and gives back what was put; of a row's earlier ones, what they took. */
export class SummaryShelf implements Shelf<RowSummary> {
  /** Rows whose latest record is good. */
  finished = 0;
  readonly #common: Common[] = [];
  readonly #commonNumbers = new Map<string, number>();
  readonly #commonOf = new Column(Uint32Array);
  readonly #stamps = new HashedTexts(WORDS_OF_STAMP);
  readonly #earlier = new Map<number, readonly Taken[]>();
  /** Those kinds of tokens that a record has had. */
  readonly #tokens: { readonly name: keyof Usage; readonly column: Column }[] = [];
  readonly #chars = new Column(Uint32Array);
  /** Counts that fit into no column: greater ones, and whatever else older versions and other hands have written. */
  readonly #odd = new Map<number, Counts>();

  put(number: number, { usage, chars, stamp, earlier: _, ...common }: RowSummary): void {
    if (this.#commonOf.at(number) > 0) this.#keepTaken(number);
    this.finished += Number(common.status === 'ok') - Number(this.#commonAt(number)?.status === 'ok');
    const names = Object.keys(usage);
    const isPlain = isCount(chars ?? 0) && names.every(isToken) && Object.values(usage).every(isCount);
    if (isPlain) for (const name of names) this.#makeColumn(name);
    for (const { name, column } of this.#tokens) column.put(number, isPlain ? kept(usage[name]) : 0);
    this.#chars.put(number, isPlain ? kept(chars) : 0);
    if (isPlain) this.#odd.delete(number);
    else this.#odd.set(number, { usage, ...(chars === undefined ? {} : { chars }) });
    this.#stamps.put(number, stamp);
    this.#commonOf.put(number, this.#numberOf(common));
  }

  at(number: number): RowSummary {
    const earlier = this.#earlier.get(number);
    const summary = this.#latest(number);
    return earlier === undefined ? summary : { ...summary, earlier };
  }

  #latest(number: number): RowSummary {
    const common = present(this.#commonAt(number));
    const stamp = this.#stamps.at(number);
    const odd = this.#odd.get(number);
    if (odd !== undefined) return { ...common, ...odd, stamp };
    const usage: Usage = {};
    for (const { name, column } of this.#tokens) {
      const count = column.at(number);
      if (count > 0) usage[name] = count - 1;
    }
    const chars = this.#chars.at(number);
    return chars > 0 ? { ...common, usage, chars: chars - 1, stamp } : { ...common, usage, stamp };
  }

  #commonAt(number: number): Common | undefined {
    return this.#common[this.#commonOf.at(number) - 1];
  }

  #makeColumn(name: keyof Usage): void {
    if (this.#tokens.every((known) => known.name !== name))
      this.#tokens.push({ name, column: new Column(Uint32Array) });
  }

  /** Before another record takes the place of the latest. */
  #keepTaken(number: number): void {
    const { usage, calls, attempts } = this.#latest(number);
    const earlier = this.#earlier.get(number);
    if (attempts === 0) return;
    if (isCounted(usage)) this.#earlier.set(number, [...(earlier ?? []), { usage, calls }]);
    else if (earlier === undefined) this.#earlier.set(number, UNCOUNTED);
  }

  /** From 1: a column has 0 where nothing was put. */
  #numberOf(common: Common): number {
    const text = JSON.stringify(common);
    const known = this.#commonNumbers.get(text);
    if (known !== undefined) return known;
    const number = this.#common.push(common);
    this.#commonNumbers.set(text, number);
    return number;
  }
}

/** As it stands in a column. */
function kept(count: number | undefined): number {
  return count === undefined ? 0 : count + 1;
}

function isToken(name: string): name is keyof Usage {
  return TOKEN_KINDS.some((token) => token === name);
}

function isCount(value: unknown): boolean {
  return isInteger(value) && value >= 0 && value <= MOST_IN_COLUMN;
}
