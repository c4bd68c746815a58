// A long list of rows with equal heights; only the visible ones are drawn.

import type { ComponentChild } from 'preact';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';

/** The height of a row in rem, as in samples.css. */
const ROW_REM = 5;
/** Rows drawn at once, more than fit on a screen, and how many of them are above the visible ones. */
const DRAWN = 60;
const ABOVE = 15;

/** Has its own scrolling. The `current` row scrolls into view when it changes, or when the list is shown again. */
export function RowWindow<T>(props: {
  label: string;
  rows: readonly T[];
  current: number;
  isShown: boolean;
  draw: (row: T) => ComponentChild;
}) {
  const { label, rows, current, isShown, draw } = props;
  const box = useRef<HTMLDivElement>(null);
  const [first, setFirst] = useState(0);
  const height = ROW_REM * Number.parseFloat(getComputedStyle(document.documentElement).fontSize);
  useLayoutEffect(() => {
    const { current: list } = box;
    if (list === null || current < 0) return;
    const [top, bottom] = [current * height, (current + 1) * height - list.clientHeight];
    if (top < list.scrollTop) list.scrollTop = top;
    else if (bottom > list.scrollTop) list.scrollTop = bottom;
  }, [current, isShown]);
  const follow = (top: number) => setFirst(Math.max(0, Math.floor(top / height / 10) * 10 - ABOVE));
  const from = Math.min(first, Math.max(0, rows.length - DRAWN));
  return (
    <div class="window" ref={box} onScroll={({ currentTarget }) => follow(currentTarget.scrollTop)}>
      <ol aria-label={label} style={{ height: `${rows.length * height}px`, paddingTop: `${from * height}px` }}>
        {rows.slice(from, from + DRAWN).map((row, at) => (
          <li aria-setsize={rows.length} aria-posinset={from + at + 1}>
            {draw(row)}
          </li>
        ))}
      </ol>
    </div>
  );
}
