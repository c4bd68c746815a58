// What runs in the HTML report's page: the list of samples and one sample's view. It builds elements and text nodes, and nothing else.

/**
 * Plain browser script, inlined under its hash. Its data are JSON in the page: `data` (the samples) and `texts-N` (their texts by
 * chunk, parsed when one of them is looked at). Texts of models reach the page through text nodes alone.
 */
export const SCRIPT = String.raw`
'use strict';
const data = JSON.parse(document.getElementById('data').textContent);
const { samples, domains, figures, starts, from } = data;
const PAGE = 100;
const CONTEXT = 3;
const DRAWN = 1500;

const byId = (id) => document.getElementById(id);
function make(tag, attributes, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes ?? {})) if (value !== undefined) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== undefined));
  return element;
}
const count = (number) => number.toLocaleString('en');
const signed = (points) => (points > 0 ? '+' : points < 0 ? '\u2212' : '\u00b1') + Math.abs(points).toFixed(1);
const nameOf = (sample) => domains[sample.d] + ' \u00b7 trajectory ' + sample.g + ' \u00b7 turn ' + sample.t + (data.repeats ? ' \u00b7 repeat ' + (sample.r + 1) : '');
const bandOf = (value, scale) => (value === null || value === undefined ? 0 : scale === 5 ? Math.min(5, Math.max(1, Math.round(value))) : Math.min(5, 1 + Math.floor(value / 20)));
const chunkOf = (index) => starts.findLastIndex((start) => start <= index);
const isHere = (index) => index >= from && index < from + samples.length;
function hrefOf(index) {
  const inPage = data.pages === null || (data.chunk !== null && isHere(index));
  return (inPage ? '' : data.pages + (chunkOf(index) + 1) + '.html') + '#sample-' + (index + 1);
}

/* The filters live in the address, so that a view can be linked to and the way back leads to it. */
const FILTERS = ['text', 'domain', 'rating', 'flag', 'change', 'sort'];
let filters = {};
let found = [];
let page = 0;
/* Samples that hold the text that is looked for; null where none is. */
let holding = null;

const BANDS = { low: [0, 25], fair: [25, 50], good: [50, 75], high: [75, 101] };
const CHANGES = { worse: (c) => c < 0, better: (c) => c > 0, same: (c) => c === 0, moved: (c) => Math.abs(c) >= 25 };
const least = (value, fallback) => (value === undefined || value === null ? fallback : value);
const ORDERS = {
  lowest: (a, b) => least(a.v, 101) - least(b.v, 101),
  highest: (a, b) => least(b.v, -1) - least(a.v, -1),
  worst: (a, b) => least(a.c, 1e9) - least(b.c, 1e9),
  best: (a, b) => least(b.c, -1e9) - least(a.c, -1e9),
};

function matches(sample, index) {
  if (holding !== null && !holding.has(index)) return false;
  const { domain, rating, flag, change } = filters;
  if (domain && domains[sample.d] !== domain) return false;
  if (rating === 'failed' ? sample.x === undefined : rating && !inBand(sample.v, BANDS[rating])) return false;
  if (flag && !(flag === 'any' ? sample.l.length > 0 : sample.l.includes(flag) || sample.x === flag)) return false;
  if (change === 'alone') return sample.c === undefined;
  return !change || (sample.c !== undefined && CHANGES[change]?.(sample.c));
}
const inBand = (value, band) => value !== undefined && band !== undefined && value >= band[0] && value < band[1];

function readFilters() {
  const given = new URLSearchParams(location.hash.split('?')[1] ?? '');
  filters = Object.fromEntries(FILTERS.map((name) => [name, given.get(name) ?? '']));
  page = Math.max(0, Number.parseInt(given.get('page') ?? '1', 10) - 1 || 0);
  for (const name of FILTERS) {
    const field = byId('filter-' + name);
    if (field) field.value = filters[name];
  }
}
function writeFilters() {
  const set = new URLSearchParams(FILTERS.filter((name) => filters[name]).map((name) => [name, filters[name]]));
  if (page > 0) set.set('page', page + 1);
  history.replaceState(null, '', '#samples' + (set.size > 0 ? '?' + set : ''));
}
function select() {
  found = samples.map((_, index) => index).filter((index) => matches(samples[index], index));
  const order = ORDERS[filters.sort];
  if (order) found.sort((a, b) => order(samples[a], samples[b]) || a - b);
}

function pip(value, scale, label) {
  const text = value === null || value === undefined ? '\u2013' : scale === 5 ? String(value) : value.toFixed(0);
  return make('span', { class: 'pip b' + bandOf(value, scale), title: label }, make('span', { class: 'unseen' }, label + ' '), text, ' ');
}
function changeText(change) {
  return make('span', { class: change < 0 ? 'bad' : change > 0 ? 'good' : 'soft' }, signed(change));
}
function rowOf(index) {
  const sample = samples[index];
  const score = sample.v === undefined ? make('span', { class: 'chip fail' }, sample.x ?? 'no score') : sample.v.toFixed(1);
  const flags = sample.l.map((flag) => make('span', { class: 'chip' }, flag));
  return make('tr', {},
    make('td', {}, make('a', { href: hrefOf(index + from) }, nameOf(sample))),
    make('td', { class: 'n' }, score),
    data.other === null ? undefined : make('td', { class: 'n' }, ...(sample.c === undefined ? [] : [changeText(sample.c)])),
    make('td', {}, ...(sample.f.length === 0 ? [] : [make('span', { class: 'pips' }, ...sample.f.map((value, at) => pip(value, figures[at][1], figures[at][0])))])),
    make('td', {}, ...flags),
    make('td', { class: 'note' }, ...(sample.n === '' ? [] : [make('span', {}, sample.n)])),
  );
}
function drawList() {
  select();
  const pages = Math.max(1, Math.ceil(found.length / PAGE));
  page = Math.min(page, pages - 1);
  const shown = found.slice(page * PAGE, (page + 1) * PAGE);
  byId('rows').replaceChildren(...shown.map(rowOf));
  byId('found').textContent = found.length === samples.length ? count(samples.length) + ' samples' : count(found.length) + ' of ' + count(samples.length) + ' samples';
  for (const where of document.querySelectorAll('.pages')) {
    where.hidden = pages === 1;
    const step = (text, by) => {
      const button = make('button', { type: 'button' }, text);
      button.disabled = page + by < 0 || page + by >= pages;
      button.addEventListener('click', () => { page += by; writeFilters(); drawList(); byId('samples').scrollIntoView(); });
      return button;
    };
    where.replaceChildren(step('Previous', -1), 'page ' + (page + 1) + ' of ' + pages, step('Next', 1));
  }
}

/*
 * What is looked for is found at once where the list itself holds it, then in the texts: chunk by chunk between two frames, so
 * that typing stays smooth. A newer search ends an older one. Histories are left out: all turns of a trajectory share them.
 */
let searches = 0;
const nextFrame = () => new Promise((done) => requestAnimationFrame(done));
async function searchAndDraw() {
  const turn = ++searches;
  const wanted = (filters.text ?? '').trim().toLowerCase();
  const holds = (...texts) => texts.some((text) => text !== undefined && text.toLowerCase().includes(wanted));
  const isIn = (sample) => holds(sample.k, nameOf(sample), sample.n, sample.x, sample.y, ...sample.l);
  holding = wanted === '' ? null : new Set(samples.flatMap((sample, index) => (isIn(sample) ? [index] : [])));
  drawList();
  if (holding === null || data.pages !== null) return;
  for (const [chunk, start] of starts.entries()) {
    byId('found').textContent = 'Searching, ' + Math.round((chunk / starts.length) * 100) + ' % \u2026';
    await nextFrame();
    if (turn !== searches) return;
    const { strings, rows } = JSON.parse(byId('texts-' + chunk).textContent);
    const places = new Set(strings.flatMap((text, at) => (holds(text) ? [at] : [])));
    const sideHolds = (side) => [side.prediction, side.reply, side.thoughts].some((at) => places.has(at)) || holds(...side.strengths, ...side.weaknesses);
    for (const [at, row] of rows.entries()) {
      if (places.has(row.truth) || places.has(row.action) || sideHolds(row) || (row.other && sideHolds(row.other))) holding.add(start + at);
    }
  }
  drawList();
}

/* Characters that cannot be seen, or that would reorder what stands beside them, are shown by name. */
const UNSEEN = /\t| +$|[\x00-\x08\x0b-\x1f\x7f-\xa0\xad\u061c\u115f\u1160\u1680\u180e\u2000-\u200f\u2028-\u202f\u205f-\u206f\u3000\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff9-\ufffb]/g;
const UNSEEN_CHANGED = new RegExp(UNSEEN.source.replace(' +$', ' +'), 'g');
function visible(text, changed) {
  const parts = [];
  let at = 0;
  for (const match of text.matchAll(changed ? UNSEEN_CHANGED : UNSEEN)) {
    if (match.index > at) parts.push(text.slice(at, match.index));
    const code = match[0].charCodeAt(0);
    if (match[0] === '\t') parts.push(make('span', { class: 'tab' }, '\t'));
    else if (code === 32) parts.push(make('span', { class: 'sp' }, match[0]));
    else parts.push(make('span', { class: 'ctl', title: pointOf(code) }, code < 32 ? String.fromCharCode(0x2400 + code) : pointOf(code)));
    at = match.index + match[0].length;
  }
  if (at < text.length) parts.push(text.slice(at));
  return parts;
}
const pointOf = (code) => 'U+' + code.toString(16).toUpperCase().padStart(4, '0');
function block(text, attributes) {
  return make('pre', { tabindex: '0', ...attributes }, ...text.split('\n').flatMap((line, at) => (at === 0 ? visible(line) : ['\n', ...visible(line)])));
}

/* Steps of a difference -> rows of a table: kind, line and text on either side, and what changed in them. */
function diffRows(truth, prediction, steps) {
  const [a, b] = [truth.split('\n'), prediction.split('\n')];
  let [i, j] = [0, 0];
  const rows = [];
  const cut = () => ({ kind: 'cut', a: i, textA: a[i++] });
  const add = () => ({ kind: 'add', b: j, textB: b[j++] });
  for (const step of steps) {
    if (typeof step === 'number') for (let n = 0; n < step; n++) rows.push({ kind: 'same', a: i, b: j, textA: a[i++], textB: b[j++] });
    else if (step[0] === '~') rows.push({ kind: 'changed', a: i, b: j, textA: a[i++], textB: b[j++], changes: [step[1], step[2]] });
    else for (let n = 0; n < step[1]; n++) rows.push(step[0] === '-' ? cut() : add());
  }
  return rows;
}
function marked(text, ranges, tag) {
  const parts = [];
  let at = 0;
  for (let n = 0; n < ranges.length; n += 2) {
    parts.push(...visible(text.slice(at, ranges[n]), false), make(tag, {}, ...visible(text.slice(ranges[n], ranges[n + 1]), true)));
    at = ranges[n + 1];
  }
  return [...parts, ...visible(text.slice(at))];
}
function diffRow(row) {
  const isCut = row.kind === 'cut' || row.kind === 'changed';
  const isAdd = row.kind === 'add' || row.kind === 'changed';
  const cell = (line, text, isChanged, tint, sign, ranges, tag) => {
    if (text === undefined) return [make('td', { class: 'g none' }), make('td', { class: 'none' })];
    const content = ranges === undefined ? visible(text, row.kind !== 'same') : marked(text, ranges, tag);
    return [
      make('td', { class: 'g' + (isChanged ? ' ' + tint : '') }, (isChanged ? sign + ' ' : '') + (line + 1)),
      make('td', isChanged ? { class: tint } : {}, ...content),
    ];
  };
  return make('tr', { class: row.kind },
    ...cell(row.a, row.textA, isCut, 'cut', '\u2212', row.changes?.[0], 'del'),
    ...cell(row.b, row.textB, isAdd, 'add', '+', row.changes?.[1], 'ins'));
}
function foldRow(text, unfold) {
  const button = make('button', { type: 'button', class: 'quiet' }, text);
  const row = make('tr', { class: 'fold' }, make('td', { colspan: '4' }, button));
  button.addEventListener('click', () => row.replaceWith(...unfold()));
  return row;
}
/* Equal lines far from any change are folded, and what is too long to draw at once waits for a click. */
function drawRows(rows, foldsEqual) {
  const drawn = [];
  for (let at = 0; at < rows.length; ) {
    if (drawn.length >= DRAWN) {
      const rest = rows.slice(at);
      drawn.push(foldRow('Show the next of ' + count(rest.length) + ' further lines', () => drawRows(rest, foldsEqual)));
      break;
    }
    let end = at;
    while (end < rows.length && rows[end].kind === 'same') end++;
    const first = at === 0 ? at : at + CONTEXT;
    const last = end === rows.length ? end : end - CONTEXT;
    if (foldsEqual && last - first > 4) {
      drawn.push(...rows.slice(at, first).map(diffRow));
      const hidden = rows.slice(first, last);
      drawn.push(foldRow('\u22ef ' + count(hidden.length) + ' equal lines', () => drawRows(hidden, false)));
      drawn.push(...rows.slice(last, end).map(diffRow));
      at = end;
    } else {
      const stop = Math.max(at + 1, Math.min(end, at + DRAWN));
      drawn.push(...rows.slice(at, stop).map(diffRow));
      at = stop;
    }
  }
  return drawn;
}
function diffTable(truth, prediction, steps, foldsEqual, who) {
  const rows = diffRows(truth, prediction, steps);
  const isEqual = rows.every((row) => row.kind === 'same');
  return [
    isEqual ? make('p', { class: 'soft' }, 'The prediction equals the ground truth.') : undefined,
    make('table', { class: 'diff' },
      make('colgroup', {}, make('col', { class: 'g' }), make('col'), make('col', { class: 'g' }), make('col')),
      make('thead', {}, make('tr', {}, make('th', { colspan: '2', scope: 'col' }, 'Ground truth'), make('th', { colspan: '2', scope: 'col' }, 'Prediction' + who))),
      make('tbody', {}, ...drawRows(rows, foldsEqual && !isEqual))),
  ].filter((part) => part !== undefined);
}

const parsed = new Map();
function textsOf(index) {
  const chunk = chunkOf(index);
  if (!parsed.has(chunk)) {
    parsed.clear();
    parsed.set(chunk, JSON.parse(byId('texts-' + chunk).textContent));
  }
  const { strings, rows } = parsed.get(chunk);
  return { row: rows[index - starts[chunk]], text: (at) => strings[at] };
}
function fold(title, size, fill) {
  const details = make('details', {}, make('summary', {}, title, make('span', { class: 'soft' }, size)));
  details.addEventListener('toggle', () => { if (details.open && details.childElementCount === 1) details.append(...fill()); });
  return details;
}
const sizeOf = (...texts) => count(texts.reduce((sum, text) => sum + text.length, 0)) + ' characters';

function verdict(who, side, texts) {
  const list = (title, items) => [make('h4', {}, title), items.length === 0 ? make('p', { class: 'soft' }, 'None named.') : make('ul', {}, ...items.map((item) => make('li', {}, ...visible(item.replace(/\s+/g, ' ')))))];
  const reply = side.reply === undefined ? undefined : texts.text(side.reply);
  const thoughts = side.thoughts === undefined ? undefined : texts.text(side.thoughts);
  return make('section', { class: 'judge' }, make('h3', {}, who),
    make('div', { class: 'verdicts' }, make('div', {}, ...list('Strengths', side.strengths)), make('div', {}, ...list('Weaknesses', side.weaknesses))),
    reply === undefined ? undefined : fold("The judge's whole reply", sizeOf(reply), () => [block(reply)]),
    thoughts === undefined ? undefined : fold("The judge's reasoning", sizeOf(thoughts), () => [block(thoughts)]));
}
function ratingsOf(sample) {
  const cells = [['Score', sample.v?.toFixed(1), sample.o?.v?.toFixed(1)], ...figures.map(([name], at) => [name, sample.f[at], sample.o?.f[at]])];
  return make('dl', { class: 'ratings' }, ...cells.map(([name, own, other]) =>
    make('div', {}, make('dt', {}, name), make('dd', {}, String(own ?? '\u2013'), sample.o === undefined ? undefined : make('span', { class: 'soft' }, 'was ' + (other ?? '\u2013'))))));
}
function historyOf(row, texts) {
  const turns = [];
  for (let at = 0; at < row.history.length; at += 2) turns.push([texts.text(row.history[at]), texts.text(row.history[at + 1])]);
  const all = turns.flat();
  return fold('History', count(turns.length) + (turns.length === 1 ? ' earlier turn, ' : ' earlier turns, ') + sizeOf(...all), () =>
    turns.map(([action, observation], at) => fold('Turn ' + (at + 1), sizeOf(action, observation), () => [make('h4', {}, 'Action'), block(action), make('h4', {}, 'Observation'), block(observation)])));
}

const view = { spaces: true, folds: true };
function checkbox(text, name, redraw) {
  const input = make('input', { type: 'checkbox' });
  input.checked = view[name];
  input.addEventListener('change', () => { view[name] = input.checked; redraw(); });
  return make('label', {}, input, text);
}
function comparisonOf(texts, row) {
  const where = make('div', {});
  const sides = [row, ...(row.other === undefined ? [] : [row.other])];
  let side = sides[0];
  const draw = () => {
    where.className = view.spaces ? 'ws' : '';
    const who = data.other === null ? '' : ' of ' + (side === row ? data.run : data.other);
    if (side.prediction === undefined) where.replaceChildren(make('p', { class: 'soft' }, 'There is no prediction' + who + '. The ground truth:'), block(texts.text(row.truth)));
    else where.replaceChildren(...diffTable(texts.text(row.truth), texts.text(side.prediction), side.steps, view.folds, who));
  };
  draw();
  const choice = sides.length === 1 ? [] : sides.map((each) => {
    const input = make('input', { type: 'radio', name: 'side' });
    input.checked = each === side;
    input.addEventListener('change', () => { side = each; draw(); });
    return make('label', {}, input, each === row ? data.run : data.other);
  });
  return [make('div', { class: 'tools' }, make('h3', {}, 'Prediction beside ground truth'), ...choice, checkbox('fold equal lines', 'folds', draw), checkbox('show white space', 'spaces', draw)), where];
}

/* By its key, which stays the same over reports and runs. */
const rowHref = (sample) => (data.chunk === null ? '' : data.back) + '#' + new URLSearchParams({ row: sample.k, ...(sample.r > 0 ? { repeat: sample.r + 1 } : {}) });
const keys = (...parts) => make('p', { class: 'keys note' }, ...parts.flatMap(([names, does]) => [...names.map((name) => make('kbd', {}, name)), ' ' + does + ' ']));

function drawSample(index) {
  const sample = samples[index - from];
  const texts = textsOf(index);
  const { row } = texts;
  const place = found.indexOf(index - from);
  const near = (by) => (place === -1 ? index + by : found[place + by] === undefined ? -1 : found[place + by] + from);
  const link = (to, text, rel) => (to >= 0 && to < data.total ? make('a', { href: hrefOf(to), rel }, text) : undefined);
  const position = place === -1 ? 'sample ' + count(index + 1) + ' of ' + count(data.total) : count(place + 1) + ' of ' + count(found.length);
  const title = make('h2', { tabindex: '-1' }, nameOf(sample));
  const chips = [...(sample.x === undefined ? [] : [make('span', { class: 'chip fail' }, 'failed: ' + sample.x)]), ...sample.l.map((flag) => make('span', { class: 'chip' }, flag))];
  byId('sample').replaceChildren(
    make('div', { class: 'path' }, make('a', { href: listHref }, 'All samples'), ...[link(near(-1), 'Previous', 'prev'), link(near(1), 'Next', 'next')].filter(Boolean), make('span', { class: 'soft' }, position)),
    keys([['j', '\u2192'], 'next'], [['k', '\u2190'], 'previous'], [['Esc'], 'all samples']),
    title,
    make('p', { class: 'note' }, 'key ' + sample.k + ' \u00b7 ', make('a', { href: rowHref(sample) }, 'Link to this sample')),
    ...(chips.length === 0 ? [] : [make('p', {}, ...chips)]),
    ...(sample.y === undefined ? [] : [make('p', { class: 'soft' }, ...visible(sample.y))]),
    ratingsOf(sample),
    ...comparisonOf(texts, row),
    verdict(data.other === null ? 'What the judge says' : 'What the judge says of ' + data.run, row, texts),
    ...(row.other === undefined ? [] : [verdict('What the judge says of ' + data.other, row.other, texts)]),
    make('div', { class: 'folds' },
      fold('Action', sizeOf(texts.text(row.action)), () => [block(texts.text(row.action))]),
      historyOf(row, texts),
      ...(row.system === undefined ? [] : [fold('System prompt', sizeOf(texts.text(row.system)), () => [block(texts.text(row.system))])])));
  document.title = nameOf(sample) + ' \u00b7 ' + data.run;
  return title;
}

let listHref = data.chunk === null ? '#samples' : data.back + '#samples';
let listTop = 0;
const baseTitle = document.title;
/* The sample of a key, and of a repeat where one is named; -1 where there is none. */
function indexOfRow(wanted) {
  const [key, repeat] = [wanted.get('row'), wanted.get('repeat')];
  const at = samples.findIndex((sample) => sample.k === key && (repeat === null || sample.r === Number(repeat) - 1));
  return at === -1 ? -1 : at + from;
}
function drawMissing(key) {
  const title = make('h2', { tabindex: '-1' }, 'No such sample');
  const say = make('p', {}, 'This report has no sample of the key ', ...visible(key), '.');
  byId('sample').replaceChildren(make('div', { class: 'path' }, make('a', { href: listHref }, 'All samples')), title, say);
  return title;
}
function show() {
  const hash = location.hash;
  const row = hash.startsWith('#row=') ? new URLSearchParams(hash.slice(1)) : null;
  const number = /^#sample-(\d+)$/.exec(hash);
  const index = row !== null ? indexOfRow(row) : number === null ? (data.chunk === null ? -1 : from) : Number(number[1]) - 1;
  // A page of texts knows its own samples alone; the report knows all.
  if (row !== null && index === -1 && data.chunk !== null) return location.replace(data.back + hash);
  // A link to a sample whose texts lie in another page leads on to it.
  if ((row !== null || number !== null) && index >= 0 && index < data.total && hrefOf(index)[0] !== '#') return location.replace(hrefOf(index));
  const isMissing = row !== null && index === -1;
  const isSample = isMissing || (index >= 0 && isHere(index) && (data.pages === null || data.chunk !== null));
  const isList = !isSample && data.chunk === null && hash.startsWith('#samples');
  const wasList = byId('samples') !== null && !byId('samples').hidden;
  if (wasList && isSample) listTop = scrollY;
  for (const [id, shown] of [['overview', !isSample && !isList], ['samples', isList], ['sample', isSample]]) {
    const element = byId(id);
    if (element) element.hidden = !shown;
  }
  for (const anchor of document.querySelectorAll('nav a')) {
    const isCurrent = anchor.hash === (isList || isSample ? '#samples' : '#overview');
    if (isCurrent) anchor.setAttribute('aria-current', 'page');
    else anchor.removeAttribute('aria-current');
  }
  document.title = baseTitle;
  if (isList) {
    readFilters();
    searchAndDraw();
    listHref = hash;
    scrollTo(0, listTop);
  } else if (isSample) {
    const title = isMissing ? drawMissing(row.get('row')) : drawSample(index);
    scrollTo(0, 0);
    title.focus({ preventScroll: true });
  } else {
    scrollTo(0, 0);
  }
}

for (const name of FILTERS) {
  byId('filter-' + name)?.addEventListener(name === 'text' ? 'input' : 'change', (event) => {
    filters[name] = event.target.value;
    page = 0;
    listTop = 0;
    writeFilters();
    listHref = location.hash;
    if (name === 'text') searchAndDraw();
    else drawList();
  });
}
if (data.pages !== null) byId('filter-text')?.setAttribute('placeholder', 'key, flag or what is listed');
byId('filters')?.addEventListener('reset', () => { location.hash = '#samples'; filters = {}; page = 0; searchAndDraw(); });
byId('filters')?.addEventListener('submit', (event) => event.preventDefault());
/* Keys do what the links on the page do. Where something is typed or chosen they are left alone. */
function follow(selector) {
  const link = document.querySelector(selector);
  if (link) location.href = link.href;
}
function focusRow(by) {
  const links = [...byId('rows').querySelectorAll('a')];
  const at = links.indexOf(document.activeElement);
  links[at === -1 ? (by > 0 ? 0 : links.length - 1) : at + by]?.focus();
}
const SAMPLE_KEYS = {
  j: () => follow('#sample .path a[rel=next]'),
  ArrowRight: () => follow('#sample .path a[rel=next]'),
  k: () => follow('#sample .path a[rel=prev]'),
  ArrowLeft: () => follow('#sample .path a[rel=prev]'),
  Escape: () => follow('#sample .path a'),
};
const LIST_KEYS = { j: () => focusRow(1), k: () => focusRow(-1), '/': () => byId('filter-text').focus() };
addEventListener('keydown', (event) => {
  if (event.ctrlKey || event.metaKey || event.altKey || event.target.closest?.('input, select, textarea')) return;
  const isShown = (id) => byId(id) !== null && !byId(id).hidden;
  const known = isShown('sample') ? SAMPLE_KEYS : isShown('samples') ? LIST_KEYS : {};
  if (!Object.hasOwn(known, event.key)) return;
  event.preventDefault();
  known[event.key]();
});
addEventListener('hashchange', show);
show();
`;
