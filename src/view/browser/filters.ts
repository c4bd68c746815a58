// The filters of the list. They live in the address, so that a view can be linked to and the way back leads to it.

import type { SampleData } from '../data.js';
import { domainOf, samples } from './data.js';
import { byId } from './dom.js';

export const FILTERS = ['text', 'domain', 'rating', 'flag', 'change', 'sort'] as const;
type Filter = (typeof FILTERS)[number];

interface Found {
  readonly sample: SampleData;
  /** Place among the page's samples. */
  readonly index: number;
}

interface Chosen {
  filters: Record<Filter, string>;
  /** From 0 on. */
  page: number;
  /** Samples that hold the text that is looked for; null where none is. */
  holding: Set<number> | null;
  /** What the filters leave, in order. */
  found: readonly Found[];
}

export const chosen: Chosen = { filters: noFilters(), page: 0, holding: null, found: [] };

export function noFilters(): Record<Filter, string> {
  return { text: '', domain: '', rating: '', flag: '', change: '', sort: '' };
}

type Band = readonly [from: number, to: number];
const BANDS: ReadonlyMap<string, Band> = new Map([
  ['low', [0, 25]],
  ['fair', [25, 50]],
  ['good', [50, 75]],
  ['high', [75, 101]],
]);
/** By how much the score moved, and how much better that made it. */
const CHANGES: ReadonlyMap<string, (moved: number, gain: number) => boolean> = new Map([
  ['worse', (_, gain) => gain < 0],
  ['better', (_, gain) => gain > 0],
  ['same', (moved) => moved === 0],
  ['moved', (moved) => Math.abs(moved) >= 25],
]);
const { POSITIVE_INFINITY: MOST, NEGATIVE_INFINITY: LEAST } = Number;
type Order = (a: SampleData, b: SampleData) => number;
/** Samples without the figure stand last. */
const ORDERS: ReadonlyMap<string, Order> = new Map<string, Order>([
  ['lowest', (a, b) => (a.v ?? MOST) - (b.v ?? MOST)],
  ['highest', (a, b) => (b.v ?? LEAST) - (a.v ?? LEAST)],
  ['worst', (a, b) => (gainOf(a) ?? MOST) - (gainOf(b) ?? MOST)],
  ['best', (a, b) => (gainOf(b) ?? LEAST) - (gainOf(a) ?? LEAST)],
]);

/** How much better the sample did than in the other run; undefined where that cannot be said. */
export function gainOf({ b, c }: SampleData): number | undefined {
  return b === undefined ? c : (b ?? undefined);
}

export function select(): void {
  const found = samples.map((sample, index) => ({ sample, index })).filter(matches);
  const order = ORDERS.get(chosen.filters.sort);
  if (order !== undefined) found.sort((a, b) => order(a.sample, b.sample) || a.index - b.index);
  chosen.found = found;
}

function matches({ sample, index }: Found): boolean {
  if (chosen.holding !== null && !chosen.holding.has(index)) return false;
  const { domain, rating, flag, change } = chosen.filters;
  if (domain !== '' && domainOf(sample) !== domain) return false;
  if (rating === 'failed' ? sample.x === undefined : rating !== '' && !isIn(BANDS.get(rating), sample.v)) return false;
  if (flag === 'any' ? sample.l.length === 0 : flag !== '' && !sample.l.includes(flag) && sample.x !== flag) {
    return false;
  }
  if (change === 'alone') return sample.c === undefined;
  return change === '' || (sample.c !== undefined && CHANGES.get(change)?.(sample.c, gainOf(sample) ?? 0) === true);
}

function isIn(band: Band | undefined, value: number | undefined): boolean {
  return value !== undefined && band !== undefined && value >= band[0] && value < band[1];
}

export function fieldOf(name: Filter): HTMLInputElement | HTMLSelectElement | undefined {
  const field = byId(`filter-${name}`);
  return field instanceof HTMLInputElement || field instanceof HTMLSelectElement ? field : undefined;
}

/** Takes the filters from the address into their fields. */
export function readFilters(): void {
  const given = new URLSearchParams(location.hash.split('?')[1] ?? '');
  for (const name of FILTERS) {
    chosen.filters[name] = given.get(name) ?? '';
    const field = fieldOf(name);
    if (field !== undefined) field.value = chosen.filters[name];
  }
  chosen.page = Math.max(0, Number.parseInt(given.get('page') ?? '1', 10) - 1 || 0);
}

export function writeFilters(): void {
  const set = new URLSearchParams(
    FILTERS.flatMap((name) => (chosen.filters[name] ? [[name, chosen.filters[name]]] : [])),
  );
  if (chosen.page > 0) set.set('page', String(chosen.page + 1));
  history.replaceState(null, '', `#samples${set.size > 0 ? `?${set}` : ''}`);
}
