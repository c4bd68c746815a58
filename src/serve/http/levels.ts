// A JSON value level by level.

import { isContainer } from '../../json.js';

interface Level {
  /** 0 for the value itself. */
  readonly depth: number;
  /** All values at this depth; never none. */
  readonly values: readonly unknown[];
}

/** From the value down; no function calls itself, so that no depth is too much for the stack. */
export function* levelsOf(value: unknown): Generator<Level, void, void> {
  let values: readonly unknown[] = [value];
  for (let depth = 0; values.length > 0; depth++) {
    yield { depth, values };
    values = values.flatMap((item) => (isContainer(item) ? Object.values(item) : []));
  }
}
