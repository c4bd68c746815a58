// The arithmetic mean, exactly rounded, and by how much two means differ.

/**
 * The arithmetic mean, correctly rounded: the exact sum, divided and rounded once, as Python's `statistics.mean` does it.
 * So it equals the official script's to the last digit, and does not depend on the order of the values.
 * Exact for values that are 0 or of a magnitude of 1e-100 to 1e100. Throws a RangeError where there are no values.
 */
export function mean(values: readonly number[]): number {
  const [first] = values;
  if (first === undefined) throw new RangeError('there is no mean of no values');
  // Most rows have one repeat. A sum with 0 turns -0 into 0, as the exact way does.
  if (values.length === 1) return first + 0;
  return values.every(isOrdinary) ? exactMean(values) : values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** By how much a mean lies above another one; 0 where they differ by no more than equal values do that were averaged in another order. */
export function aboveBy(a: number, b: number): number {
  return Math.abs(a - b) < 1e-9 ? 0 : a - b;
}

function isOrdinary(value: number): boolean {
  const magnitude = Math.abs(value);
  return magnitude === 0 || (magnitude >= 1e-100 && magnitude <= 1e100);
}

function exactMean(values: readonly number[]): number {
  // Every double of at least 1e-100 is a whole number of 2^-400.
  const scale = 2 ** 400;
  const sum = values.reduce((total, value) => total + BigInt(value * scale), 0n);
  // Division cuts off what is behind the last bit. With 64 bits more than the sum has, that can never hide on which side of
  // a tie the quotient lies, so the conversion, which rounds, rounds rightly.
  const quotient = (sum << 64n) / BigInt(values.length);
  return Number(quotient) / 2 ** 464;
}
