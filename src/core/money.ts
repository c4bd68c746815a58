// Money in words: one rounding for all who tell what something costs.

import type { Cost } from './costs.js';

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
