// What the page for raters knows of its samples, and what the judge says of them, unsealed one at a time.

import type { ChunkData, RowTextData } from '../../data.js';
import type { JudgeSays, RatingPageData, RatingSample } from '../../rating/data.js';
import { part } from '../dom.js';

export const data: RatingPageData = JSON.parse(part('data').textContent ?? '');
const texts: ChunkData = JSON.parse(part('texts-0').textContent ?? '');

export function sampleAt(index: number): RatingSample {
  const sample = data.samples[index];
  if (sample === undefined) throw new Error(`the page has no sample ${index + 1}`);
  return sample;
}

/** Under which a sample's ratings are kept: they belong to the text that was rated. */
export function idOf({ key, repeat, sha256 }: RatingSample): string {
  return `${key}#${repeat}:${sha256}`;
}

/** The texts of a sample. */
export interface SampleTexts {
  readonly row: RowTextData;
  /** The text at a place of the row. */
  text(place: number): string;
}

export function textsAt(index: number): SampleTexts {
  const row = texts.rows[index];
  if (row === undefined) throw new Error(`the page has no texts of sample ${index + 1}`);
  return { row, text: (place) => texts.strings[place] ?? '' };
}

export function judgeOf({ judge }: RatingSample): JudgeSays {
  const bytes = Uint8Array.from(atob(judge), (character) => character.charCodeAt(0));
  return JSON.parse(new TextDecoder().decode(bytes));
}
