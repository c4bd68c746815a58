// The rows of a domain as samples: each with its repeats, each of these with its judgements; and the figures that they have.

import { Column } from '../column.js';
import { groupedLists } from '../grouped-lists.js';
import type { Some } from '../groups.js';
import { TextNumbers } from '../hashed-texts.js';
import { type List, listOf } from '../list.js';
import { present } from '../present.js';
import { rowId, WORDS_OF_KEY } from '../row-id.js';
import { eachInSteps, type Steps } from '../steps.js';
import type { JudgedRow } from '../types.js';
import type { Observation } from './clusters.js';
import { mean } from './mean.js';
import { type Judgements, meanFigure } from './predictions.js';

/** Everything said of one row under one key: its repeats, each a prediction with its judgements. */
export type Repeats = Some<Judgements>;

/** Whether any of these rows is a further judgement of its prediction. */
export function* isJudgedAgain(rows: List<JudgedRow>): Steps<boolean> {
  let again = false;
  yield* eachInSteps(rows, ({ index }) => {
    again ||= index > 0;
  });
  return again;
}

/** Rows apart by prediction (key and repeat), in the order of their first rows. */
export function* predictionLists(rows: List<JudgedRow>, areAgain: boolean): Steps<List<Judgements>> {
  if (!areAgain) return listOf(rows.length, (place) => [present(rows.at(place))]);
  const groups = yield* groupedLists(rows, WORDS_OF_KEY, ({ key, repeat }) => rowId(key, repeat));
  return listOf(groups.length, (place) => someOf(present(groups.at(place))));
}

/** Predictions apart by row, in the order of their first ones. */
export function* samplesOf(predictions: List<Judgements>): Steps<List<Repeats>> {
  const groups = yield* groupedLists(predictions, WORDS_OF_KEY, ([{ key }]) => key);
  return listOf(groups.length, (place) => someOf(present(groups.at(place))));
}

function someOf<T>(group: List<T>): Some<T> {
  if (group.length === 1) return [present(group.at(0))];
  const [first, ...more] = group;
  return [present(first), ...more];
}

/** A sample's figure: the mean over its repeats that have it; undefined where none has. */
function sampleFigure(repeats: Repeats, figure: (row: JudgedRow) => number | undefined): number | undefined {
  const values: number[] = [];
  for (const judgements of repeats) {
    const value = meanFigure(judgements, figure);
    if (value !== undefined) values.push(value);
  }
  return values.length === 0 ? undefined : mean(values);
}

/** Gives each trajectory a number, which stands for it as a cluster. */
export type Clusters = TextNumbers;

export function clustersOf(): Clusters {
  return new TextNumbers(WORDS_OF_KEY);
}

/** Figures of samples by name; the names in the order in which they were first given. */
export class Figures {
  readonly byName = new Map<string, Observations>();

  constructor(private readonly clusters: Clusters) {}

  /** One observation where the sample has the figure in any of its repeats: their mean, in the cluster of its trajectory. */
  take(name: string, repeats: Repeats, figure: (row: JudgedRow) => number | undefined): void {
    const value = sampleFigure(repeats, figure);
    if (value === undefined) return;
    const known = this.byName.get(name) ?? new Observations();
    this.byName.set(name, known);
    known.add(value, this.clusters.add(repeats[0][0].trajectory));
  }
}

/** Observations in columns. */
class Observations implements List<Observation> {
  length = 0;
  readonly #values = new Column(Float64Array);
  readonly #clusters = new Column(Uint32Array);

  add(value: number, cluster: number): void {
    this.#values.put(this.length, value);
    this.#clusters.put(this.length++, cluster);
  }

  at(place: number): Observation | undefined {
    return place >= 0 && place < this.length
      ? { value: this.#values.at(place), cluster: this.#clusters.at(place) }
      : undefined;
  }

  *[Symbol.iterator](): Generator<Observation> {
    for (let place = 0; place < this.length; place++) yield present(this.at(place));
  }
}
