// What the page for raters does: it asks for a name, shows a sample, takes ratings from the keyboard, shows what the judge says when
// the rater is done, and saves them.

import type { JudgeSays, TextsData } from '../data.js';
import { comparison } from './diff.js';
import { block, button, count, historyFold, json, make, part, remarks, textFold, visible } from './dom.js';
import * as progress from './rating-progress.js';
import { data, entryAt, isDone, isRevised, isWhole, place, store } from './rating-progress.js';

const { strings, rows } = json<TextsData>('texts');
const total = count(data.samples.length);

function nameField(): HTMLInputElement {
  const field = part('rater');
  if (!(field instanceof HTMLInputElement)) throw new Error('the page has no field for a name');
  return field;
}

function show(isIntro: boolean): void {
  part('intro').hidden = !isIntro;
  for (const id of ['sample', 'panel', 'save']) part(id).hidden = isIntro;
}

function showIntro(): void {
  show(true);
  part('progress').textContent = '';
  nameField().value = place.rater;
  part('kept').textContent =
    place.rater === '' || progress.doneCount() === 0
      ? ''
      : `${place.rater} has rated ${count(progress.doneCount())} of ${total}; the page has kept it.`;
  nameField().focus();
}

function showSample(): void {
  show(false);
  const title = drawSample();
  drawPanel();
  refresh();
  scrollTo(0, 0);
  title.focus({ preventScroll: true });
}

/** Draws the sample where the rater stands; returns its heading. */
function drawSample(): HTMLElement {
  const { key, title: name } = progress.sampleAt(place.index);
  const row = rows[place.index];
  if (row === undefined) throw new Error(`the page has no texts of sample ${place.index + 1}`);
  const text = (at: number) => strings[at] ?? '';
  const title = make('h2', { tabindex: '-1' }, visible(name));
  const prediction = row.prediction === undefined ? undefined : text(row.prediction);
  part('sample').replaceChildren(
    make(
      'div',
      { class: 'path' },
      button('Previous', { class: 'quiet', id: 'previous' }, () => move(-1)),
      button('Next', { class: 'quiet', id: 'next' }, () => move(1)),
      make('span', { class: 'soft' }, `sample ${count(place.index + 1)} of ${total}`),
    ),
    title,
    make('p', { class: 'note' }, `key ${key}`),
    make(
      'div',
      { class: 'folds' },
      row.system !== undefined && textFold('System prompt', text(row.system)),
      row.history && historyFold(row.history.map(text)),
    ),
    make('h3', {}, 'Action'),
    block(text(row.action), 'tall'),
    ...comparison(text(row.truth), [{ name: '', prediction, steps: row.steps }]),
    make('div', { id: 'verdict' }),
  );
  return title;
}

/** Brings everything up to date with what was given. */
function refresh(): void {
  drawVerdict();
  refreshPanel();
  part('progress').replaceChildren(
    button(place.rater, { class: 'quiet', id: 'who', title: 'Change the rater' }, showIntro),
    ` · ${count(progress.doneCount())} of ${total} rated`,
  );
}

/** What the judge says, once the rater is done with the sample; before, nothing of it is in the document. */
function drawVerdict(): void {
  const entry = entryAt(place.index);
  if (entry.shown === undefined) {
    part('verdict').replaceChildren();
    return;
  }
  const sealed = Uint8Array.from(atob(progress.sampleAt(place.index).judge), (character) => character.charCodeAt(0));
  const { ratings, strengths, weaknesses }: JudgeSays = JSON.parse(new TextDecoder().decode(sealed));
  const figure = (rating: number | null | undefined) => (rating == null ? '–' : String(Math.round(rating * 100) / 100));
  const cells = data.dimensions.map(([, heading], at) => {
    const own = make('span', { class: 'soft' }, `you ${figure(entry.ratings[at])}`);
    return make('div', {}, make('dt', {}, heading), make('dd', {}, figure(ratings[at]), own));
  });
  part('verdict').replaceChildren(
    make(
      'section',
      { class: 'verdict' },
      make('h3', {}, 'What the judge says'),
      make('dl', { class: 'ratings' }, cells),
      make('div', { class: 'verdicts' }, remarks('Strengths', strengths), remarks('Weaknesses', weaknesses)),
    ),
  );
}

/** The panel with the five dimensions, of the sample where the rater stands. */
function drawPanel(): void {
  const dimensions = data.dimensions.map(([name, heading], dimension) => {
    const buttons = [1, 2, 3, 4, 5].map((rating) =>
      // A click leaves the keys where they are.
      button(
        String(rating),
        { 'aria-label': `${heading} ${rating}`, mousedown: (event) => event.preventDefault() },
        () => {
          place.dimension = dimension;
          give(rating);
        },
      ),
    );
    return make(
      'div',
      { id: `rate-${name}`, role: 'group', 'aria-label': heading },
      make('span', { class: 'name' }, heading),
      make('div', { class: 'five' }, buttons),
    );
  });
  const remark = make('textarea', { id: 'comment', rows: '1', placeholder: 'Comment', 'aria-label': 'Comment' });
  remark.value = entryAt(place.index).comment;
  remark.addEventListener('input', () => progress.comment(remark.value));
  const ask = make('span', { id: 'ask', role: 'status' });
  part('panel').replaceChildren(
    make(
      'div',
      { class: 'wrap' },
      make('div', { class: 'rate' }, dimensions),
      make('div', { class: 'ask' }, ask, remark, button('Done', { id: 'done' }, done)),
    ),
  );
}

/** What is given, which dimension comes next, and what the rater can do now. */
function refreshPanel(): void {
  const entry = entryAt(place.index);
  for (const [dimension, [name]] of data.dimensions.entries()) {
    const group = part(`rate-${name}`);
    group.className = dimension === place.dimension ? 'current' : '';
    for (const [at, give] of group.querySelectorAll('button').entries()) {
      give.setAttribute('aria-pressed', String(entry.ratings[dimension] === at + 1));
    }
  }
  const [, heading = '', question = ''] = data.dimensions[place.dimension] ?? [];
  const warning = store.keeps ? '' : ' This browser keeps no progress: save the file before you leave.';
  if (isRevised(entry)) say('Changed after the judge was shown: awb agree leaves this sample out.');
  else if (isDone(entry)) say('Done. Enter: the next sample.');
  else if (isWhole(entry)) say('Enter: done with this sample, and what the judge says is shown.');
  else say(`${heading}: ${question}${warning}`);
  part('done').textContent = isDone(entry) ? 'Next' : 'Done';
}

/** Says something in the panel until the next key. */
function say(text: string): void {
  part('ask').textContent = text;
}

function move(by: number): void {
  const index = place.index + by;
  if (data.samples[index] === undefined) {
    say(by > 0 ? 'This is the last sample.' : 'This is the first sample.');
    return;
  }
  progress.goTo(index);
  showSample();
}

/** The rater is done with the sample, or goes on to the next one that is open. */
function done(): void {
  const entry = entryAt(place.index);
  if (!isWhole(entry)) {
    say('Rate all five dimensions first.');
  } else if (!isDone(entry)) {
    progress.finish();
    refresh();
    part('verdict').scrollIntoView({ block: 'center' });
  } else {
    const next = progress.openFrom(place.index + 1);
    if (next === undefined) say('All samples are rated. Save the file, and give it to awb agree.');
    else {
      progress.goTo(next);
      showSample();
    }
  }
}

function takeBack(): void {
  const { index } = place;
  if (!progress.undo()) say('There is nothing to undo.');
  else if (place.index === index) refresh();
  else showSample();
}

function moveDimension(by: number): void {
  place.dimension = Math.min(Math.max(0, place.dimension + by), data.dimensions.length - 1);
  refreshPanel();
}

function give(rating: number): void {
  progress.rate(rating);
  refresh();
}

const save = () => say(progress.saveFile());
const KEYS: ReadonlyMap<string, () => void> = new Map([
  ['ArrowUp', () => moveDimension(-1)],
  ['ArrowDown', () => moveDimension(1)],
  ['ArrowLeft', () => move(-1)],
  ['k', () => move(-1)],
  ['ArrowRight', () => move(1)],
  ['j', () => move(1)],
  ['u', takeBack],
  ['c', () => part('comment').focus()],
  ['s', save],
  ['Enter', done],
  ['Escape', showIntro],
  ...['1', '2', '3', '4', '5'].map((key) => [key, () => give(Number(key))] as const),
]);

function keyDown(event: KeyboardEvent): void {
  if (event.ctrlKey || event.metaKey || event.altKey || part('sample').hidden) return;
  const target = event.target instanceof HTMLElement ? event.target : undefined;
  if (target?.closest('input:not([type=checkbox]), textarea') != null) {
    if (event.key === 'Escape') target.blur();
    return;
  }
  // Enter does what the element in focus is for.
  if (event.key === 'Enter' && target?.closest('button, summary, a') != null) return;
  const act = KEYS.get(event.key);
  if (act === undefined) return;
  event.preventDefault();
  act();
}

progress.load();
part('begin').addEventListener('submit', (event) => {
  event.preventDefault();
  const name = nameField().value.trim();
  if (name === '') return;
  progress.chooseRater(name);
  showSample();
});
part('save').addEventListener('click', save);
addEventListener('keydown', keyDown);
// The same page in another tab keeps its progress in the same place.
addEventListener('storage', ({ key }) => {
  if (key !== data.store || !store.keeps) return;
  const here = { ...place };
  progress.load();
  Object.assign(place, here);
  if (!part('sample').hidden) refresh();
});
if (place.rater === '') showIntro();
else showSample();
