// Ranges of numbers as expressions of llama.cpp's grammar language (GBNF), which the library's grammar maker does not know.

/** Every whole number of so many digits is held exactly. */
const MOST_DIGITS = 15;
const LARGEST = 10 ** MOST_DIGITS - 1;

/** Whole numbers from `low` to `high`, of at most 15 digits. Throws RangeError where there are none. */
export function integerRule(low: number, high: number): string {
  const parts = [
    ...(low < 0 ? wholes(Math.max(1, -high), -low).map((part) => `"-" ${part}`) : []),
    ...wholes(Math.max(0, low), high),
  ];
  if (parts.length === 0) throw new RangeError('no whole number of at most 15 digits lies between the bounds');
  return `( ${parts.join(' | ')} )`;
}

/** Numbers from `low` to `high`: whole ones, and fractions of up to 15 digits between two of them. Throws RangeError where there are none. */
export function numberRule(low: number, high: number): string {
  const fractions = `( "." [0-9]{1,${MOST_DIGITS}} )?`;
  const between = (from: number, to: number): string[] => [
    ...wholes(from, to - 1).map((part) => `${part} ${fractions}`),
    ...(from <= to ? wholes(to, to) : []),
  ];
  const parts = [
    ...between(Math.max(0, Math.ceil(-high)), Math.min(LARGEST, Math.floor(-low))).map((part) => `"-" ${part}`),
    ...between(Math.max(0, Math.ceil(low)), Math.min(LARGEST, Math.floor(high))),
  ];
  if (parts.length === 0) throw new RangeError('no whole number lies between the bounds');
  return `( ${parts.join(' | ')} )`;
}

/** Whole numbers of 0 or more from one to another, by their length in digits. */
function wholes(from: number, to: number): string[] {
  const most = Math.min(to, LARGEST);
  const parts: string[] = [];
  for (let digits = 1; digits <= MOST_DIGITS; digits++) {
    const low = Math.max(from, digits === 1 ? 0 : 10 ** (digits - 1));
    const high = Math.min(most, 10 ** digits - 1);
    if (low <= high) parts.push(`( ${sameLength(String(low), String(high))} )`);
  }
  return parts;
}

/** The digits of all numbers between two that have as many digits. */
function sameLength(low: string, high: string): string {
  const [first, last] = [Number(low[0]), Number(high[0])];
  const [lowRest, highRest] = [low.slice(1), high.slice(1)];
  if (lowRest === '') return `[${first}-${last}]`;
  if (first === last) return `"${first}" ( ${sameLength(lowRest, highRest)} )`;
  const [nines, zeros] = ['9'.repeat(lowRest.length), '0'.repeat(lowRest.length)];
  const from = lowRest === zeros ? first : first + 1;
  const to = highRest === nines ? last : last - 1;
  return [
    ...(from > first ? [`"${first}" ( ${sameLength(lowRest, nines)} )`] : []),
    ...(from <= to ? [`[${from}-${to}] [0-9]{${lowRest.length}}`] : []),
    ...(to < last ? [`"${last}" ( ${sameLength(zeros, highRest)} )`] : []),
  ].join(' | ');
}
