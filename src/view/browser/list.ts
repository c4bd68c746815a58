// The list of samples: page by page, as the filters have it, and searched through.

import type { FigureData, SampleData, SideTextData } from '../data.js';
import { chunkTexts, data, figures, from, hrefOf, nameOf, samples, scoreText, starts } from './data.js';
import { button, make, part } from './dom.js';
import { chosen, gainOf, select, writeFilters } from './filters.js';
import { count } from './numbers.js';

/** Samples on a page of the list. */
const PAGE = 100;

export function drawList(): void {
  select();
  const { found } = chosen;
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  chosen.page = Math.min(chosen.page, pages - 1);
  const shown = found.slice(chosen.page * PAGE, (chosen.page + 1) * PAGE);
  part('rows').replaceChildren(...shown.map(({ sample, index }) => rowOf(sample, index)));
  const all = `${count(samples.length)} samples`;
  part('found').textContent = found.length === samples.length ? all : `${count(found.length)} of ${all}`;
  for (const where of document.querySelectorAll<HTMLElement>('.pages')) {
    where.hidden = pages === 1;
    const position = `page ${chosen.page + 1} of ${pages}`;
    where.replaceChildren(step('Previous', -1, pages), position, step('Next', 1, pages));
  }
}

function step(text: string, by: number, pages: number): HTMLButtonElement {
  const element = button(text, {}, () => {
    chosen.page += by;
    writeFilters();
    drawList();
    part('samples').scrollIntoView();
  });
  element.disabled = chosen.page + by < 0 || chosen.page + by >= pages;
  return element;
}

function rowOf(sample: SampleData, index: number): HTMLElement {
  const score = scoreText(sample.v) ?? make('span', { class: 'chip fail' }, sample.x ?? 'no score');
  const change = sample.c === undefined ? undefined : changeText(sample.c, gainOf(sample) ?? 0);
  const pips = figures.flatMap((figure, at) => {
    const value = sample.f[at];
    return value === undefined ? [] : [pip(value, figure)];
  });
  return make(
    'tr',
    {},
    make('td', {}, make('a', { href: hrefOf(index + from) }, nameOf(sample))),
    make('td', { class: 'n' }, score),
    data.other === null ? undefined : make('td', { class: 'n' }, change),
    make('td', {}, pips.length === 0 ? undefined : make('span', { class: 'pips' }, ...pips)),
    make('td', {}, ...sample.l.map((flag) => make('span', { class: 'chip' }, flag))),
    make('td', { class: 'note' }, sample.n === '' ? undefined : make('span', {}, sample.n)),
  );
}

/** A difference of scores with its sign, in the colour of what became better or worse. */
function changeText(change: number, gain: number): HTMLElement {
  const sign = change > 0 ? '+' : change < 0 ? '−' : '±';
  const tone = gain < 0 ? 'bad' : gain > 0 ? 'good' : 'soft';
  return make('span', { class: tone }, `${sign}${scoreText(Math.abs(change))}`);
}

/** A figure in the colour of its fifth of the scale. */
function pip(value: number | null, [label, end]: FigureData): HTMLElement {
  const text = value === null ? '–' : end === 100 ? value.toFixed(0) : String(end === 5 ? value : shortened(value));
  const band = value === null ? 0 : bandOf(value, end);
  return make(
    'span',
    { class: `pip b${band}`, title: label },
    make('span', { class: 'unseen' }, `${label} `),
    text,
    ' ',
  );
}

function shortened(value: number): number {
  return Number(value.toPrecision(3));
}

/** From 1 to 5; 0 for what has no scale on which larger is better. */
function bandOf(value: number, end: FigureData[1]): number {
  if (end === null) return 0;
  return end === 5 ? Math.min(5, Math.max(1, Math.round(value))) : Math.min(5, 1 + Math.floor(value / 20));
}

/** Counts the searches, so that a newer one ends an older one. */
let searches = 0;

function nextFrame(): Promise<unknown> {
  return new Promise((done) => requestAnimationFrame(done));
}

/**
 * Draws the list, narrowed to the text that is looked for: at once to what the list itself holds, then to what the texts hold,
 * chunk by chunk between two frames, so that typing stays smooth. Histories are left out: all turns of a trajectory share them.
 */
export async function searchAndDraw(): Promise<void> {
  const turn = ++searches;
  const wanted = chosen.filters.text.trim().toLowerCase();
  const holds = (text: string | undefined) => text?.toLowerCase().includes(wanted) === true;
  const isListed = (sample: SampleData) =>
    [sample.k, nameOf(sample), sample.n, sample.x, sample.y, ...sample.l].some(holds);
  const holding = new Set(samples.flatMap((sample, index) => (isListed(sample) ? [index] : [])));
  chosen.holding = wanted === '' ? null : holding;
  drawList();
  if (wanted === '' || data.pages !== null) return;
  for (const [chunk, start] of starts.entries()) {
    part('found').textContent = `Searching, ${Math.round((chunk / starts.length) * 100)} % …`;
    await nextFrame();
    if (turn !== searches) return;
    const { strings, rows } = chunkTexts(chunk);
    const places = new Set(strings.flatMap((text, at) => (holds(text) ? [at] : [])));
    const isAt = (place: number | undefined) => place !== undefined && places.has(place);
    const isIn = (side: SideTextData) =>
      [side.prediction, side.reply, side.thoughts].some(isAt) ||
      [...side.strengths, ...side.weaknesses, ...(side.facts ?? []).map(({ claim }) => claim)].some(holds);
    for (const [at, row] of rows.entries()) {
      if (isAt(row.truth) || isAt(row.action) || isIn(row) || (row.other !== undefined && isIn(row.other))) {
        holding.add(start + at);
      }
    }
  }
  drawList();
}
