// Called after each test, in the order in which they were added.

export const cleanups: (() => unknown)[] = [];
