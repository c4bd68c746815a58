// The arithmetic mean, exactly rounded.

import { atOnce, type Steps } from '../steps.js';

/**
 * The arithmetic mean, correctly rounded: the exact sum, divided and rounded once, as Python's `statistics.mean` does it.
 * So it equals the official script's to the last digit, and does not depend on the order of the values.
 * Exact for values that are 0 or of a magnitude of 1e-100 to 1e100. Throws a RangeError where there are no values.
 */
export function mean(values: ArrayLike<number>): number {
  // Most rows have one repeat, and nothing to go through.
  return values.length === 1 ? (values[0] as number) + 0 : atOnce(meanInSteps(values));
}

/** The same in steps. */
export function* meanInSteps(values: ArrayLike<number>): Steps<number> {
  if (values.length === 0) {
    throw new RangeError('there is no mean of no values');
  }
  if (values.length === 1) {
    // A sum with 0 turns -0 into 0, as the exact way does.
    return (values[0] as number) + 0;
  }
  let plain = 0;
  let isExact = true;
  for (let at = 0; at < values.length; at++) {
    const value = values[at] as number; // within its length
    plain += value;
    isExact &&= isOrdinary(value);
  }
  yield;
  return isExact ? yield* exactMean(values) : plain / values.length;
}

function isOrdinary(value: number): boolean {
  const magnitude = Math.abs(value);
  return magnitude === 0 || (magnitude >= 1e-100 && magnitude <= 1e100);
}

const VALUES_A_STEP = 4096;

function* exactMean(values: ArrayLike<number>): Steps<number> {
  // Every double of at least 1e-100 is a whole number of 2^-400.
  const scale = 2 ** 400;
  let sum = 0n;
  for (let at = 0; at < values.length; at++) {
    sum += BigInt((values[at] as number) * scale); // within its length
    if (at % VALUES_A_STEP === VALUES_A_STEP - 1) yield;
  }
  // Division cuts off what is behind the last bit. With 64 bits more than the sum has, that can never hide on which side of
  // a tie the quotient lies, so the conversion, which rounds, rounds rightly.
  const quotient = (sum << 64n) / BigInt(values.length);
  return Number(quotient) / 2 ** 464;
}
