// The panel with the five dimensions: what is given, which one comes next, and what the rater can do now.

import { button, make, part } from '../dom.js';
import { data } from './data.js';
import { comment, type Entry, entryAt, isDone, isRevised, isWhole, place, rate, store } from './progress.js';

const RATINGS = [1, 2, 3, 4, 5];

/** Draws the panel of the sample where the rater stands. */
export function drawPanel(redraw: () => void, done: () => void): void {
  const dimensions = data.dimensions.map(([name, heading], dimension) => {
    const buttons = RATINGS.map((rating) => {
      const give = button(String(rating), { 'aria-label': `${heading} ${rating}` }, () => {
        place.dimension = dimension;
        rate(rating);
        redraw();
      });
      // A click leaves the keys where they are.
      give.addEventListener('mousedown', (event) => event.preventDefault());
      return give;
    });
    return make(
      'div',
      { id: `rate-${name}`, role: 'group', 'aria-label': heading },
      make('span', { class: 'name' }, heading),
      make('div', { class: 'five' }, ...buttons),
    );
  });
  const remark = make('textarea', { id: 'comment', rows: '1', placeholder: 'Comment', 'aria-label': 'Comment' });
  remark.value = entryAt(place.index).comment;
  remark.addEventListener('input', () => comment(remark.value));
  part('panel').replaceChildren(
    make(
      'div',
      { class: 'wrap' },
      make('div', { class: 'rate' }, ...dimensions),
      make(
        'div',
        { class: 'ask' },
        make('span', { id: 'ask', role: 'status' }),
        remark,
        button('Done', { id: 'done' }, done),
      ),
    ),
  );
  refreshPanel();
}

/** Brings the panel up to date with what was given. */
export function refreshPanel(): void {
  const entry = entryAt(place.index);
  for (const [dimension, [name]] of data.dimensions.entries()) {
    const group = part(`rate-${name}`);
    group.className = dimension === place.dimension ? 'current' : '';
    for (const [at, give] of [...group.querySelectorAll('button')].entries()) {
      give.setAttribute('aria-pressed', String(entry.ratings[dimension] === RATINGS[at]));
    }
  }
  part('ask').textContent = askFor(entry);
  part('done').textContent = isDone(entry) ? 'Next' : 'Done';
}

function askFor(entry: Entry): string {
  const [, heading = '', question = ''] = data.dimensions[place.dimension] ?? [];
  if (isRevised(entry)) return 'Changed after the judge was shown: awb agree leaves this sample out.';
  if (isDone(entry)) return 'Done. Enter: the next sample.';
  if (isWhole(entry)) return 'Enter: done with this sample, and what the judge says is shown.';
  const warning = store.keeps ? '' : ' This browser keeps no progress: save the file before you leave.';
  return `${heading}: ${question}${warning}`;
}

/** Says something in the panel until the next key. */
export function say(text: string): void {
  part('ask').textContent = text;
}
