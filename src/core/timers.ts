// What timers can do.

/** The longest time that `setTimeout` can wait, in milliseconds. A longer wait would end at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
