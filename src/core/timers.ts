// Limits of timers.

/** The longest wait of `setTimeout`, in milliseconds. A longer wait would end at once. */
export const LONGEST_TIMER_MS = 2 ** 31 - 1;
