// What a report's page does: it shows the overview, the list or a sample, as the address says, and answers to fields and keys.

import { data, from, hrefOf, indexOfRow, isHere } from './data.js';
import { byId, part } from './dom.js';
import { chosen, FILTERS, fieldOf, noFilters, readFilters, writeFilters } from './filters.js';
import { drawList, searchAndDraw } from './list.js';
import { drawMissing, drawSample } from './sample.js';

/** Where the list was left: its address, and how far it was scrolled. */
const list = { href: data.chunk === null ? '#samples' : `${data.back}#samples`, top: 0 };
const baseTitle = document.title;

/** What an address asks for: a sample by index (-1 for none there) and, where it was named by its key, that. */
interface Asked {
  readonly index: number;
  readonly key?: string;
  readonly isNamed: boolean;
}

function askedBy(hash: string): Asked {
  if (hash.startsWith('#row=')) {
    const wanted = new URLSearchParams(hash.slice(1));
    return { index: indexOfRow(wanted), key: wanted.get('row') ?? '', isNamed: true };
  }
  const number = /^#sample-(\d+)$/.exec(hash)?.[1];
  if (number !== undefined) return { index: Number(number) - 1, isNamed: true };
  return { index: data.chunk === null ? -1 : from, isNamed: false };
}

/** Where another page has what is asked for; undefined where it is in this one, or nowhere. */
function elsewhere(hash: string, { index, key, isNamed }: Asked): string | undefined {
  // A page of texts knows its own samples alone; the report knows all.
  if (key !== undefined && index === -1 && data.chunk !== null) return data.back + hash;
  // A link to a sample whose texts lie in another page leads on to it.
  if (!isNamed || index < 0 || index >= data.total) return undefined;
  const href = hrefOf(index);
  return href.startsWith('#') ? undefined : href;
}

function show(): void {
  const { hash } = location;
  const asked = askedBy(hash);
  const away = elsewhere(hash, asked);
  if (away !== undefined) {
    location.replace(away);
    return;
  }
  const isMissing = asked.key !== undefined && asked.index === -1;
  const hasTexts = data.pages === null || data.chunk !== null;
  const isSample = isMissing || (asked.index >= 0 && isHere(asked.index) && hasTexts);
  const isList = !isSample && data.chunk === null && hash.startsWith('#samples');
  if (isShown('samples') && isSample) list.top = scrollY;
  showParts({ overview: !isSample && !isList, samples: isList, sample: isSample });
  markCurrent(isList || isSample ? '#samples' : '#overview');
  document.title = baseTitle;
  if (isList) {
    readFilters();
    searchAndDraw();
    list.href = hash;
    scrollTo(0, list.top);
  } else if (isSample) {
    const title = isMissing ? drawMissing(asked.key ?? '', list.href) : drawSample(asked.index, list.href);
    scrollTo(0, 0);
    title.focus({ preventScroll: true });
  } else {
    scrollTo(0, 0);
  }
}

function isShown(id: string): boolean {
  return byId(id)?.hidden === false;
}

function showParts(parts: Readonly<Record<string, boolean>>): void {
  for (const [id, shown] of Object.entries(parts)) {
    const element = byId(id);
    if (element !== null) element.hidden = !shown;
  }
}

function markCurrent(hash: string): void {
  for (const anchor of document.querySelectorAll<HTMLAnchorElement>('nav a')) {
    if (anchor.hash === hash) anchor.setAttribute('aria-current', 'page');
    else anchor.removeAttribute('aria-current');
  }
}

function listenToFilters(): void {
  for (const name of FILTERS) {
    const field = fieldOf(name);
    field?.addEventListener(name === 'text' ? 'input' : 'change', () => {
      chosen.filters[name] = field.value;
      chosen.page = 0;
      list.top = 0;
      writeFilters();
      list.href = location.hash;
      if (name === 'text') searchAndDraw();
      else drawList();
    });
  }
  if (data.pages !== null) fieldOf('text')?.setAttribute('placeholder', 'key, flag or what is listed');
  byId('filters')?.addEventListener('reset', () => {
    location.hash = '#samples';
    chosen.filters = noFilters();
    chosen.page = 0;
    searchAndDraw();
  });
  byId('filters')?.addEventListener('submit', (event) => event.preventDefault());
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
  const known = isShown('sample') ? SAMPLE_KEYS : isShown('samples') ? LIST_KEYS : undefined;
  const act = known?.get(event.key);
  if (act === undefined) return;
  event.preventDefault();
  act();
}

listenToFilters();
addEventListener('keydown', keyDown);
addEventListener('hashchange', show);
show();
