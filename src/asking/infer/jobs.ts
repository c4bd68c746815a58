// The predictions that a run of infer consists of: which rows in which repeats, and in which order they are asked for.

import { inTurns, roomInTurn } from '../../bench/loop-turn.js';
import type { RowIndex } from '../../bench/row-index.js';
import { ORDERS } from '../../bench/selection.js';
import { Column } from '../../column.js';
import { type List, listOf } from '../../list.js';
import { present } from '../../present.js';
import { parseRowId, rowId } from '../../row-id.js';
import type { StageJob } from '../stage-contract.js';
import type { InferSettings } from './options.js';

/** One row in one of its repeats. */
export class InferJob implements StageJob {
  readonly #rows: RowIndex;

  /** @param row the row's number in the data */
  constructor(
    rows: RowIndex,
    readonly row: number,
    readonly repeat: number,
  ) {
    this.#rows = rows;
  }

  get id(): string {
    return rowId(this.#rows.key(this.row), this.repeat);
  }

  get domain(): string {
    return this.#rows.domain(this.row);
  }

  get group(): string {
    return this.#rows.trajectory(this.row);
  }
}

/** Every repeat of a row that is chosen now or has a record, in the order of `rows`. `chosen` are some of these; `recorded` are the ids of the run's records. */
export async function jobsOf(
  rows: RowIndex,
  chosen: Uint32Array,
  repeats: number,
  recorded: Iterable<string>,
): Promise<List<InferJob>> {
  const isChosen = new Uint8Array(rows.length);
  for (const row of chosen) isChosen[row] = 1;
  const wanted = (row: number) => (isChosen[row] === 1 ? repeats : 0);
  // Where every row is wanted, most records are told by their repeats alone.
  const fewest = chosen.length === rows.length ? repeats : 0;
  const further = await recordedBeside(rows, recorded, wanted, fewest);
  const [rowOf, repeatOf] = [new Column(Uint32Array), new Column(Uint32Array)];
  await roomInTurn();
  let count = 0;
  const add = (row: number, repeat: number) => {
    rowOf.put(count, row);
    repeatOf.put(count, repeat);
    count++;
  };
  for (let row = 0; row < rows.length; row++) {
    for (let repeat = 0; repeat < wanted(row); repeat++) add(row, repeat);
    for (const repeat of further.get(row) ?? []) add(row, repeat);
  }
  return listOf(count, (place) => new InferJob(rows, rowOf.at(place), repeatOf.at(place)));
}

/** The repeats beside the wanted ones that there are records of, in their order, by row. */
async function recordedBeside(
  rows: RowIndex,
  ids: Iterable<string>,
  wanted: (row: number) => number,
  fewest: number,
): Promise<Map<number, Uint32Array>> {
  const found = new Map<number, number[]>();
  for await (const id of inTurns(ids)) {
    const { key = '', repeat = 0, index } = parseRowId(id) ?? {};
    const row = index === 0 && repeat >= fewest ? rows.find(key) : undefined;
    if (row === undefined || repeat < wanted(row) || rowId(key, repeat) !== id) continue;
    const repeats = found.get(row);
    if (repeats === undefined) found.set(row, [repeat]);
    else repeats.push(repeat);
  }
  return new Map([...found].map(([row, repeats]) => [row, Uint32Array.from(repeats).sort()]));
}

/**
 * Under `prefix` the repeats of a row follow each other: they share all of their prompt, and only the first of them is paid in full.
 * Under other orders every row has been asked once before any is asked again. Whoever wants that under `prefix`, too, gives the command
 * once without repeats, and once with them.
 */
export async function inAskingOrder(
  rows: RowIndex,
  chosen: Uint32Array,
  { order, sampleSeed, repeats }: Pick<InferSettings, 'order' | 'sampleSeed' | 'repeats'>,
): Promise<List<InferJob>> {
  await roomInTurn();
  const ordered = ORDERS[order](rows, chosen, sampleSeed);
  const jobAt = (place: number, repeat: number) => new InferJob(rows, present(ordered[place]), repeat);
  return listOf(ordered.length * repeats, (place) =>
    order === 'prefix'
      ? jobAt(Math.floor(place / repeats), place % repeats)
      : jobAt(place % ordered.length, Math.floor(place / ordered.length)),
  );
}
