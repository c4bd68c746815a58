// What the page for raters does: it asks for a name, shows a sample, takes ratings from the keyboard, and saves them.

import { button, part } from '../dom.js';
import { count } from '../numbers.js';
import { data } from './data.js';
import { ratingLines, saveFile } from './file.js';
import { drawPanel, refreshPanel, say } from './panel.js';
import {
  chooseRater,
  doneCount,
  entryAt,
  finish,
  goTo,
  isDone,
  isWhole,
  load,
  place,
  rate,
  store,
  undo,
} from './progress.js';
import { drawSample, drawVerdict } from './sample.js';

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
    place.rater === '' || doneCount() === 0
      ? ''
      : `${place.rater} has rated ${count(doneCount())} of ${count(data.samples.length)}; the page has kept it.`;
  nameField().focus();
}

function showSample(): void {
  show(false);
  const title = drawSample(move);
  drawPanel(refresh, done);
  refresh();
  scrollTo(0, 0);
  title.focus({ preventScroll: true });
}

/** Brings everything up to date with what was given. */
function refresh(): void {
  drawVerdict();
  refreshPanel();
  part('progress').replaceChildren(
    button(place.rater, { class: 'quiet', id: 'who', title: 'Change the rater' }, showIntro),
    ` · ${count(doneCount())} of ${count(data.samples.length)} rated`,
  );
}

function move(by: number): void {
  const index = place.index + by;
  if (index < 0 || index >= data.samples.length) {
    say(by > 0 ? 'This is the last sample.' : 'This is the first sample.');
    return;
  }
  goTo(index);
  showSample();
}

/** The rater is done with the sample, or goes on to the next one that is open. */
function done(): void {
  const entry = entryAt(place.index);
  if (!isWhole(entry)) {
    say('Rate all five dimensions first.');
    return;
  }
  if (!isDone(entry)) {
    finish();
    refresh();
    part('verdict').scrollIntoView({ block: 'center' });
    return;
  }
  const open = (index: number) => !isDone(entryAt(index));
  const order = data.samples.map((_, at) => (place.index + 1 + at) % data.samples.length);
  const next = order.find(open);
  if (next === undefined) say('All samples are rated. Save the file, and give it to awb agree.');
  else {
    goTo(next);
    showSample();
  }
}

function takeBack(): void {
  const { index } = place;
  if (!undo()) say('There is nothing to undo.');
  else if (place.index === index) refresh();
  else showSample();
}

function moveDimension(by: number): void {
  place.dimension = Math.min(Math.max(0, place.dimension + by), data.dimensions.length - 1);
  refreshPanel();
}

function save(): void {
  const lines = ratingLines();
  if (lines.length === 0) say('There is nothing to save yet: a sample counts when you are done with it.');
  else say(`Saved ${count(lines.length)} of ${count(data.samples.length)} as ${saveFile(lines)}.`);
}

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

function give(rating: number): void {
  rate(rating);
  refresh();
}

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

load();
part('begin').addEventListener('submit', (event) => {
  event.preventDefault();
  const name = nameField().value.trim();
  if (name === '') return;
  chooseRater(name);
  showSample();
});
part('save').addEventListener('click', save);
addEventListener('keydown', keyDown);
// The same page in another tab keeps its progress in the same place.
addEventListener('storage', ({ key }) => {
  if (key !== data.store || !store.keeps) return;
  const { rater, index, dimension } = place;
  load();
  Object.assign(place, { rater, index, dimension });
  if (!part('sample').hidden) refresh();
});
if (place.rater === '') showIntro();
else showSample();
