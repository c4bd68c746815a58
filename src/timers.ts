// What timers can do.

/** The longest that `setTimeout` can wait, in milliseconds; a longer wait would end at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
