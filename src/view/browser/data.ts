// What the page knows of its samples, and how they are called and reached.

import type { ChunkData, PageData, RowTextData, SampleData } from '../data.js';
import { part } from './dom.js';

export const data: PageData = JSON.parse(part('data').textContent ?? '');
export const { samples, figures, starts, from } = data;

/** A score as it is listed. */
export function scoreText(score: number | undefined): string | undefined {
  return score?.toFixed(data.decimals ?? 1);
}

/** A sample's domain, trajectory and turn, and its repeat and judgement where there are several. */
export function nameOf(sample: SampleData): string {
  const repeat = data.repeats ? ` · repeat ${sample.r + 1}` : '';
  const judgement = sample.j === undefined ? '' : ` · judgement ${sample.j + 1}`;
  return `${domainOf(sample)} · trajectory ${sample.g} · turn ${sample.t}${repeat}${judgement}`;
}

export function domainOf(sample: SampleData): string {
  return data.domains[sample.d] ?? '';
}

function chunkOf(index: number): number {
  return starts.findLastIndex((start) => start <= index);
}

/** Whether this page knows the sample. */
export function isHere(index: number): boolean {
  return index >= from && index < from + samples.length;
}

/** The address of the view of a sample, which may lie in another page. */
export function hrefOf(index: number): string {
  const inPage = data.pages === null || (data.chunk !== null && isHere(index));
  return `${inPage ? '' : `${data.pages}${chunkOf(index) + 1}.html`}#sample-${index + 1}`;
}

/** The address of a sample by its key, which stays the same over reports and runs. */
export function rowHref(sample: SampleData): string {
  const repeat = sample.r > 0 ? { repeat: String(sample.r + 1) } : {};
  const judgement = sample.j === undefined ? {} : { judgement: String(sample.j + 1) };
  return `${data.chunk === null ? '' : data.back}#${new URLSearchParams({ row: sample.k, ...repeat, ...judgement })}`;
}

/** The sample of a key, and of a repeat and a judgement where they are named; -1 where there is none. */
export function indexOfRow(wanted: URLSearchParams): number {
  const [key, repeat, judgement] = ['row', 'repeat', 'judgement'].map((name) => wanted.get(name));
  const isPlace = (given: string | null | undefined, place: number) => given == null || place === Number(given) - 1;
  const at = samples.findIndex(({ k, r, j = 0 }) => k === key && isPlace(repeat, r) && isPlace(judgement, j));
  return at === -1 ? -1 : at + from;
}

export function chunkTexts(chunk: number): ChunkData {
  return JSON.parse(part(`texts-${chunk}`).textContent ?? '');
}

/** The texts of a sample. */
export interface Texts {
  readonly row: RowTextData;
  /** The text at a place of the row. */
  text(place: number): string;
}

/** The chunk that was looked at last. */
let parsed: { readonly chunk: number; readonly texts: ChunkData } | undefined;

export function textsOf(index: number): Texts {
  const chunk = chunkOf(index);
  if (parsed?.chunk !== chunk) parsed = { chunk, texts: chunkTexts(chunk) };
  const { strings, rows } = parsed.texts;
  const row = rows[index - (starts[chunk] ?? 0)];
  if (row === undefined) throw new Error(`the page has no texts of sample ${index + 1}`);
  return { row, text: (place) => strings[place] ?? '' };
}
