// A sample's prediction beside its ground truth, with the fields that say how they are shown.

import type { SideTextData } from '../data.js';
import { data, type Texts } from './data.js';
import { diffTable } from './diff.js';
import { make } from './dom.js';
import { block } from './visible.js';

/** What the reader set: white space to be seen, equal lines folded. It holds from sample to sample. */
const view = { spaces: true, folds: true };

function checkbox(text: string, name: keyof typeof view, redraw: () => void): HTMLElement {
  const input = make('input', { type: 'checkbox' });
  input.checked = view[name];
  input.addEventListener('change', () => {
    view[name] = input.checked;
    redraw();
  });
  return make('label', {}, input, text);
}

/** The prediction beside the ground truth; of two runs, that of the one that is chosen. */
export function comparisonOf({ row, text }: Texts): HTMLElement[] {
  const where = make('div');
  let side: SideTextData = row;
  const nameOfSide = (each: SideTextData) => (each === row ? data.run : (data.other ?? ''));
  const draw = () => {
    where.className = view.spaces ? 'ws' : '';
    const who = data.other === null ? '' : ` of ${nameOfSide(side)}`;
    const truth = text(row.truth);
    if (side.prediction === undefined) {
      const none = make('p', { class: 'soft' }, `There is no prediction${who}. The ground truth:`);
      where.replaceChildren(none, block(truth));
    } else {
      where.replaceChildren(...diffTable(truth, text(side.prediction), side.steps ?? [], view.folds, who));
    }
  };
  const radio = (each: SideTextData) => {
    const input = make('input', { type: 'radio', name: 'side' });
    input.checked = each === side;
    input.addEventListener('change', () => {
      side = each;
      draw();
    });
    return make('label', {}, input, nameOfSide(each));
  };
  draw();
  const tools = make(
    'div',
    { class: 'tools' },
    make('h3', {}, 'Prediction beside ground truth'),
    ...(row.other === undefined ? [] : [radio(row), radio(row.other)]),
    checkbox('fold equal lines', 'folds', draw),
    checkbox('show white space', 'spaces', draw),
  );
  return [tools, where];
}
