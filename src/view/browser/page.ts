// What a report's page does: it shows the overview, the list or a sample, as the address says, and answers to fields and keys.

import type { FigureData, SampleData, SideTextData } from '../data.js';
import { comparison } from './diff.js';
import { button, count, historyFold, make, part, remarks, textFold, visible } from './dom.js';
import {
  chosen,
  data,
  FILTERS,
  figures,
  gainOf,
  indexOfRow,
  listedWith,
  nameOf,
  noFilters,
  readFilters,
  rowHref,
  samples,
  scoreText,
  select,
  texts,
  textsWith,
  writeFilters,
} from './samples.js';

const PARTS = ['overview', 'samples', 'sample'] as const;
/** Where the list was left: its address, and how far it was scrolled. */
const list = { href: '#samples', top: 0 };
const baseTitle = document.title;

/** What an address asks for: a part of the page, and the sample by its index (-1 for none there) and by the key that it was named by. */
function askedBy(hash: string): { part: (typeof PARTS)[number]; index: number; key: string } {
  const wanted = new URLSearchParams(hash.slice(1));
  const key = wanted.get('row');
  if (key !== null) return { part: 'sample', index: indexOfRow(wanted), key };
  const index = Number(/^#sample-(\d+)$/.exec(hash)?.[1] ?? 0) - 1;
  const isSample = samples[index] !== undefined;
  return { part: isSample ? 'sample' : hash.startsWith('#samples') ? 'samples' : 'overview', index, key: '' };
}

function show(): void {
  const asked = askedBy(location.hash);
  if (!part('samples').hidden && asked.part === 'sample') list.top = scrollY;
  for (const id of PARTS) part(id).hidden = id !== asked.part;
  for (const anchor of document.querySelectorAll<HTMLAnchorElement>('nav a')) {
    const isCurrent = (anchor.hash === '#overview') === (asked.part === 'overview');
    if (isCurrent) anchor.setAttribute('aria-current', 'page');
    else anchor.removeAttribute('aria-current');
  }
  document.title = baseTitle;
  if (asked.part === 'samples') {
    readFilters();
    for (const [name, field] of fields) field.value = chosen.filters[name];
    searchAndDraw();
    list.href = location.hash;
  }
  const title = asked.part === 'sample' ? drawSample(asked.index, asked.key, list.href) : undefined;
  scrollTo(0, asked.part === 'samples' ? list.top : 0);
  title?.focus({ preventScroll: true });
}

const fields = FILTERS.flatMap((name) => {
  const field = document.getElementById(`filter-${name}`);
  return field instanceof HTMLInputElement || field instanceof HTMLSelectElement ? [[name, field] as const] : [];
});

function listenToFilters(): void {
  for (const [name, field] of fields) {
    field.addEventListener(name === 'text' ? 'input' : 'change', () => {
      chosen.filters[name] = field.value;
      chosen.page = 0;
      list.top = 0;
      writeFilters();
      list.href = location.hash;
      if (name === 'text') searchAndDraw();
      else drawList();
    });
  }
  part('filters').addEventListener('reset', () => {
    location.hash = '#samples';
    chosen.filters = noFilters();
    chosen.page = 0;
    searchAndDraw();
  });
  part('filters').addEventListener('submit', (event) => event.preventDefault());
}

// Keys do what the links on the page do. Where something is typed or chosen they are left alone.

function follow(selector: string): void {
  const link = document.querySelector<HTMLAnchorElement>(selector);
  if (link !== null) location.href = link.href;
}

function focusRow(by: 1 | -1): void {
  const links = [...part('rows').querySelectorAll('a')];
  const at = links.findIndex((link) => link.matches(':focus'));
  const first = by > 0 ? 0 : links.length - 1;
  links[at === -1 ? first : at + by]?.focus();
}

const next = () => follow('#sample .path a[rel=next]');
const previous = () => follow('#sample .path a[rel=prev]');
type Keys = ReadonlyMap<string, () => void>;
const SAMPLE_KEYS: Keys = new Map([
  ['j', next],
  ['ArrowRight', next],
  ['k', previous],
  ['ArrowLeft', previous],
  ['Escape', () => follow('#sample .path a')],
]);
const LIST_KEYS: Keys = new Map([
  ['j', () => focusRow(1)],
  ['k', () => focusRow(-1)],
  ['/', () => part('filter-text').focus()],
]);

function keyDown(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey) return;
  if (event.target instanceof Element && event.target.closest('input, select, textarea') !== null) return;
  const known = part('sample').hidden ? (part('samples').hidden ? undefined : LIST_KEYS) : SAMPLE_KEYS;
  const act = known?.get(event.key);
  if (act === undefined) return;
  event.preventDefault();
  act();
}

listenToFilters();
addEventListener('keydown', keyDown);
addEventListener('hashchange', show);
show();

// The list of samples: page by page, as the filters have it, and searched through.

/** Samples on a page of the list. */
const PAGE = 100;

function drawList(): void {
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
function searchAndDraw(): void {
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

// The view of one sample: its figures, its prediction beside the ground truth, what the judge says, and the texts behind it.

/** Draws the sample of an index, or says that there is none of this key; returns its heading. */
function drawSample(index: number, key: string, listHref: string): HTMLElement {
  const [sample, row] = [samples[index], texts().rows[index]];
  const home = make('a', { href: listHref }, 'All samples');
  if (sample === undefined || row === undefined) {
    const title = make('h2', { tabindex: '-1' }, 'No such sample');
    const say = make('p', {}, 'This report has no sample of the key ', visible(key), '.');
    part('sample').replaceChildren(make('div', { class: 'path' }, home), title, say);
    return title;
  }
  const title = make('h2', { tabindex: '-1' }, nameOf(sample));
  const other = row.other && { name: data.other ?? '', side: row.other };
  const sides = [{ name: data.run, side: row }, ...(other ? [other] : [])].map(({ name, side }) => ({
    name,
    prediction: side.prediction === undefined ? undefined : text(side.prediction),
    steps: side.steps,
  }));
  const [own, ...others] = sides;
  if (own === undefined) return title;
  const who = data.other === null ? '' : ` of ${data.run}`;
  part('sample').replaceChildren(
    make('div', { class: 'path' }, home, wayOn(index)),
    keys([['j', '→'], 'next'], [['k', '←'], 'previous'], [['Esc'], 'all samples']),
    title,
    make('p', { class: 'note' }, `key ${sample.k} · `, make('a', { href: rowHref(sample) }, 'Link to this sample')),
    ...(row.spent === undefined ? [] : [make('p', { class: 'note' }, row.spent.join(' · '))]),
    ...troublesOf(sample),
    ratingsOf(sample),
    ...comparison(text(row.truth), [own, ...others]),
    verdict(`What the judge says${who}`, row),
    ...(row.other === undefined ? [] : [verdict(`What the judge says of ${data.other}`, row.other)]),
    make(
      'div',
      { class: 'folds' },
      textFold('Action', text(row.action)),
      row.history && historyFold(row.history.map(text)),
      row.system !== undefined && textFold('System prompt', text(row.system)),
    ),
  );
  document.title = `${nameOf(sample)} · ${data.run}`;
  return title;
}

function text(place: number): string {
  return texts().strings[place] ?? '';
}

/** The ways to the samples beside this one in the list, or where it is not in the list, in the report. */
function wayOn(index: number): (HTMLElement | undefined)[] {
  const { found } = chosen;
  const place = found.indexOf(index);
  const link = (by: number, name: string, rel: string) => {
    const to = place === -1 ? index + by : found[place + by];
    return to === undefined || samples[to] === undefined
      ? undefined
      : make('a', { href: `#sample-${to + 1}`, rel }, name);
  };
  const position =
    place === -1
      ? `sample ${count(index + 1)} of ${count(samples.length)}`
      : `${count(place + 1)} of ${count(found.length)}`;
  return [link(-1, 'Previous', 'prev'), link(1, 'Next', 'next'), make('span', { class: 'soft' }, position)];
}

function keys(...parts: readonly (readonly [names: readonly string[], does: string])[]): HTMLElement {
  const children = parts.map(([names, does]) => [names.map((name) => make('kbd', {}, name)), ` ${does} `]);
  return make('p', { class: 'keys note' }, children);
}

/** How it failed, and what is odd about it. */
function troublesOf({ x, y, l }: SampleData): HTMLElement[] {
  const chips = [
    ...(x === undefined ? [] : [make('span', { class: 'chip fail' }, `failed: ${x}`)]),
    ...l.map((flag) => make('span', { class: 'chip' }, flag)),
  ];
  return [
    ...(chips.length === 0 ? [] : [make('p', {}, chips)]),
    ...(y === undefined ? [] : [make('p', { class: 'soft' }, visible(y))]),
  ];
}

/** Its score and figures, with those of the other run where there is one. */
function ratingsOf({ v, f, o }: SampleData): HTMLElement {
  const cell = (name: string, own: string | number | null | undefined, other: string | number | null | undefined) => {
    const was = o !== undefined && make('span', { class: 'soft' }, `was ${other ?? '–'}`);
    return make('div', {}, make('dt', {}, name), make('dd', {}, String(own ?? '–'), was));
  };
  return make(
    'dl',
    { class: 'ratings' },
    cell('Score', scoreText(v), scoreText(o?.v)),
    figures.map(([name], at) => cell(name, f[at], o?.f[at])),
  );
}

function verdict(who: string, { facts, strengths, weaknesses, reply, thoughts }: SideTextData): HTMLElement {
  const listed = facts?.map(({ claim, kind, met }) => `${met ? 'met' : 'not met'}, ${kind}: ${claim}`);
  return make(
    'section',
    { class: 'judge' },
    make('h3', {}, who),
    listed && remarks('Checklist', listed),
    make('div', { class: 'verdicts' }, remarks('Strengths', strengths), remarks('Weaknesses', weaknesses)),
    reply !== undefined && textFold("The judge's whole reply", text(reply)),
    thoughts !== undefined && textFold("The judge's reasoning", text(thoughts)),
  );
}
