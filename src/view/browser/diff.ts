// A prediction beside its ground truth: equal, changed, missing and added lines, and within changed lines what changed.

import type { Ranges, Step } from '../../core/difference.js';
import { button, make } from './dom.js';
import { count } from './numbers.js';
import { visible } from './visible.js';

/** Equal lines that are shown around a change. */
const CONTEXT = 3;
/** Lines drawn at once. */
const DRAWN = 1500;

/** A line of either text, from 0 on, with what changed in it. */
interface Line {
  readonly at: number;
  readonly text: string;
  readonly changes?: Ranges;
}

/** A row of the table; a side that has no line is absent. */
interface Row {
  readonly kind: 'same' | 'changed' | 'cut' | 'add';
  readonly truth?: Line;
  readonly prediction?: Line;
}

export function diffTable(
  truth: string,
  prediction: string,
  steps: readonly Step[],
  foldsEqual: boolean,
  who: string,
): HTMLElement[] {
  const rows = diffRows(truth, prediction, steps);
  const isEqual = rows.every((row) => row.kind === 'same');
  const columns = [make('col', { class: 'g' }), make('col'), make('col', { class: 'g' }), make('col')];
  const heads = ['Ground truth', `Prediction${who}`].map((text) => make('th', { colspan: '2', scope: 'col' }, text));
  const table = make(
    'table',
    { class: 'diff' },
    make('colgroup', {}, ...columns),
    make('thead', {}, make('tr', {}, ...heads)),
    make('tbody', {}, ...drawRows(rows, foldsEqual && !isEqual)),
  );
  return isEqual ? [make('p', { class: 'soft' }, 'The prediction equals the ground truth.'), table] : [table];
}

function diffRows(truth: string, prediction: string, steps: readonly Step[]): Row[] {
  const cut = truth.split('\n').values();
  const added = prediction.split('\n').values();
  let [atTruth, atPrediction] = [0, 0];
  const line = (text: string | undefined, at: number, changes?: Ranges): Line =>
    changes === undefined ? { at, text: text ?? '' } : { at, text: text ?? '', changes };
  const nextCut = (changes?: Ranges) => line(cut.next().value, atTruth++, changes);
  const nextAdded = (changes?: Ranges) => line(added.next().value, atPrediction++, changes);
  const rows: Row[] = [];
  for (const step of steps) {
    if (typeof step === 'number') {
      for (let n = 0; n < step; n++) rows.push({ kind: 'same', truth: nextCut(), prediction: nextAdded() });
    } else if (step[0] === '~') {
      rows.push({ kind: 'changed', truth: nextCut(step[1]), prediction: nextAdded(step[2]) });
    } else {
      const [sign, lines] = step;
      for (let n = 0; n < lines; n++) {
        rows.push(sign === '-' ? { kind: 'cut', truth: nextCut() } : { kind: 'add', prediction: nextAdded() });
      }
    }
  }
  return rows;
}

/** Equal lines far from any change are folded, and what is too long to draw at once waits for a click. */
function drawRows(rows: readonly Row[], foldsEqual: boolean): HTMLElement[] {
  const drawn: HTMLElement[] = [];
  for (let at = 0; at < rows.length; ) {
    if (drawn.length >= DRAWN) {
      const rest = rows.slice(at);
      drawn.push(foldRow(`Show the next of ${count(rest.length)} further lines`, () => drawRows(rest, foldsEqual)));
      break;
    }
    let end = at;
    while (rows[end]?.kind === 'same') end++;
    const first = at === 0 ? at : at + CONTEXT;
    const last = end === rows.length ? end : end - CONTEXT;
    if (foldsEqual && last - first > 4) {
      const hidden = rows.slice(first, last);
      drawn.push(
        ...rows.slice(at, first).map(diffRow),
        foldRow(`⋯ ${count(hidden.length)} equal lines`, () => drawRows(hidden, false)),
        ...rows.slice(last, end).map(diffRow),
      );
      at = end;
    } else {
      const stop = Math.max(at + 1, Math.min(end, at + DRAWN));
      drawn.push(...rows.slice(at, stop).map(diffRow));
      at = stop;
    }
  }
  return drawn;
}

function foldRow(text: string, unfold: () => readonly HTMLElement[]): HTMLElement {
  const row: HTMLElement = make(
    'tr',
    { class: 'fold' },
    make(
      'td',
      { colspan: '4' },
      button(text, { class: 'quiet' }, () => row.replaceWith(...unfold())),
    ),
  );
  return row;
}

function diffRow({ kind, truth, prediction }: Row): HTMLElement {
  return make(
    'tr',
    { class: kind },
    ...cells(kind, truth, 'cut', '−', 'del'),
    ...cells(kind, prediction, 'add', '+', 'ins'),
  );
}

/** The number and the text of one side's line. */
function cells(
  kind: Row['kind'],
  line: Line | undefined,
  tint: string,
  sign: string,
  tag: 'del' | 'ins',
): HTMLElement[] {
  if (line === undefined) return [make('td', { class: 'g none' }), make('td', { class: 'none' })];
  const isChanged = kind !== 'same';
  const content = line.changes === undefined ? visible(line.text, isChanged) : marked(line.text, line.changes, tag);
  return [
    make('td', { class: isChanged ? `g ${tint}` : 'g' }, `${isChanged ? `${sign} ` : ''}${line.at + 1}`),
    make('td', isChanged ? { class: tint } : {}, ...content),
  ];
}

function marked(text: string, ranges: Ranges, tag: 'del' | 'ins'): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let at = 0;
  for (let n = 0; n < ranges.length; n += 2) {
    const [start, end] = ranges.slice(n, n + 2);
    parts.push(...visible(text.slice(at, start)), make(tag, {}, ...visible(text.slice(start, end), true)));
    at = end ?? at;
  }
  return [...parts, ...visible(text.slice(at))];
}
