// Charts as SVG next to the figures themselves, so that nobody has to read a chart: dots with their intervals, and curves with bands.

import type { ComponentChild } from 'preact';
import { type Column, type Row, Table } from './parts.js';
import { count, DASH, number, range, signed, visible } from './text.js';

/** What a chart spans. */
interface Scale {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly number[];
}

interface Figure {
  readonly value: number;
  readonly low?: number | null | undefined;
  readonly high?: number | null | undefined;
  readonly rows?: number | undefined;
}

/** A line of a chart: a figure of this run, and next to it that of another. */
export interface ChartLine {
  readonly name: ComponentChild;
  readonly figure: Figure | null | undefined;
  readonly other?: Figure | null | undefined;
  readonly isSum?: boolean | undefined;
  /** What stands behind the figure and its interval. */
  readonly cells?: readonly ComponentChild[];
}

/** Figures with their 95 % intervals; where another run is named, with its figures next to them. */
export function IntervalChart(props: {
  first: string;
  lines: readonly ChartLine[];
  /** Where the scale ends; it ends where the figures do on a side that is null. */
  ends: readonly [from: number | null, to: number | null];
  decimals?: number;
  otherName?: string | undefined;
}) {
  const { first, lines, ends, decimals = 1, otherName } = props;
  const scale = scaleOf(
    ends,
    lines.flatMap(({ figure, other }) => [figure, other]),
  );
  const heads = ['Score', '95 % interval', ...(otherName === undefined ? [] : [otherName]), 'Rows'];
  const cellsOf = ({ figure, other }: ChartLine) => [
    number(figure, decimals),
    <span class="note">{range(figure, (value) => value.toFixed(decimals)) ?? DASH}</span>,
    ...(otherName === undefined ? [] : [number(other, decimals)]),
    count(figure?.rows),
  ];
  return <Chart first={first} heads={heads} scale={scale} lines={lines} cellsOf={cellsOf} />;
}

/** Differences with their 95 % intervals around 0. @param heads of the difference, and of the cells of each line */
export function DifferenceChart(props: { first: string; heads: readonly string[]; lines: readonly ChartLine[] }) {
  const { first, heads, lines } = props;
  const [difference = '', ...others] = heads;
  const scale = scaleAround(lines.flatMap(({ figure }) => figure ?? []).flatMap(reach));
  const cellsOf = ({ figure, cells = [] }: ChartLine) => [
    figure ? signed(figure.value) : DASH,
    <span class="note">{range(figure, signed) ?? DASH}</span>,
    ...cells,
  ];
  const all = [difference, '95 % interval', ...others];
  return <Chart first={first} heads={all} scale={scale} lines={lines} cellsOf={cellsOf} />;
}

function reach({ value, low, high }: Figure): number[] {
  return [value, low ?? value, high ?? value];
}

/** A table whose second column is a drawing on one scale. On a phone the columns behind the first two figures are left out. */
function Chart(props: {
  first: string;
  heads: readonly string[];
  scale: Scale;
  lines: readonly ChartLine[];
  cellsOf: (line: ChartLine) => readonly ComponentChild[];
}) {
  const { first, heads, scale, lines, cellsOf } = props;
  if (lines.length === 0) return null;
  const isAround = scale.from === -scale.to;
  const axis = (
    <svg class="axis" height="1.1rem" aria-hidden="true">
      {scale.ticks.map((tick) => {
        const anchor = tick === scale.from ? 'start' : tick === scale.to ? 'end' : 'middle';
        return (
          <text x={along(tick, scale)} y="80%" text-anchor={anchor}>
            {isAround && tick > 0 ? '+' : ''}
            {tickText(tick)}
          </text>
        );
      })}
    </svg>
  );
  const columns: Column[] = [
    { heading: first },
    { heading: axis, kind: 'drawing' },
    ...heads.map((heading, at): Column => ({ heading, kind: 'figure', isWide: at > 1 })),
  ];
  const rows = lines.map(
    (line): Row => ({
      cells: [line.name, <Track scale={scale} figure={line.figure} other={line.other} />, ...cellsOf(line)],
      isSum: line.isSum,
    }),
  );
  return <Table look="chart" columns={columns} rows={rows} />;
}

/** A dot with its interval. Two runs lie one above the other, so that neither hides the other's interval. */
export function Track({ scale, figure, other }: { scale: Scale } & Pick<ChartLine, 'figure' | 'other'>) {
  const isAround = scale.from === -scale.to;
  return (
    <svg class="track" height="1.75rem" aria-hidden="true">
      {scale.ticks.map((tick) => {
        const at = along(tick, scale);
        return <line class={tick === 0 && isAround ? 'zero-line' : 'grid'} x1={at} x2={at} y1="0" y2="100%" />;
      })}
      {other && (
        <g class="other">
          <Mark figure={other} scale={scale} radius={4} y="72%" />
        </g>
      )}
      {figure && <Mark figure={figure} scale={scale} radius={5} y={other ? '32%' : '50%'} />}
    </svg>
  );
}

/** By percent of the track, so that a chart of any width keeps its proportions. */
function Mark({ figure, scale, radius, y }: { figure: Figure; scale: Scale; radius: number; y: string }) {
  const { value, low, high } = figure;
  return (
    <>
      {typeof low === 'number' && typeof high === 'number' && (
        <line class="reach" x1={along(low, scale)} x2={along(high, scale)} y1={y} y2={y} />
      )}
      <circle class="dot" cx={along(value, scale)} cy={y} r={radius} />
    </>
  );
}

/** In quarters; where an end is null, as far as these figures and their intervals reach. */
export function scaleOf(
  [least, most]: readonly [number | null, number | null],
  figures: readonly (Figure | null | undefined)[],
): Scale {
  const reached = figures.flatMap((figure) => figure ?? []).flatMap(reach);
  if (reached.length === 0) reached.push(0, 100);
  const [low, high] = [least ?? Math.min(...reached), most ?? Math.max(...reached)];
  const isWhole = least !== null && most !== null;
  const step = isWhole ? (high - low) / 4 : tickStep(high - low);
  const from = isWhole ? low : Math.floor(low / step) * step;
  return stepped(from, step, Math.max(1, Math.ceil((high - from) / step)));
}

/** A round number, a few of which make up the span. */
function tickStep(span: number): number {
  const size = 10 ** Math.floor(Math.log10(span || 1));
  return span / size > 5 ? 2 * size : span / size > 2 ? size : size / 2;
}

/** Differences of scores around 0. None is larger than 100: what is beyond is cut off at the edge. */
function scaleAround(values: readonly number[]): Scale {
  const most = Math.min(100, Math.max(5, ...values.map(Math.abs)));
  const step = [2.5, 5, 10, 25].find((size) => size * 2 >= most) ?? 50;
  const steps = Math.ceil(most / step);
  return stepped(-steps * step, step, 2 * steps);
}

function stepped(from: number, step: number, steps: number): Scale {
  const ticks = Array.from({ length: steps + 1 }, (_, at) => Number((from + at * step).toPrecision(6)));
  return { from, to: from + steps * step, ticks };
}

/** How far from the left a value stands; what is beyond the scale stands at its edge. */
function along(value: number, { from, to }: Scale): string {
  return cssPercent(100 * Math.min(1, Math.max(0, (value - from) / (to - from))));
}

export function cssPercent(percent: number): string {
  return `${Number(percent.toFixed(2))}%`;
}

function tickText(tick: number): string {
  return String(tick).replace('-', '−');
}

export interface CurvePoint {
  /** How far from the left it stands, 0 to 1. */
  readonly at: number;
  /** Its name below the drawing; a point without one has no dot. */
  readonly label: string;
  readonly figure: Figure;
  /** The value of another run there. */
  readonly other?: number | undefined;
  /** Whether the reader has ticked it. */
  readonly isChosen?: boolean | undefined;
}

/** In percent of the width; what is left keeps dots and labels off the edges. */
const [FIRST, WIDTH] = [4, 90];
/** What the name of a point takes, with the space next to it and for each character. */
const [SPACE, CHARACTER] = [5, 3];

/** A curve with its band. @param limit where a dashed line runs across */
export function Curve(props: {
  name: string;
  points: readonly CurvePoint[];
  scale: Scale;
  isSum?: boolean;
  limit?: number;
}) {
  const { name, points, scale, isSum, limit } = props;
  const left = ({ at }: CurvePoint) => FIRST + WIDTH * at;
  const top = (value: number) => 100 - Number.parseFloat(along(value, scale));
  const path = (of: (point: CurvePoint) => number | null | undefined, some = points) =>
    some.flatMap((point) => {
      const value = of(point);
      return typeof value === 'number' ? [`${Number(left(point).toFixed(2))},${Number(top(value).toFixed(2))}`] : [];
    });
  const band = [...path(({ figure }) => figure.high), ...path(({ figure }) => figure.low, points.toReversed())];
  const named = points.filter(({ label }) => label !== '');
  const said = named.map(({ label, figure }) => `${label}: ${number(figure)} (${range(figure) ?? 'no interval'})`);
  return (
    <figure class={isSum ? 'sum' : undefined}>
      <figcaption>{visible(name)}</figcaption>
      <svg class="curve" role="img" aria-label={`${name}, ${said.join('; ')}`}>
        {scale.ticks.map((tick) => {
          const y = cssPercent(top(tick));
          return (
            <>
              <line class={tick === 0 && scale.from < 0 ? 'zero-line' : 'grid'} x1="0" x2="100%" y1={y} y2={y} />
              <text text-anchor="end" x="-6" y={y} dy="0.32em">
                {tickText(tick)}
              </text>
            </>
          );
        })}
        {limit !== undefined && (
          <line
            class="zero-line"
            stroke-dasharray="4 4"
            x1="0"
            x2="100%"
            y1={cssPercent(top(limit))}
            y2={cssPercent(top(limit))}
          />
        )}
        {/* Areas and bent lines take no percentages: they stand in a drawing that is stretched. */}
        <svg height="100%" aria-hidden="true" viewBox="0 0 100 100" preserveAspectRatio="none">
          <polygon class="band" points={band.join(' ')} />
          <polyline class="bent other" stroke-dasharray="5 4" points={path(({ other }) => other).join(' ')} />
          <polyline class="bent" points={path(({ figure }) => figure.value).join(' ')} />
        </svg>
        {named.map((point) => (
          <circle
            class={point.isChosen ? 'dot chosen' : 'dot'}
            cx={cssPercent(left(point))}
            cy={cssPercent(top(point.figure.value))}
            r={point.isChosen ? 6 : 3.5}
          />
        ))}
        {withRoom(named).map((point) => (
          <text text-anchor="middle" x={cssPercent(left(point))} y="100%" dy="1.5em">
            {point.label}
          </text>
        ))}
      </svg>
    </figure>
  );
}

/** The points that have room for a name: the last one, and from the right on each that is far enough from the named ones. */
function withRoom(points: readonly CurvePoint[]): CurvePoint[] {
  let free = Number.POSITIVE_INFINITY;
  return points.toReversed().filter(({ at, label }) => {
    if (at * WIDTH > free) return false;
    free = at * WIDTH - SPACE - CHARACTER * label.length;
    return true;
  });
}
