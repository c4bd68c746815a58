// People's ratings on the rating page: stored in the browser under the run's name, separately for each rater; and the file that they save.

import { DIMENSIONS, PERSON_RATING_SCHEMA, type PersonRatingLine } from '../../core/types.js';
import type { RatingDocument } from '../documents.js';

export const data: RatingDocument = JSON.parse(document.getElementById('rating')?.textContent ?? '');

/** A rater's ratings of a sample. */
interface Entry {
  /** By dimension; null if not rated yet. */
  readonly ratings: readonly (number | null)[];
  readonly comment: string;
  /** When the rater finished it, or last changed it after that: ISO 8601. */
  readonly ratedAt?: string;
  /** The ratings at the time when the judge's were shown. */
  readonly shown?: readonly (number | null)[];
}

/** The rater's current position, and whether the browser stores the progress. */
export const place = { rater: '', index: 0, dimension: 0, isKept: true };
let raters = new Map<string, Map<string, Entry>>();
/** Steps that can be undone. */
const steps: { readonly index: number; readonly dimension: number; readonly before: number | null }[] = [];

/** Reads the stored progress; unreadable data is ignored. */
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
  const areRatings = (all: unknown) => Array.isArray(all) && all.length === DIMENSIONS.length && all.every(isRating);
  return areRatings(ratings) && areRatings(shown) && typeof comment === 'string';
}

function keep(): void {
  const ratings = [...raters].map(([name, entries]) => [name, [...entries]]);
  try {
    localStorage.setItem(data.store, JSON.stringify({ rater: place.rater, at: place.index, ratings }));
    place.isKept = true;
  } catch {
    place.isKept = false;
  }
}

/** The key of a sample's ratings: they belong to the text that was rated. */
function idAt(index: number): string {
  const sample = data.samples[index];
  return `${sample?.key}#${sample?.repeat}:${sample?.sha256}`;
}

/** The rater's ratings of a sample so far; by default, the current one. */
export function entryAt(index = place.index): Entry {
  return raters.get(place.rater)?.get(idAt(index)) ?? { ratings: DIMENSIONS.map(() => null), comment: '' };
}

/** Changes the rater's entry for the current sample. */
export function change(changed: Partial<Entry>): void {
  const entries = raters.get(place.rater) ?? new Map<string, Entry>();
  raters.set(place.rater, entries.set(idAt(place.index), { ...entryAt(), ...changed }));
  keep();
}

/** The rater is done with the sample, and the judge's ratings are shown from now on. */
export function finish(): void {
  change({ shown: entryAt().ratings, ratedAt: now() });
}

function now(): string {
  return new Date().toISOString();
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

/** The next sample that is not done, from a position on and wrapping around; undefined if all are done. */
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

/** Rates the current dimension and moves to the next one. */
export function rate(rating: number): void {
  const { index, dimension } = place;
  steps.push({ index, dimension, before: entryAt().ratings[dimension] ?? null });
  setRating(rating);
  place.dimension = Math.min(dimension + 1, DIMENSIONS.length - 1);
}

/** Undoes the last rating, wherever it was given; false if there is none. */
export function undo(): boolean {
  const step = steps.pop();
  if (step === undefined) return false;
  const { before, ...where } = step;
  Object.assign(place, where);
  setRating(before);
  return true;
}

function setRating(rating: number | null): void {
  const { ratings, ratedAt } = entryAt();
  change({ ratings: ratings.with(place.dimension, rating), ...(ratedAt === undefined ? {} : { ratedAt: now() }) });
}

/** Downloads a line for each finished sample. @returns a sentence about what was saved */
export function saveFile(): string {
  const lines = data.samples.flatMap(({ key, repeat, trajectory, domain, sha256 }, index) => {
    const entry = entryAt(index);
    if (!isDone(entry)) return [];
    const remark = entry.comment.trim();
    const line = {
      ...{ schema: PERSON_RATING_SCHEMA, key, repeat, trajectory, domain, run: data.run, rater: place.rater },
      ...Object.fromEntries(DIMENSIONS.map((name, at) => [name, entry.ratings[at]])),
      ...{ prediction_sha256: sha256, revised: isRevised(entry) },
      ...(remark === '' ? {} : { comment: remark }),
      rated_at: entry.ratedAt ?? '',
      // Each of the five dimensions is rated.
    } as PersonRatingLine;
    return [`${JSON.stringify(line)}\n`];
  });
  if (lines.length === 0) return 'Nothing to save yet: a sample counts once you are done with it.';
  const download = `ratings-${wordOf(data.run ?? 'blind')}-${wordOf(place.rater)}.jsonl`;
  const href = URL.createObjectURL(new Blob(lines, { type: 'application/jsonl' }));
  Object.assign(document.createElement('a'), { href, download }).click();
  return `Saved ${lines.length} of ${data.samples.length} as ${download}.`;
}

/** A text as part of a file name. */
function wordOf(text: string): string {
  const word = text.replace(/[^\p{L}\p{N}]+/gu, '-').replace(/^-|-$/g, '');
  return word.slice(0, 60) || 'x';
}
