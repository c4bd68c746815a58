// What a report's page does: it shows the overview, the list or a sample, as the address says, and answers to fields and keys.

import { part } from './dom.js';
import { drawList, searchAndDraw } from './list.js';
import { drawSample } from './sample.js';
import { chosen, FILTERS, indexOfRow, noFilters, readFilters, samples, writeFilters } from './samples.js';

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
