// Predictions that leave their judge unreadable: whose fault that is, which only a whole judged file can tell.

import { isObject, type JsonObject } from '../core/json.js';
import type { JudgedRow } from '../core/types.js';

/** So many others have to have been judged, and so great a share of them read, for a row that could not be read to be at fault. */
const LEAST_OTHERS = 20;
const LEAST_SHARE = 0.95;
/** The measures of a choice, and what a prediction has of them whose judge could not choose. */
const WORST = { win_rate: 0, taken_for_real: 0 } as const;

/**
 * Hears every row of a judged file, and says in the end which of them are at fault that their judge could not be read: those of
 * predictions of which no judgement could be read in any try, where at least 95 % of this judge's other predictions, 20 or more, could.
 * They count as rating 1, or in modes that choose as the worst choice: nobody gains by confusing the judge. Else it is the judge's failure.
 */
export class ConfusingRows {
  readonly #unread: { readonly place: number; readonly id: string; readonly row: JudgedRow }[] = [];
  readonly #read = new Set<string>();
  readonly #worst: Record<string, number> = {};
  #isRated = false;

  take(place: number, row: JudgedRow, { awb }: JsonObject): void {
    const judge = isObject(awb) && isObject(awb.judge) ? awb.judge : {};
    const id = `${row.key} ${row.repeat}`;
    this.#isRated ||= row.failed !== undefined;
    for (const [name, worst] of Object.entries(WORST)) {
      if (row.measures?.[name] !== undefined) this.#worst[name] = worst;
    }
    if (judge.status === 'failed' && judge.class === 'unreadable') this.#unread.push({ place, id, row });
    else if (row.failure === undefined && (row.failed === 0 || judge.raw_outputs !== undefined)) this.#read.add(id);
  }

  /** The rows at fault, by their place among the rows. */
  get found(): ReadonlyMap<number, JudgedRow> {
    const unread = this.#unread.filter(({ id }) => !this.#read.has(id));
    const others = this.#read.size + new Set(unread.map(({ id }) => id)).size - 1;
    const counts = this.#isRated || Object.keys(this.#worst).length > 0;
    if (!counts || others < LEAST_OTHERS || this.#read.size < LEAST_SHARE * others) return new Map();
    return new Map(unread.map(({ place, row }) => [place, atFault(row, this.#isRated ? {} : this.#worst)]));
  }
}

function atFault(row: JudgedRow, worst: Readonly<Record<string, number>>): JudgedRow {
  const reason = row.failure?.reason ?? 'no reason was recorded';
  return { ...row, failure: { class: 'confusing', reason }, ...(Object.keys(worst).length > 0 && { measures: worst }) };
}
