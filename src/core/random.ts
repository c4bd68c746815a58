// Reproducible randomness: the same seed gives the same numbers, and so the same draws, on every machine.

/** A stream of pseudo-random numbers. */
export interface Random {
  /** A whole number of 0 to 2^32 - 1. */
  bits(): number;
  /** A number of at least 0 and below 1, with 32 random bits. */
  uniform(): number;
}

/**
 * The stream of a seed (a whole number, of which the lowest 32 bits count): xoshiro128** of Blackman & Vigna ("Scrambled Linear
 * Pseudorandom Number Generators", ACM TOMS 47(4), 2021), with its state filled by SplitMix32 (an increment of 2^32 over the golden
 * ratio, mixed by MurmurHash3's finaliser), so that neighbouring seeds give different streams. Not for secrets.
 */
export function randomOf(seed: number): Random {
  let counter = seed | 0;
  const next = () => {
    counter = (counter + 0x9e3779b9) | 0;
    let mixed = Math.imul(counter ^ (counter >>> 16), 0x85ebca6b);
    mixed = Math.imul(mixed ^ (mixed >>> 13), 0xc2b2ae35);
    return mixed ^ (mixed >>> 16);
  };
  return randomFrom([next(), next(), next(), next()]);
}

/** The stream of xoshiro128** from a state of four 32-bit numbers, not all 0. */
export function randomFrom(state: readonly [number, number, number, number]): Random {
  let [a, b, c, d] = state;
  const bits = () => {
    const result = Math.imul(rotate(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotate(d, 11);
    return result;
  };
  return { bits, uniform: () => bits() / 2 ** 32 };
}

function rotate(word: number, by: number): number {
  return (word << by) | (word >>> (32 - by));
}

/** One of the items, each equally likely. @param from is not empty */
export function drawn<T>(from: readonly T[], random: Random): T {
  // The index is below the length, so there is an item.
  return from[Math.floor(random.uniform() * from.length)] as T;
}

/** All items in an order drawn uniformly (Fisher and Yates). */
export function shuffled<T>(items: readonly T[], random: Random): T[] {
  const order = [...items];
  for (let last = order.length - 1; last > 0; last--) {
    const other = Math.floor(random.uniform() * (last + 1));
    // Both indices are in the list.
    [order[last], order[other]] = [order[other] as T, order[last] as T];
  }
  return order;
}
