// What stays in memory of a finished row, and the shelf that keeps so much of every row of a run.

import { Column } from '../column.js';
import { HashedTexts } from '../hashed-texts.js';
import { isInteger } from '../json.js';
import { present } from '../present.js';
import type { Shelf } from '../run/journal.js';
import type { Usage } from '../types.js';

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
  /** What the record was made from and with (see `AskedStage.stampOf`). */
  readonly stamp: string;
}

/** What few records differ in. */
type Common = Omit<RowSummary, 'usage' | 'chars' | 'stamp'>;
type Counts = Pick<RowSummary, 'usage' | 'chars'>;

const TOKENS = [
  'promptTokens',
  'cachedTokens',
  'writtenTokens',
  'completionTokens',
  'reasoningTokens',
] as const satisfies (keyof Usage)[];
/** A column holds a count and 1, so that 0 is a count that is absent. */
const MOST_IN_COLUMN = 2 ** 32 - 2;
/** The stamp of a prediction begins with so many words of hex digits. */
const WORDS_OF_STAMP = 2;

/** Keeps the summaries of a run's records, about thirty bytes each, and gives back what was put. */
export class SummaryShelf implements Shelf<RowSummary> {
  readonly #common: Common[] = [];
  readonly #commonNumbers = new Map<string, number>();
  readonly #commonOf = new Column(Uint32Array);
  readonly #stamps = new HashedTexts(WORDS_OF_STAMP);
  /** Those kinds of tokens that a record has had. */
  readonly #tokens: { readonly name: keyof Usage; readonly column: Column }[] = [];
  readonly #chars = new Column(Uint32Array);
  /** Counts that fit into no column: greater ones, and whatever else older versions and other hands have written. */
  readonly #odd = new Map<number, Counts>();

  put(number: number, { usage, chars, stamp, ...common }: RowSummary): void {
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
    const common = present(this.#common[this.#commonOf.at(number)]);
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

  #makeColumn(name: keyof Usage): void {
    if (this.#tokens.every((known) => known.name !== name))
      this.#tokens.push({ name, column: new Column(Uint32Array) });
  }

  #numberOf(common: Common): number {
    const text = JSON.stringify(common);
    const known = this.#commonNumbers.get(text);
    if (known !== undefined) return known;
    const number = this.#common.push(common) - 1;
    this.#commonNumbers.set(text, number);
    return number;
  }
}

/** As it stands in a column. */
function kept(count: number | undefined): number {
  return count === undefined ? 0 : count + 1;
}

function isToken(name: string): name is keyof Usage {
  return TOKENS.some((token) => token === name);
}

function isCount(value: unknown): boolean {
  return isInteger(value) && value >= 0 && value <= MOST_IN_COLUMN;
}
