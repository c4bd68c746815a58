import { setImmediate as nextTurn } from 'node:timers/promises';
import { expect, it } from 'vitest';
import { inTurns, roomInTurn, stepsInTurns } from '../../src/bench/loop-turn.js';
import type { Steps } from '../../src/steps.js';

/** Keeps the event loop at work. */
function work(ms: number): void {
  for (const end = performance.now() + ms; performance.now() < end; );
}

it('rows that come in at one time are worked on in turns of their own where each takes long', async () => {
  let turns = 0;
  let isOver = false;
  const counting = (async () => {
    for (; !isOver; turns++) await nextTurn();
  })();
  const seen: { row: number; turn: number }[] = [];
  const takeUp = async (row: number) => {
    await roomInTurn();
    seen.push({ row, turn: turns });
    work(10);
  };
  // All of them come in within one turn.
  await Promise.all([0, 1, 2, 3].map((row) => new Promise((done) => setImmediate(() => done(takeUp(row))))));
  isOver = true;
  await counting;
  expect(seen.map(({ row }) => row)).toEqual([0, 1, 2, 3]);
  expect(new Set(seen.map(({ turn }) => turn)).size).toBe(4);
});

it('many items are gone through in their order, and others have their turns meanwhile', async () => {
  let others = 0;
  const timer = setInterval(() => others++);
  const seen: number[] = [];
  for await (const item of inTurns(Array.from({ length: 2_000 }, (_, item) => item))) {
    if (item % 200 === 0) work(10);
    seen.push(item);
  }
  clearInterval(timer);
  expect(seen).toEqual(seen.toSorted((a, b) => a - b));
  expect(seen).toHaveLength(2_000);
  expect(others).toBeGreaterThan(0);
});

it('long work in steps leaves others their turns, and comes to its result', async () => {
  let turns = 0;
  let isOver = false;
  const counting = (async () => {
    for (; !isOver; turns++) await nextTurn();
  })();
  const result = await stepsInTurns(longSteps(4), undefined);
  isOver = true;
  await counting;
  expect(result).toBe('done');
  expect(turns).toBeGreaterThanOrEqual(3);
});

it('work in steps that is stopped is given up between two of them, and clears up', async () => {
  const stop = new AbortController();
  setTimeout(() => stop.abort('SIGINT'));
  const ends: string[] = [];
  await expect(stepsInTurns(longSteps(1e6, ends), stop.signal)).rejects.toMatchObject({ exitCode: 130 });
  expect(ends).toEqual(['cleared up']);
});

function* longSteps(count: number, ends: string[] = []): Steps<string> {
  try {
    for (let step = 0; step < count; step++) {
      work(10);
      yield;
    }
    return 'done';
  } finally {
    ends.push('cleared up');
  }
}
