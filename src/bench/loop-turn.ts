// Turns of the event loop, shared out among those who read rows: many reads may end at one time, and what is done with a large row takes
// milliseconds. Timers, signals and the sockets of other calls wait for all that one turn does.

import { throwIfStopped } from '../errors.js';
import type { Steps } from '../steps.js';

/** A turn that has been at work for so long takes up no further row. */
const LONG_MS = 8;

const waiting: (() => void)[] = [];
/** When the first row of this turn was taken up; undefined where none was. */
let began: number | undefined;

/** Resolves at once while the turn is young, and otherwise in a later one; those who wait go on in their order, one a turn. */
export function roomInTurn(): Promise<void> {
  if (began === undefined) {
    began = performance.now();
    setImmediate(nextTurn);
  }
  if (waiting.length === 0 && performance.now() - began < LONG_MS) return Promise.resolve();
  return new Promise((resolve) => {
    waiting.push(resolve);
  });
}

function nextTurn(): void {
  const goesOn = waiting.shift();
  began = goesOn && performance.now();
  if (goesOn === undefined) return;
  setImmediate(nextTurn);
  goesOn();
}

/** How many items are gone through before the turn's age is looked at. */
const AT_ONCE = 256;

/** Many items one after the other, in as many turns as they take. */
export async function* inTurns<T>(items: Iterable<T>): AsyncGenerator<T> {
  let count = 0;
  for (const item of items) {
    if (++count % AT_ONCE === 0) await roomInTurn();
    yield item;
  }
}

/** Drives work in steps to its end, in as many turns as it takes. @throws UserError (130, 143) once `stop` is aborted; the work is given up. */
export async function stepsInTurns<T>(steps: Steps<T>, stop: AbortSignal | undefined): Promise<T> {
  try {
    for (;;) {
      const step = steps.next();
      if (step.done) return step.value;
      await roomInTurn();
      throwIfStopped(stop);
    }
  } finally {
    // What is returned here goes nowhere.
    steps.return(undefined as never);
  }
}
