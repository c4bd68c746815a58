// The view of a sample to be rated: what was asked, the prediction beside the ground truth, and at the end what the judge says.

import { diffTable } from '../diff.js';
import { button, fold, make, part } from '../dom.js';
import { historyFold } from '../history.js';
import { count, sizeOf } from '../numbers.js';
import { block, visible } from '../visible.js';
import { data, judgeOf, type SampleTexts, sampleAt, textsAt } from './data.js';
import { entryAt, place } from './progress.js';

/** What the rater set for every sample. */
const view = { folds: true, spaces: true };

/** Draws the sample where the rater stands; returns its heading. */
export function drawSample(move: (by: number) => void): HTMLElement {
  const sample = sampleAt(place.index);
  const texts = textsAt(place.index);
  const { row, text } = texts;
  const title = make('h2', { tabindex: '-1' }, ...visible(sample.title));
  const steps = make(
    'div',
    { class: 'path' },
    button('Previous', { class: 'quiet', id: 'previous' }, () => move(-1)),
    button('Next', { class: 'quiet', id: 'next' }, () => move(1)),
    make('span', { class: 'soft' }, `sample ${count(place.index + 1)} of ${count(data.samples.length)}`),
  );
  const system = row.system === undefined ? undefined : text(row.system);
  part('sample').replaceChildren(
    steps,
    title,
    make('p', { class: 'note' }, `key ${sample.key}`),
    make(
      'div',
      { class: 'folds' },
      system === undefined ? undefined : fold('System prompt', sizeOf(system), () => [block(system)]),
      historyFold(row.history.map(text)),
    ),
    make('h3', {}, 'Action'),
    tall(block(text(row.action))),
    ...comparison(texts),
    make('div', { id: 'verdict' }),
  );
  drawVerdict();
  return title;
}

function tall(element: HTMLElement): HTMLElement {
  element.classList.add('tall');
  return element;
}

function comparison({ row, text }: SampleTexts): HTMLElement[] {
  const where = make('div');
  const draw = () => {
    where.className = view.spaces ? 'ws' : '';
    const truth = text(row.truth);
    where.replaceChildren(
      ...(row.prediction === undefined
        ? [make('p', { class: 'soft' }, 'The prediction is empty. The ground truth:'), block(truth)]
        : diffTable(truth, text(row.prediction), row.steps ?? [], view.folds, '')),
    );
  };
  const checkbox = (label: string, name: keyof typeof view) => {
    const input = make('input', { type: 'checkbox' });
    input.checked = view[name];
    input.addEventListener('change', () => {
      view[name] = input.checked;
      draw();
    });
    return make('label', {}, input, label);
  };
  draw();
  const tools = [checkbox('fold equal lines', 'folds'), checkbox('show white space', 'spaces')];
  return [make('div', { class: 'tools' }, make('h3', {}, 'Prediction beside ground truth'), ...tools), where];
}

/** What the judge says, once the rater is done with the sample; before, nothing of it is in the document. */
export function drawVerdict(): void {
  const entry = entryAt(place.index);
  if (entry.shown === undefined) {
    part('verdict').replaceChildren();
    return;
  }
  const { ratings, strengths, weaknesses } = judgeOf(sampleAt(place.index));
  const cells = data.dimensions.map(([, heading], at) =>
    make(
      'div',
      {},
      make('dt', {}, heading),
      make('dd', {}, figure(ratings[at]), make('span', { class: 'soft' }, `you ${figure(entry.ratings[at])}`)),
    ),
  );
  part('verdict').replaceChildren(
    make(
      'section',
      { class: 'verdict' },
      make('h3', { tabindex: '-1' }, 'What the judge says'),
      make('dl', { class: 'ratings' }, ...cells),
      make('div', { class: 'verdicts' }, remarks('Strengths', strengths), remarks('Weaknesses', weaknesses)),
    ),
  );
}

function figure(rating: number | null | undefined): string {
  return rating == null ? '–' : String(Math.round(rating * 100) / 100);
}

function remarks(title: string, items: readonly string[]): HTMLElement {
  const lines = items.map((item) => make('li', {}, ...visible(item.replace(/\s+/g, ' '))));
  const shown = lines.length === 0 ? make('p', { class: 'soft' }, 'None named.') : make('ul', {}, ...lines);
  return make('div', {}, make('h4', {}, title), shown);
}
