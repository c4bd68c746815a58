// Predictions next to their ground truth: equal, changed, missing and invented lines, and the changes within lines.

import type { ComponentChild } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { difference, type Ranges, type Step } from '../../core/difference.js';
import { count, plural } from '../figures.js';
import { Text, visible } from './text.js';

/** Equal lines shown around a change, and the fewest that are folded. */
const CONTEXT = 3;
const LEAST_FOLDED = 5;
/** Lines drawn at once. */
const MOST_LINES = 1000;
/** Characters of a line drawn at once, and how many of them precede its first change. */
const MOST_OF_LINE = 4000;
const BEFORE_CHANGE = 300;

/** A run's prediction; undefined if it failed. */
interface Prediction {
  readonly name: string;
  readonly text: string | undefined;
}

/** A line of a text, numbered from 0, with its changes; a line that occurs in only one of the texts has no `changes`. */
interface Line {
  readonly at: number;
  readonly text: string;
  readonly isChanged: boolean;
  readonly changes?: Ranges | undefined;
}

/** A line of the truth, and its counterpart in each prediction. */
interface Row {
  readonly truth: Line | undefined;
  readonly sides: readonly (Line | undefined)[];
}

/** The truth and one or two predictions, line by line. Hues and signs mark missing and invented lines. */
export function Difference(props: { readonly truth: string; readonly predictions: readonly Prediction[] }) {
  const { truth, predictions } = props;
  const there = predictions.filter(({ text }) => text !== undefined);
  const texts = there.flatMap(({ text }) => text ?? []);
  // The table depends only on the texts.
  const rows = useMemo(() => rowsOf(truth, texts), [truth, ...texts]);
  const isEqual = !rows.some(isDifferent);
  const heads = [
    { name: 'Ground truth', hue: 'missing', sign: '−' },
    ...there.map(({ name }, at) => ({
      ...{ name: `Prediction${name && ` of ${name}`}`, hue: 'invented' },
      sign: signOf(at, there.length),
    })),
  ];
  return (
    <>
      {predictions.map(
        ({ name, text }) =>
          text === undefined && <p class="soft">There is no prediction{visible(name && ` of ${name}`)}.</p>,
      )}
      {isEqual && there.length > 0 && <p class="soft">The prediction equals the ground truth.</p>}
      {there.length === 0 ? (
        <Text text={truth} />
      ) : (
        <table class="difference">
          <colgroup>{heads.map(() => [<col class="line" />, <col />])}</colgroup>
          <thead>
            <tr>
              {heads.map(({ name, hue, sign }) => (
                <th colSpan={2} scope="col">
                  {visible(name)} <span class={`chip ${hue}`}>{`${sign} ${hue}`}</span>
                </th>
              ))}
            </tr>
          </thead>
          <tbody>
            <Rows rows={rows} foldsEqual={!isEqual} />
          </tbody>
        </table>
      )}
    </>
  );
}

/** With two predictions, each line shows which one it belongs to: on a phone they are below each other. */
function signOf(at: number, of: number): string {
  return of === 1 ? '+' : `+${'AB'[at]}`;
}

function isDifferent({ truth, sides }: Row): boolean {
  return truth === undefined || truth.isChanged || sides.some((side) => side?.isChanged !== false);
}

function rowsOf(truth: string, predictions: readonly string[]): Row[] {
  const aligned = predictions.map((prediction) => align(prediction, difference(truth, prediction)));
  const rows: Row[] = [];
  const lines = truth.split('\n');
  for (let at = 0; at <= lines.length; at++) {
    const invented = aligned.map(({ before }) => before.get(at) ?? []);
    const most = Math.max(...invented.map(({ length }) => length));
    for (let nth = 0; nth < most; nth++) rows.push({ truth: undefined, sides: invented.map((side) => side[nth]) });
    const text = lines[at];
    if (text === undefined) break;
    const pairs = aligned.map(({ pairs }) => pairs.get(at));
    // Two predictions may lack different words of a line, so none are marked then.
    const changes = pairs.length === 1 ? pairs[0]?.lacks : pairs.some((pair) => pair === undefined) ? undefined : [];
    const isChanged = pairs.some((pair) => pair?.line.isChanged !== false);
    rows.push({ truth: { at, text, isChanged, changes }, sides: pairs.map((pair) => pair?.line) });
  }
  return rows;
}

/** By line of the truth: its counterpart, with what it lacks; and the lines invented before it. */
function align(prediction: string, steps: readonly Step[]) {
  const pairs = new Map<number, { readonly line: Line; readonly lacks?: Ranges }>();
  const before = new Map<number, Line[]>();
  const lines = prediction.split('\n');
  let [atTruth, at] = [0, 0];
  const next = (isChanged: boolean, changes?: Ranges): Line => ({ at, text: lines[at++] ?? '', isChanged, changes });
  for (const step of steps) {
    if (typeof step === 'number') {
      for (let nth = 0; nth < step; nth++) pairs.set(atTruth++, { line: next(false) });
    } else if (step[0] === '~') {
      pairs.set(atTruth++, { line: next(true, step[2]), lacks: step[1] });
    } else if (step[0] === '-') {
      atTruth += step[1];
    } else {
      const invented = Array.from({ length: step[1] }, () => next(true));
      before.set(atTruth, [...(before.get(atTruth) ?? []), ...invented]);
    }
  }
  return { pairs, before };
}

/** Equal lines far from any change are folded, and what is too long to draw at once appears on a click. */
function Rows({ rows, foldsEqual }: { readonly rows: readonly Row[]; readonly foldsEqual: boolean }) {
  const drawn: ComponentChild[] = [];
  const draw = (from: number, to: number) => {
    for (const row of rows.slice(from, to)) drawn.push(<DrawnRow row={row} />);
  };
  for (let at = 0; at < rows.length; ) {
    if (drawn.length >= MOST_LINES) {
      const rest = rows.slice(at);
      drawn.push(<Hole text={`Show more: ${plural(rest.length, 'line')} left`} rows={rest} foldsEqual={foldsEqual} />);
      break;
    }
    const change = foldsEqual ? rows.findIndex((row, place) => place >= at && isDifferent(row)) : at;
    const end = change === -1 ? rows.length : change;
    const [first, last] = [at === 0 ? 0 : at + CONTEXT, end === rows.length ? end : end - CONTEXT];
    if (last - first >= LEAST_FOLDED) {
      draw(at, first);
      drawn.push(
        <Hole text={`⋯ ${count(last - first)} equal lines`} rows={rows.slice(first, last)} foldsEqual={false} />,
      );
      draw(last, end);
      at = end;
    } else {
      draw(at, end + 1);
      at = end + 1;
    }
  }
  return <>{drawn}</>;
}

function Hole(props: { readonly text: string; readonly rows: readonly Row[]; readonly foldsEqual: boolean }) {
  const [isOpen, setOpen] = useState(false);
  if (isOpen) return <Rows rows={props.rows} foldsEqual={props.foldsEqual} />;
  return (
    <tr class="hole">
      <td colSpan={2 + 2 * (props.rows[0]?.sides.length ?? 0)}>
        <button type="button" class="quiet" onClick={() => setOpen(true)}>
          {props.text}
        </button>
      </td>
    </tr>
  );
}

function DrawnRow({ row }: { readonly row: Row }) {
  return (
    <tr class={isDifferent(row) ? undefined : 'same'}>
      <Cells line={row.truth} hue="missing" sign="−" />
      {row.sides.map((line, at) => (
        <Cells line={line} hue="invented" sign={signOf(at, row.sides.length)} />
      ))}
    </tr>
  );
}

/** The number and the text of a line. */
function Cells({ line, hue, sign }: { line: Line | undefined; hue: 'missing' | 'invented'; sign: string }) {
  if (line === undefined) {
    return (
      <>
        <td class="line none" />
        <td class="none" />
      </>
    );
  }
  const look = line.isChanged ? hue : '';
  return (
    <>
      <td class={`line n soft ${look}`}>{line.isChanged ? `${sign} ${line.at + 1}` : line.at + 1}</td>
      <td class={look}>
        <Marked line={line} tag={hue === 'missing' ? 'del' : 'ins'} />
      </td>
    </>
  );
}

/** The text of a line with its changed words marked; for a huge line, the part around its first change. */
function Marked({ line, tag: Tag }: { readonly line: Line; readonly tag: 'del' | 'ins' }) {
  const { text, isChanged, changes } = line;
  const start = text.length <= MOST_OF_LINE ? 0 : Math.max(0, (changes?.[0] ?? 0) - BEFORE_CHANGE);
  const [[from, to], setShown] = useState<readonly [number, number]>([start, start + MOST_OF_LINE]);
  const parts: ComponentChild[] = [];
  let at = from;
  const add = (end: number, isMarked: boolean) => {
    const part = text.slice(at, Math.min(end, to));
    if (part === '') return;
    const shown = visible(part, isMarked || (isChanged && changes === undefined));
    parts.push(isMarked ? <Tag>{shown}</Tag> : shown);
    at += part.length;
  };
  for (let n = 0; changes !== undefined && n < changes.length && at < to; n += 2) {
    const [begin = 0, end = 0] = changes.slice(n, n + 2);
    if (end <= at) continue;
    add(begin, false);
    add(end, true);
  }
  add(text.length, false);
  const more = (left: number, where: string, shown: readonly [number, number]) =>
    left > 0 && (
      <button type="button" class="quiet" onClick={() => setShown(shown)}>
        {`${where} ${plural(left, 'character')}: show more`}
      </button>
    );
  return (
    <>
      {more(from, '⋯ before this', [Math.max(0, from - 10 * MOST_OF_LINE), to])}
      {parts}
      {more(text.length - to, '⋯ and', [from, to + 10 * MOST_OF_LINE])}
    </>
  );
}
