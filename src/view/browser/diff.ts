// A prediction beside its ground truth: equal, changed, missing and added lines, and within changed lines what changed.

import type { Ranges, Step } from '../../core/difference.js';
import { block, button, count, make, option, visible } from './dom.js';

/** Equal lines that are shown around a change. */
const CONTEXT = 3;
/** Lines drawn at once. */
const DRAWN = 1500;

/** A line of either text, from 0 on, with what changed in it. */
interface Line {
  readonly at: number;
  readonly text: string;
  readonly changes?: Ranges | undefined;
}

/** A row of the table; a side that has no line is absent. */
interface Row {
  readonly kind: 'same' | 'changed' | 'cut' | 'add';
  readonly truth?: Line;
  readonly prediction?: Line;
}

/** One prediction that can be held against the truth. */
interface Side {
  /** Whose it is, where there are several. */
  readonly name: string;
  /** Absent where there is none. */
  readonly prediction: string | undefined;
  readonly steps: readonly Step[] | undefined;
}

/** What the reader set: white space to be seen, equal lines folded. It holds from sample to sample. */
const view = { spaces: true, folds: true };

/** A prediction beside the ground truth, with the fields that say how they are shown; of several predictions, the one that is chosen. */
export function comparison(truth: string, sides: readonly [Side, ...Side[]]): HTMLElement[] {
  const where = make('div');
  let [shown] = sides;
  const draw = () => {
    const { name, prediction, steps = [] } = shown;
    const who = sides.length === 1 ? '' : ` of ${name}`;
    where.className = view.spaces ? 'ws' : '';
    const none = make('p', { class: 'soft' }, `There is no prediction${who}. The ground truth:`);
    where.replaceChildren(
      ...(prediction === undefined ? [none, block(truth)] : diffTable(truth, prediction, steps, who)),
    );
  };
  const setting = (text: string, name: keyof typeof view) =>
    option('checkbox', text, view[name], () => {
      view[name] = !view[name];
      draw();
    });
  const choices = sides.map((side) =>
    option('radio', side.name, side === shown, () => {
      shown = side;
      draw();
    }),
  );
  draw();
  const tools = make(
    'div',
    { class: 'tools' },
    make('h3', {}, 'Prediction beside ground truth'),
    sides.length > 1 && choices,
    setting('fold equal lines', 'folds'),
    setting('show white space', 'spaces'),
  );
  return [tools, where];
}

function diffTable(truth: string, prediction: string, steps: readonly Step[], who: string): HTMLElement[] {
  const rows = diffRows(truth, prediction, steps);
  const isEqual = rows.every((row) => row.kind === 'same');
  const columns = ['g', '', 'g', ''].map((look) => make('col', { class: look }));
  const heads = ['Ground truth', `Prediction${who}`].map((text) => make('th', { colspan: '2', scope: 'col' }, text));
  const table = make(
    'table',
    { class: 'diff' },
    make('colgroup', {}, columns),
    make('thead', {}, make('tr', {}, heads)),
    make('tbody', {}, drawRows(rows, view.folds && !isEqual)),
  );
  return isEqual ? [make('p', { class: 'soft' }, 'The prediction equals the ground truth.'), table] : [table];
}

function diffRows(truth: string, prediction: string, steps: readonly Step[]): Row[] {
  const reader = (text: string) => {
    const lines = text.split('\n').entries();
    return (changes?: Ranges): Line => {
      const [at, line] = lines.next().value ?? [0, ''];
      return { at, text: line, changes };
    };
  };
  const [nextCut, nextAdded] = [reader(truth), reader(prediction)];
  return steps.flatMap((step): Row[] => {
    const times = (lines: number, row: () => Row) => Array.from({ length: lines }, row);
    if (typeof step === 'number') {
      return times(step, () => ({ kind: 'same', truth: nextCut(), prediction: nextAdded() }));
    }
    if (step[0] === '~') return [{ kind: 'changed', truth: nextCut(step[1]), prediction: nextAdded(step[2]) }];
    return step[0] === '-'
      ? times(step[1], () => ({ kind: 'cut', truth: nextCut() }))
      : times(step[1], () => ({ kind: 'add', prediction: nextAdded() }));
  });
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
      const hole = foldRow(`⋯ ${count(hidden.length)} equal lines`, () => drawRows(hidden, false));
      drawn.push(...rows.slice(at, first).map(diffRow), hole, ...rows.slice(last, end).map(diffRow));
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
  const open = button(text, { class: 'quiet' }, () => row.replaceWith(...unfold()));
  const row = make('tr', { class: 'fold' }, make('td', { colspan: '4' }, open));
  return row;
}

function diffRow({ kind, truth, prediction }: Row): HTMLElement {
  return make('tr', { class: kind }, cells(kind, truth, 'cut', '−', 'del'), cells(kind, prediction, 'add', '+', 'ins'));
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
  const { at, text, changes } = line;
  return [
    make('td', { class: isChanged ? `g ${tint}` : 'g' }, `${isChanged ? `${sign} ` : ''}${at + 1}`),
    make(
      'td',
      { class: isChanged ? tint : undefined },
      changes === undefined ? visible(text, isChanged) : marked(text, changes, tag),
    ),
  ];
}

function marked(text: string, ranges: Ranges, tag: 'del' | 'ins'): (Node | string)[] {
  const parts: (Node | string)[] = [];
  let at = 0;
  for (let n = 0; n < ranges.length; n += 2) {
    const [start, end] = ranges.slice(n, n + 2);
    parts.push(...visible(text.slice(at, start)), make(tag, {}, visible(text.slice(start, end), true)));
    at = end ?? at;
  }
  return [...parts, ...visible(text.slice(at))];
}
