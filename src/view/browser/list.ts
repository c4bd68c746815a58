// The list of samples: page by page, as the filters have it, and searched through.

import type { FigureData, SampleData } from '../data.js';
import { button, count, make, part } from './dom.js';
import {
  chosen,
  data,
  figures,
  gainOf,
  listedWith,
  nameOf,
  samples,
  scoreText,
  select,
  textsWith,
  writeFilters,
} from './samples.js';

/** Samples on a page of the list. */
const PAGE = 100;

export function drawList(): void {
  select();
  const { found } = chosen;
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  chosen.page = Math.min(chosen.page, pages - 1);
  part('rows').replaceChildren(...found.slice(chosen.page * PAGE, (chosen.page + 1) * PAGE).map(rowOf));
  const all = `${count(samples.length)} samples`;
  part('found').textContent = found.length === samples.length ? all : `${count(found.length)} of ${all}`;
  for (const where of document.querySelectorAll<HTMLElement>('.pages')) {
    where.hidden = pages === 1;
    const position = `page ${chosen.page + 1} of ${pages}`;
    where.replaceChildren(step('Previous', chosen.page - 1, pages), position, step('Next', chosen.page + 1, pages));
  }
}

function step(text: string, page: number, pages: number): HTMLButtonElement {
  return button(text, { disabled: page < 0 || page >= pages ? '' : undefined }, () => {
    chosen.page = page;
    writeFilters();
    drawList();
    part('samples').scrollIntoView();
  });
}

function rowOf(index: number): HTMLElement | string {
  const { [index]: sample } = samples;
  if (sample === undefined) return '';
  const pips = figures.flatMap((figure, at) => {
    const value = sample.f[at];
    return value === undefined ? [] : [pip(value, figure)];
  });
  return make(
    'tr',
    {},
    make('td', {}, make('a', { href: `#sample-${index + 1}` }, nameOf(sample))),
    make('td', { class: 'n' }, scoreText(sample.v) ?? make('span', { class: 'chip fail' }, sample.x ?? 'no score')),
    data.other !== null && make('td', { class: 'n' }, changeOf(sample)),
    make('td', {}, pips.length > 0 && make('span', { class: 'pips' }, pips)),
    make(
      'td',
      {},
      sample.l.map((flag) => make('span', { class: 'chip' }, flag)),
    ),
    make('td', { class: 'note' }, sample.n !== '' && make('span', {}, sample.n)),
  );
}

/** A difference of scores with its sign, in the colour of what became better or worse. */
function changeOf(sample: SampleData): HTMLElement | undefined {
  const { c: change } = sample;
  if (change === undefined) return undefined;
  const gain = gainOf(sample) ?? 0;
  const sign = change > 0 ? '+' : change < 0 ? '−' : '±';
  const tone = gain < 0 ? 'bad' : gain > 0 ? 'good' : 'soft';
  return make('span', { class: tone }, `${sign}${scoreText(Math.abs(change))}`);
}

/** A figure in the colour of its fifth of the scale; without one where it has no scale on which larger is better. */
function pip(value: number | null, [label, end]: FigureData): HTMLElement {
  const [text, band] =
    value === null
      ? ['–', 0]
      : end === 5
        ? [String(value), Math.min(5, Math.max(1, Math.round(value)))]
        : end === 100
          ? [value.toFixed(0), Math.min(5, 1 + Math.floor(value / 20))]
          : [String(Number(value.toPrecision(3))), 0];
  return make(
    'span',
    { class: `pip b${band}`, title: label },
    make('span', { class: 'unseen' }, `${label} `),
    text,
    ' ',
  );
}

let search = 0;

/** Draws the list, narrowed to the text that is looked for: at once to what it holds itself, soon to what the texts hold. */
export function searchAndDraw(): void {
  clearTimeout(search);
  const wanted = chosen.filters.text.trim().toLowerCase();
  chosen.holding = wanted === '' ? null : listedWith(wanted);
  drawList();
  if (wanted === '') return;
  part('found').textContent = 'Searching …';
  // Long enough that typing stays smooth.
  search = setTimeout(() => {
    chosen.holding = new Set([...listedWith(wanted), ...textsWith(wanted)]);
    drawList();
  }, 150);
}
