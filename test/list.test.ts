// Lists whose items are made when they are looked at.

import { expect, test } from 'vitest';
import { filtered, itemsAt, type List, listOf } from '../src/list.js';

const squares: List<number> = listOf(4, (place) => place * place);

test('a list has the items of its places, and none beside them', () => {
  expect([...squares]).toEqual([0, 1, 4, 9]);
  expect([squares.at(0), squares.at(3), squares.at(4), squares.at(-1)]).toEqual([0, 9, undefined, undefined]);
});

test('items can be taken from places in any order', () => {
  expect([...itemsAt(squares, Uint32Array.of(3, 0, 3))]).toEqual([9, 0, 9]);
});

test('what is filtered stays what it was, whatever holds later', () => {
  let least = 1;
  const large = filtered(squares, (item) => item > least);
  least = 100;
  expect([...large]).toEqual([4, 9]);
  expect([...filtered(large, (item) => item % 2 === 1)]).toEqual([9]);
  expect([...filtered(['a', 'b'], (item) => item === 'b')]).toEqual(['b']);
});

test('an item is made only when it is looked at', () => {
  const made: number[] = [];
  const list = listOf(1_000, (place) => {
    made.push(place);
    return place;
  });
  itemsAt(list, Uint32Array.of(7, 8)).at(1);
  expect(made).toEqual([8]);
});
