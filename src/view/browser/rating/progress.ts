// How far raters have come: kept by the browser under the run's name, for each rater apart.

import { data, idOf, sampleAt } from './data.js';

/** What a rater has given a sample. */
export interface Entry {
  /** By dimension; null where it is not rated yet. */
  ratings: (number | null)[];
  comment: string;
  /** When the rater was done with it, or last changed it behind that: ISO 8601. */
  ratedAt?: string;
  /** The ratings as they stood when the judge's were shown. */
  shown?: (number | null)[];
}

interface Step {
  readonly index: number;
  readonly dimension: number;
  readonly before: number | null;
}

/** Where the rater stands. */
export const place = { rater: '', index: 0, dimension: 0 };
/** Whether the browser keeps the progress. */
export const store = { keeps: true };

const raters = new Map<string, Map<string, Entry>>();
const steps: Step[] = [];

/** Reads what was kept. What cannot be read is as good as nothing. */
export function load(): void {
  raters.clear();
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(data.store) ?? '{}');
    const { rater, at, ratings } = { rater: '', at: 0, ratings: [], ...Object(kept) };
    place.rater = String(rater);
    place.index = Math.min(Math.max(0, Math.trunc(Number(at)) || 0), data.samples.length - 1);
    for (const [name, entries] of ratings) {
      raters.set(String(name), new Map([...entries].filter(([, entry]) => isEntry(entry))));
    }
  } catch {
    raters.clear();
  }
}

function isEntry(value: unknown): value is Entry {
  const { ratings, comment, shown = ratings } = Object(value);
  return areRatings(ratings) && areRatings(shown) && typeof comment === 'string';
}

function areRatings(value: unknown): boolean {
  const isRating = (each: unknown) => each === null || [1, 2, 3, 4, 5].includes(Number(each));
  return Array.isArray(value) && value.length === data.dimensions.length && value.every(isRating);
}

function keep(): void {
  const ratings = [...raters].map(([name, entries]) => [name, [...entries]]);
  try {
    localStorage.setItem(data.store, JSON.stringify({ rater: place.rater, at: place.index, ratings }));
    store.keeps = true;
  } catch {
    store.keeps = false;
  }
}

function entriesOf(rater: string): Map<string, Entry> {
  const entries = raters.get(rater) ?? new Map<string, Entry>();
  raters.set(rater, entries);
  return entries;
}

/** What the rater has given a sample so far. */
export function entryAt(index: number): Entry {
  return entriesOf(place.rater).get(idOf(sampleAt(index))) ?? { ratings: data.dimensions.map(() => null), comment: '' };
}

function change(index: number, changed: Partial<Entry>): void {
  entriesOf(place.rater).set(idOf(sampleAt(index)), { ...entryAt(index), ...changed });
  keep();
}

export function isWhole({ ratings }: Entry): boolean {
  return ratings.every((rating) => rating !== null);
}

/** Whether a sample goes into the file. */
export function isDone(entry: Entry): boolean {
  return entry.shown !== undefined && isWhole(entry);
}

/** Whether ratings were changed after the judge's were shown. */
export function isRevised({ ratings, shown }: Entry): boolean {
  return shown !== undefined && ratings.some((rating, at) => rating !== shown[at]);
}

export function doneCount(): number {
  return data.samples.filter((_, index) => isDone(entryAt(index))).length;
}

export function chooseRater(name: string): void {
  place.rater = name;
  steps.length = 0;
  const open = data.samples.findIndex((_, index) => !isDone(entryAt(index)));
  goTo(open === -1 ? 0 : open);
}

export function goTo(index: number): void {
  place.index = Math.min(Math.max(0, index), data.samples.length - 1);
  const open = entryAt(place.index).ratings.indexOf(null);
  place.dimension = open === -1 ? 0 : open;
  keep();
}

export function rate(rating: number | null): void {
  const { index, dimension } = place;
  const { ratings } = entryAt(index);
  steps.push({ index, dimension, before: ratings[dimension] ?? null });
  setRating(index, dimension, rating);
  place.dimension = Math.min(dimension + 1, data.dimensions.length - 1);
}

/** Takes the last rating back, wherever it was given; false where there is none. */
export function undo(): boolean {
  const step = steps.pop();
  if (step === undefined) return false;
  place.index = step.index;
  place.dimension = step.dimension;
  setRating(step.index, step.dimension, step.before);
  return true;
}

function setRating(index: number, dimension: number, rating: number | null): void {
  const entry = entryAt(index);
  const now = entry.ratedAt === undefined ? {} : { ratedAt: new Date().toISOString() };
  change(index, { ratings: entry.ratings.with(dimension, rating), ...now });
}

export function comment(text: string): void {
  change(place.index, { comment: text });
}

/** The rater is done with the sample: from now on the judge's ratings are shown. */
export function finish(): void {
  change(place.index, { shown: entryAt(place.index).ratings, ratedAt: new Date().toISOString() });
}
