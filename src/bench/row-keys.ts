// Keys of rows: a hash of what a row holds, and an ordinal behind it where equal rows stand before it.

/** Gives equal rows keys of their own: the first keeps the bare hash, each further one gets `-1`, `-2` ... behind it. */
export class EqualRows {
  readonly #seen = new Map<string, number>();

  keyOf(hash: string): string {
    const before = this.#seen.get(hash) ?? 0;
    this.#seen.set(hash, before + 1);
    return before === 0 ? hash : `${hash}-${before}`;
  }
}

/** Whether a key is that of a row with this hash, be it the first of several equal ones or a further one. */
export function isKeyOf(key: string, hash: string): boolean {
  return key === hash || key.startsWith(`${hash}-`);
}
