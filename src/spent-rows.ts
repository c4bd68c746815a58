// What many rows took, in columns: some 70 bytes each, and an object is made of them when it is looked at.

import type { Spent } from './costs.js';
import { TextNumbers } from './hashed-texts.js';
import { InternedValues } from './interned-values.js';
import { WORDS_OF_KEY } from './row-id.js';
import { SomeNumbers } from './some-numbers.js';
import type { CallLog, Usage } from './types.js';
import { TOKEN_KINDS } from './usage.js';

const NUMBERS = ['firstTokenMs', 'tries', 'chars', 'batched'] as const;

/** What each row took by its record's id; the ids in the order in which they first came. */
export class SpentRows implements Iterable<readonly [id: string, Spent]> {
  readonly #ids = new TextNumbers(WORDS_OF_KEY);
  /** Only of rows that have a log. */
  readonly #attempts = new SomeNumbers();
  readonly #ms = new SomeNumbers();
  readonly #host = new InternedValues<string>();
  readonly #usd = new SomeNumbers();
  readonly #tokens = TOKEN_KINDS.map((kind) => ({ kind, column: new SomeNumbers() }));
  readonly #more = NUMBERS.map((name) => ({ name, column: new SomeNumbers() }));
  readonly #uncounted = { sent: new SomeNumbers(), received: new SomeNumbers() };

  get(id: string): Spent | undefined {
    const place = this.#ids.find(id);
    return place === undefined ? undefined : this.#at(place);
  }

  /** A row's records, each of them once. */
  add(id: string, spent: Spent, together: (before: Spent, later: Spent) => Spent): void {
    const count = this.#ids.size;
    const place = this.#ids.add(id);
    this.#put(place, place < count ? together(this.#at(place), spent) : spent);
  }

  *[Symbol.iterator](): Generator<readonly [id: string, Spent]> {
    for (let place = 0; place < this.#ids.size; place++) yield [this.#ids.at(place), this.#at(place)];
  }

  #put(place: number, { log, usd }: Spent): void {
    this.#usd.put(place, usd);
    this.#attempts.put(place, log?.attempts);
    this.#ms.put(place, log?.ms);
    this.#host.put(place, log?.host ?? '', log?.host ?? '');
    for (const { kind, column } of this.#tokens) column.put(place, log?.usage[kind]);
    for (const { name, column } of this.#more) column.put(place, log?.[name]);
    this.#uncounted.sent.put(place, log?.uncounted?.sent);
    this.#uncounted.received.put(place, log?.uncounted?.received);
  }

  #at(place: number): Spent {
    const usd = this.#usd.at(place);
    const log = this.#logAt(place);
    return { ...(log && { log }), ...(usd === undefined ? {} : { usd }) };
  }

  #logAt(place: number): CallLog | undefined {
    const [attempts, ms] = [this.#attempts.at(place), this.#ms.at(place)];
    if (attempts === undefined || ms === undefined) return undefined;
    const usage: Usage = {};
    for (const { kind, column } of this.#tokens) {
      const tokens = column.at(place);
      if (tokens !== undefined) usage[kind] = tokens;
    }
    const more: { -readonly [Name in (typeof NUMBERS)[number]]?: number } = {};
    for (const { name, column } of this.#more) {
      const value = column.at(place);
      if (value !== undefined) more[name] = value;
    }
    const [sent, received] = [this.#uncounted.sent.at(place), this.#uncounted.received.at(place)];
    const uncounted = sent === undefined || received === undefined ? undefined : { sent, received };
    return { attempts, usage, ms, host: this.#host.at(place), ...more, ...(uncounted && { uncounted }) };
  }
}
