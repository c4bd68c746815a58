// Lists whose items are made when they are looked at: of 100,000 rows, only those in use are there.

import { present } from './present.js';

/** Items in an order, at places from 0 on. An array is one. */
export interface List<T> extends Iterable<T> {
  readonly length: number;
  /** The item at a place; undefined where the list has no such place. It may be made anew each time. */
  at(place: number): T | undefined;
}

/** A list of so many items. */
export function listOf<T>(length: number, itemAt: (place: number) => T): List<T> {
  return {
    length,
    at: (place) => (place >= 0 && place < length ? itemAt(place) : undefined),
    *[Symbol.iterator]() {
      for (let place = 0; place < length; place++) yield itemAt(place);
    },
  };
}

/** The items at some of a list's places, in the order of these. */
export function itemsAt<T>(list: List<T>, places: Uint32Array): List<T> {
  return listOf(places.length, (place) => present(list.at(present(places[place]))));
}

/** The items of a list for which something holds, as it holds now; four bytes are kept of each. */
export function filtered<T>(list: List<T>, holds: (item: T) => boolean): List<T> {
  const places = new Uint32Array(list.length);
  let count = 0;
  let place = 0;
  for (const item of list) {
    if (holds(item)) places[count++] = place;
    place++;
  }
  return itemsAt(list, places.slice(0, count));
}
