// Figures in words: one rounding, one sign and one plural for all who tell of them.

import type { Cost } from './costs.js';

/**
 * As Python's `.2f` prints it, so that a table and the official script's output agree to the last digit: exact ties (only eighths
 * can be such) go to the even digit, where `toFixed` goes up. What rounds to nothing has no sign.
 */
export function twoDecimals(value: number): string {
  const below = Math.floor(value * 100);
  const isTie = Number.isInteger(value * 8) && value * 100 - below === 0.5;
  const text = (isTie ? (below + Math.abs(below % 2)) / 100 : value).toFixed(2);
  return text === '-0.00' ? '0.00' : text;
}

/** A difference: the same with its sign. */
export function signed(value: number): string {
  const text = twoDecimals(value);
  return value > 0 && text !== '0.00' ? `+${text}` : text;
}

/** The ends of an interval; where there is none they are absent, or in a document null. */
export interface Ends {
  readonly low?: number | null | undefined;
  readonly high?: number | null | undefined;
}

/** An interval such as `1.00 to 2.00`, its ends as `show` has them; undefined where there is none. */
export function intervalText({ low, high }: Ends, show = twoDecimals): string | undefined {
  return typeof low !== 'number' || typeof high !== 'number' ? undefined : `${show(low)} to ${show(high)}`;
}

const MOST_DIGITS = 6;

/** A value as `show` has it, with more decimals where it would read like the limit that decides by the side on which it lies. */
export function besideLimit(value: number, limit: number, show = twoDecimals): string {
  if (value === limit || show(value) !== show(limit)) return show(value);
  let digits = 2;
  while (digits < MOST_DIGITS && value.toFixed(digits) === limit.toFixed(digits)) digits++;
  return value.toFixed(digits);
}

/** `1 row`, `2 rows`; `show` writes the number. */
export function counted(
  count: number,
  one: string,
  many = `${one}s`,
  show: (count: number) => string = String,
): string {
  return `${show(count)} ${count === 1 ? one : many}`;
}

/** A whole number with its thousands apart: `262,144`. */
export function grouped(count: number): string {
  return String(count).replace(/\B(?=(?:\d{3})+$)/g, ',');
}

/** A size such as `45 kB`, `12.3 MB` or `1.2 GB`: powers of ten. */
export function bytesText(bytes: number): string {
  if (bytes < 1e6) return `${Math.ceil(bytes / 1e3)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(1)} GB`;
}

// Money in words: one rounding for all who tell what something costs.

/** Below this a price in dollars has no digit that says anything. */
const LEAST = 1e-6;

/** US dollars: `$12.35`, `$1,234.57`, `$0.0034`. Below a dollar two digits that count, and cents at least. */
export function dollars(usd: number): string {
  if (usd > 0 && usd < LEAST) return '<$0.000001';
  const decimals = usd >= 1 || usd === 0 ? 2 : Math.max(2, 1 - Math.floor(Math.log10(usd)));
  const [whole = '', part = ''] = usd.toFixed(decimals).split('.');
  return `$${whole.replace(/\B(?=(\d{3})+$)/g, ',')}.${part.replace(/(?<=..)0+$/, '')}`;
}

/** A cost in a cell of a table: `$12.35`, `unknown`, or `≥ $3.10` where some of it is not known. */
export function costCell({ usd, unpriced }: Cost): string {
  if (usd === undefined) return unpriced === 0 ? dollars(0) : 'unknown';
  return unpriced === 0 ? dollars(usd) : `≥ ${dollars(usd)}`;
}
