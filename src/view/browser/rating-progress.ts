// How far raters have come: kept by the browser under the run's name, for each rater apart; and the file that they save.

import type { PersonRatingLine } from '../../core/person-rating.js';
import type { RatingPageData, RatingSample } from '../data.js';
import { json, make } from './dom.js';

export const data = json<RatingPageData>('data');

/** What a rater has given a sample. */
interface Entry {
  /** By dimension; null where it is not rated yet. */
  ratings: (number | null)[];
  comment: string;
  /** When the rater was done with it, or last changed it behind that: ISO 8601. */
  ratedAt?: string;
  /** The ratings as they stood when the judge's were shown. */
  shown?: (number | null)[];
}

/** Where the rater stands. */
export const place = { rater: '', index: 0, dimension: 0 };
/** Whether the browser keeps the progress. */
export const store = { keeps: true };
let raters = new Map<string, Map<string, Entry>>();
/** What can be taken back. */
const steps: { readonly index: number; readonly dimension: number; readonly before: number | null }[] = [];

/** Reads what was kept. What cannot be read is as good as nothing. */
export function load(): void {
  raters = new Map();
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(data.store) ?? '{}');
    const { rater, at, ratings } = { rater: '', at: 0, ratings: [], ...Object(kept) };
    place.rater = String(rater);
    place.index = Math.min(Math.max(0, Math.trunc(Number(at)) || 0), data.samples.length - 1);
    for (const [name, entries] of ratings) {
      raters.set(String(name), new Map([...entries].filter(([, entry]) => isEntry(entry))));
    }
  } catch {
    raters = new Map();
  }
}

function isEntry(value: unknown): value is Entry {
  const { ratings, comment, shown = ratings } = Object(value);
  const isRating = (each: unknown) => each === null || [1, 2, 3, 4, 5].includes(Number(each));
  const areRatings = (all: unknown) =>
    Array.isArray(all) && all.length === data.dimensions.length && all.every(isRating);
  return areRatings(ratings) && areRatings(shown) && typeof comment === 'string';
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

export function sampleAt(index: number): RatingSample {
  const sample = data.samples[index];
  if (sample === undefined) throw new Error(`the page has no sample ${index + 1}`);
  return sample;
}

/** Under which a sample's ratings are kept: they belong to the text that was rated. */
function idAt(index: number): string {
  const { key, repeat, sha256 } = sampleAt(index);
  return `${key}#${repeat}:${sha256}`;
}

/** What the rater has given a sample so far. */
export function entryAt(index: number): Entry {
  return raters.get(place.rater)?.get(idAt(index)) ?? { ratings: data.dimensions.map(() => null), comment: '' };
}

function change(index: number, changed: Partial<Entry>): void {
  const entries = raters.get(place.rater) ?? new Map<string, Entry>();
  raters.set(place.rater, entries.set(idAt(index), { ...entryAt(index), ...changed }));
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

/** The first sample from a place on, and then from the beginning, that is not done; undefined where all are. */
export function openFrom(from: number): number | undefined {
  const order = data.samples.map((_, at) => (from + at) % data.samples.length);
  return order.find((index) => !isDone(entryAt(index)));
}

export function chooseRater(name: string): void {
  place.rater = name;
  steps.length = 0;
  goTo(openFrom(0) ?? 0);
}

export function goTo(index: number): void {
  place.index = index;
  place.dimension = Math.max(0, entryAt(index).ratings.indexOf(null));
  keep();
}

export function rate(rating: number): void {
  const { index, dimension } = place;
  steps.push({ index, dimension, before: entryAt(index).ratings[dimension] ?? null });
  setRating(index, dimension, rating);
  place.dimension = Math.min(dimension + 1, data.dimensions.length - 1);
}

/** Takes the last rating back, wherever it was given; false where there is none. */
export function undo(): boolean {
  const step = steps.pop();
  if (step === undefined) return false;
  const { index, dimension, before } = step;
  Object.assign(place, { index, dimension });
  setRating(index, dimension, before);
  return true;
}

function setRating(index: number, dimension: number, rating: number | null): void {
  const { ratings, ratedAt } = entryAt(index);
  const now = ratedAt === undefined ? {} : { ratedAt: new Date().toISOString() };
  change(index, { ratings: ratings.with(dimension, rating), ...now });
}

export function comment(text: string): void {
  change(place.index, { comment: text });
}

/** The rater is done with the sample: from now on the judge's ratings are shown. */
export function finish(): void {
  change(place.index, { shown: entryAt(place.index).ratings, ratedAt: new Date().toISOString() });
}

/** Saves a line for each sample that the rater is done with as a download; says so. */
export function saveFile(): string {
  const lines = data.samples.flatMap(({ key, repeat, trajectory, domain, sha256 }, index) => {
    const entry = entryAt(index);
    if (!isDone(entry)) return [];
    const remark = entry.comment.trim();
    const line = {
      ...{ schema: data.schema, key, repeat, trajectory, domain, run: data.run, rater: place.rater },
      ...Object.fromEntries(data.dimensions.map(([name], at) => [name, entry.ratings[at]])),
      ...{ prediction_sha256: sha256, revised: isRevised(entry) },
      ...(remark === '' ? {} : { comment: remark }),
      rated_at: entry.ratedAt ?? '',
      // The schema is the one that the program put into the page, and each of the five dimensions is rated.
    } as PersonRatingLine;
    return [`${JSON.stringify(line)}\n`];
  });
  if (lines.length === 0) return 'There is nothing to save yet: a sample counts when you are done with it.';
  const download = `ratings-${wordOf(data.run ?? 'blind')}-${wordOf(place.rater)}.jsonl`;
  make('a', { href: URL.createObjectURL(new Blob(lines, { type: 'application/jsonl' })), download }).click();
  return `Saved ${lines.length} of ${data.samples.length} as ${download}.`;
}

/** A text as a part of a file's name. */
function wordOf(text: string): string {
  const word = text.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '');
  return word.slice(0, 60) || 'x';
}
