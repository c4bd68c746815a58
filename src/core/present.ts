// A value that the program's own logic says is there.

/**
 * The value, for an entry that cannot be missing: `present(names.at(-1))` of a list that is not empty. Where it is missing all the
 * same, the program is at fault, and says so here instead of computing with nothing. For data that others wrote, use a guard.
 * @throws Error
 */
export function present<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('a value is missing that had to be there');
  return value;
}
