// What the page knows of its samples: how they are called and reached, and which of them the filters leave. These live in the
// address, so that a view can be linked to and the way back leads to it.

import type { PageData, SampleData, SideTextData, TextsData } from '../data.js';
import { json } from './dom.js';

export const data = json<PageData>('data');
export const { samples, figures } = data;

let parsed: TextsData | undefined;
/** The texts of all samples, read when the first of them is asked for. */
export function texts(): TextsData {
  parsed ??= json<TextsData>('texts');
  return parsed;
}

/** A score as it is listed. */
export function scoreText(score: number | undefined): string | undefined {
  return score?.toFixed(data.decimals ?? 1);
}

/** A sample's domain, trajectory and turn, and its repeat and judgement where there are several. */
export function nameOf({ d, g, t, r, j }: SampleData): string {
  const repeat = data.repeats ? ` · repeat ${r + 1}` : '';
  return `${data.domains[d]} · trajectory ${g} · turn ${t}${repeat}${j === undefined ? '' : ` · judgement ${j + 1}`}`;
}

/** The address of a sample by its key, which stays the same over reports and runs. */
export function rowHref({ k, r, j }: SampleData): string {
  const repeat = r > 0 ? { repeat: String(r + 1) } : {};
  return `#${new URLSearchParams({ row: k, ...repeat, ...(j === undefined ? {} : { judgement: String(j + 1) }) })}`;
}

/** The sample of a key, and of a repeat and a judgement where they are named; -1 where there is none. */
export function indexOfRow(wanted: URLSearchParams): number {
  const [key, repeat, judgement] = ['row', 'repeat', 'judgement'].map((name) => wanted.get(name));
  const isPlace = (given: string | null | undefined, place: number) => given == null || place === Number(given) - 1;
  return samples.findIndex(({ k, r, j = 0 }) => k === key && isPlace(repeat, r) && isPlace(judgement, j));
}

export const FILTERS = ['text', 'domain', 'rating', 'flag', 'change', 'sort'] as const;
type Filters = Record<(typeof FILTERS)[number], string>;

export const chosen = {
  filters: noFilters(),
  /** Of the list, from 0 on. */
  page: 0,
  /** Indexes of samples that hold the text that is looked for; null where none is. */
  holding: null as Set<number> | null,
  /** Indexes of those that the filters leave, in order. */
  found: [] as readonly number[],
};

export function noFilters(): Filters {
  return { text: '', domain: '', rating: '', flag: '', change: '', sort: '' };
}

const BANDS: ReadonlyMap<string, readonly [from: number, to: number]> = new Map([
  ['low', [0, 25]],
  ['fair', [25, 50]],
  ['good', [50, 75]],
  ['high', [75, 101]],
]);

/** By how much the score moved, and how much better that made it. */
const CHANGES: ReadonlyMap<string, (moved: number | undefined, gain: number) => boolean> = new Map([
  ['worse', (_, gain) => gain < 0],
  ['better', (_, gain) => gain > 0],
  ['same', (moved) => moved === 0],
  ['moved', (moved = 0) => Math.abs(moved) >= 25],
  ['alone', (moved) => moved === undefined],
]);

/** What samples are sorted by, from the least on; those without the figure stand last. */
const ORDERS: ReadonlyMap<string, (sample: SampleData) => number | undefined> = new Map([
  ['lowest', ({ v }) => v],
  ['highest', ({ v }) => (v === undefined ? v : -v)],
  ['worst', gainOf],
  ['best', (sample) => -(gainOf(sample) ?? Number.NEGATIVE_INFINITY)],
]);

/** How much better the sample did than in the other run; undefined where that cannot be said. */
export function gainOf({ b, c }: SampleData): number | undefined {
  return b === undefined ? c : (b ?? undefined);
}

/** Chooses what the filters leave. */
export function select(): void {
  const found = [...samples.entries()].filter(([index, sample]) => matches(sample, index));
  const order = ORDERS.get(chosen.filters.sort);
  const place = (sample: SampleData) => order?.(sample) ?? Number.POSITIVE_INFINITY;
  if (order !== undefined) found.sort(([, a], [, b]) => (place(a) === place(b) ? 0 : place(a) - place(b)));
  chosen.found = found.map(([index]) => index);
}

function matches(sample: SampleData, index: number): boolean {
  const { domain, rating, flag, change } = chosen.filters;
  const { v, x, l, c, d } = sample;
  const [from, to] = BANDS.get(rating) ?? [0, 0];
  const isIn = v !== undefined && v >= from && v < to;
  const hasFlag = flag === 'any' ? l.length > 0 : l.includes(flag) || x === flag;
  return (
    chosen.holding?.has(index) !== false &&
    (domain === '' || data.domains[d] === domain) &&
    (rating === '' || (rating === 'failed' ? x !== undefined : isIn)) &&
    (flag === '' || hasFlag) &&
    (change === '' || CHANGES.get(change)?.(c, gainOf(sample) ?? 0) === true)
  );
}

/** Takes the filters from the address. */
export function readFilters(): void {
  const given = new URLSearchParams(location.hash.split('?')[1] ?? '');
  for (const name of FILTERS) chosen.filters[name] = given.get(name) ?? '';
  chosen.page = Math.max(0, Number.parseInt(given.get('page') ?? '1', 10) - 1 || 0);
}

export function writeFilters(): void {
  const set = new URLSearchParams(Object.entries(chosen.filters).filter(([, value]) => value !== ''));
  if (chosen.page > 0) set.set('page', String(chosen.page + 1));
  history.replaceState(null, '', `#samples${set.size > 0 ? `?${set}` : ''}`);
}

/** The samples that are listed with a text. */
export function listedWith(wanted: string): Set<number> {
  return indexesOf(samples, (sample) =>
    [sample.k, nameOf(sample), sample.n, sample.x, sample.y, ...sample.l].some((text) => holds(text, wanted)),
  );
}

/** The samples with a text in what is predicted, true, done or said of them. Histories are left out: all turns of a trajectory share them. */
export function textsWith(wanted: string): Set<number> {
  const { strings, rows } = texts();
  const places = indexesOf(strings, (text) => holds(text, wanted));
  const isAt = (place: number | undefined) => place !== undefined && places.has(place);
  const isIn = (side: SideTextData | undefined) =>
    side !== undefined &&
    ([side.prediction, side.reply, side.thoughts].some(isAt) ||
      [...side.strengths, ...side.weaknesses, ...(side.facts ?? []).map(({ claim }) => claim)].some((text) =>
        holds(text, wanted),
      ));
  return indexesOf(rows, (row) => isAt(row.truth) || isAt(row.action) || isIn(row) || isIn(row.other));
}

function holds(text: string | undefined, wanted: string): boolean {
  return text?.toLowerCase().includes(wanted) === true;
}

function indexesOf<T>(items: readonly T[], suits: (item: T) => boolean): Set<number> {
  return new Set(items.flatMap((item, index) => (suits(item) ? [index] : [])));
}
