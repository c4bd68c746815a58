// Long work in steps: who drives it does all of it at once, or gives others their turn in between.

/** Work that pauses after each of its steps, and ends with what it comes to. */
export type Steps<T> = Generator<void, T, void>;

/** Does all steps one after the other. */
export function atOnce<T>(steps: Steps<T>): T {
  for (;;) {
    const step = steps.next();
    if (step.done) return step.value;
  }
}

/** How many items a step goes through. */
const ITEMS_A_STEP = 256;

/** Goes through the items, so many a step. */
export function* eachInSteps<T>(items: Iterable<T>, take: (item: T, place: number) => void): Steps<void> {
  let place = 0;
  for (const item of items) {
    take(item, place);
    if (++place % ITEMS_A_STEP === 0) yield;
  }
}
