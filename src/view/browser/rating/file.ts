// The file of ratings that the page saves: a line for each sample that the rater is done with.

import type { PersonRatingLine } from '../../../core/person-rating.js';
import { make } from '../dom.js';
import { data } from './data.js';
import { entryAt, isDone, isRevised, place } from './progress.js';

export function ratingLines(): string[] {
  return data.samples.flatMap(({ key, repeat, trajectory, domain, sha256 }, index) => {
    const entry = entryAt(index);
    if (!isDone(entry)) return [];
    const ratings = Object.fromEntries(data.dimensions.map(([name], at) => [name, entry.ratings[at]]));
    const line = {
      ...{ schema: data.schema, key, repeat, trajectory, domain, run: data.run, rater: place.rater },
      ...ratings,
      ...{ prediction_sha256: sha256, revised: isRevised(entry) },
      ...(entry.comment.trim() === '' ? {} : { comment: entry.comment.trim() }),
      rated_at: entry.ratedAt ?? '',
      // The schema is the one that the program put into the page, and each of the five dimensions is rated.
    } as PersonRatingLine;
    return [JSON.stringify(line)];
  });
}

/** Saves the file as a download; returns its name. */
export function saveFile(lines: readonly string[]): string {
  const name = `ratings-${wordOf(data.run ?? 'blind')}-${wordOf(place.rater)}.jsonl`;
  const file = new Blob([lines.map((line) => `${line}\n`).join('')], { type: 'application/jsonl' });
  const href = URL.createObjectURL(file);
  make('a', { href, download: name }).click();
  return name;
}

/** A text as a part of a file's name. */
function wordOf(text: string): string {
  return (
    text
      .replace(/[^\p{L}\p{N}]+/gu, '-')
      .replace(/^-|-$/g, '')
      .slice(0, 60) || 'x'
  );
}
