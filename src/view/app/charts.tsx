// SVG drawings next to the figures themselves, so that the figures can be read without them: dots with intervals, shares of a total, and
// curves with bands.

import type { CurvePoint, Curves, Figure, ScaleEnds } from '../documents.js';
import { number, range } from '../figures.js';
import { visible } from './text.js';

/** The scale of a chart. */
export interface Scale {
  readonly from: number;
  readonly to: number;
  readonly ticks: readonly number[];
}

function reach({ value, low, high }: Figure): number[] {
  return [value, low ?? value, high ?? value];
}

/** The axis above a column of drawings. */
export function Axis({ scale }: { scale: Scale }) {
  const isAround = scale.from === -scale.to;
  return (
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
}

/** A dot with its interval, in percent of the track, so that a chart of any width keeps its proportions. */
export function Track({ scale, figure }: { scale: Scale; figure: Figure | null }) {
  const isAround = scale.from === -scale.to;
  const { low, high } = figure ?? {};
  return (
    <svg class="track" height="1.75rem" aria-hidden="true">
      {scale.ticks.map((tick) => {
        const at = along(tick, scale);
        return <line class={tick === 0 && isAround ? 'zero-line' : 'grid'} x1={at} x2={at} y1="0" y2="100%" />;
      })}
      {typeof low === 'number' && typeof high === 'number' && (
        <line class="reach" x1={along(low, scale)} x2={along(high, scale)} y1="50%" y2="50%" />
      )}
      {figure && <circle class="dot" cx={along(figure.value, scale)} cy="50%" r={5} />}
    </svg>
  );
}

/** A bar divided in proportion to the counts. */
export function Stack({ counts }: { counts: readonly number[] }) {
  const all = counts.reduce((sum, times) => sum + times, 0);
  let from = 0;
  return (
    <svg class="stack" height="1.35rem" aria-hidden="true">
      {counts.map((times, at) => {
        const share = all === 0 ? 0 : (times / all) * 100;
        const start = from;
        from += share;
        return (
          share > 0 && (
            <>
              <rect
                style={{ '--rating': `var(--r${at + 1})` }}
                x={cssPercent(start)}
                width={cssPercent(share)}
                height="100%"
              />
              {share >= 7 && (
                <text text-anchor="middle" dominant-baseline="central" x={cssPercent(start + share / 2)} y="52%">
                  {Math.round(share)} %
                </text>
              )}
            </>
          )
        );
      })}
    </svg>
  );
}

/** A scale in quarters; with a null end, one that covers these figures and their intervals. */
export function scaleOf(ends: ScaleEnds, figures: readonly (Figure | null)[]): Scale {
  const reached = figures.flatMap((figure) => (figure === null ? [] : reach(figure)));
  if (ends === 'around 0') return scaleAround(reached);
  if (reached.length === 0) reached.push(0, 100);
  const [least, most] = ends;
  const [low, high] = [least ?? Math.min(...reached), most ?? Math.max(...reached)];
  const isWhole = least !== null && most !== null;
  const step = isWhole ? (high - low) / 4 : tickStep(high - low);
  const from = isWhole ? low : Math.floor(low / step) * step;
  return stepped(from, step, Math.max(1, Math.ceil((high - from) / step)));
}

/** A round step that divides the span into a few parts. */
function tickStep(span: number): number {
  const size = 10 ** Math.floor(Math.log10(span || 1));
  return span / size > 5 ? 2 * size : span / size > 2 ? size : size / 2;
}

/** A scale for differences around 0, at most ±100; anything beyond is cut off at the edge. */
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

/** A value's distance from the left; values beyond the scale are at its edge. */
function along(value: number, { from, to }: Scale): string {
  return cssPercent(100 * Math.min(1, Math.max(0, (value - from) / (to - from))));
}

function cssPercent(percent: number): string {
  return `${Number(percent.toFixed(2))}%`;
}

function tickText(tick: number): string {
  return String(tick).replace('-', '−');
}

/** In percent of the width; the rest keeps dots and labels off the edges. */
const [FIRST, WIDTH] = [4, 90];
/** Width of a point's name: the space next to it, and each character. */
const [SPACE, CHARACTER] = [5, 3];

/** Curves side by side, on one scale. */
export function CurveSet({ of, look = 'curves' }: { of: Curves; look?: string }) {
  const { ends, least = [], limit, curves } = of;
  const figures = curves.flatMap(({ points }) => points.map(({ figure }) => figure));
  const scale = scaleOf(ends, [...figures, ...least.map((value) => ({ value }))]);
  return (
    <div class={look}>
      {curves.map((curve) => (
        <Curve {...curve} scale={scale} limit={limit} />
      ))}
    </div>
  );
}

/** A curve with its band. @param limit value of a dashed line */
function Curve(props: Curves['curves'][number] & { scale: Scale; limit: number | undefined }) {
  const { name, points, scale, isSum, limit } = props;
  const left = ({ at }: CurvePoint) => FIRST + WIDTH * at;
  const top = (value: number) => 100 - Number.parseFloat(along(value, scale));
  const path = (of: (point: CurvePoint) => number | null | undefined, some = points) =>
    some.flatMap((point) => {
      const value = of(point);
      return typeof value === 'number' ? [`${Number(left(point).toFixed(2))},${Number(top(value).toFixed(2))}`] : [];
    });
  const across = limit === undefined ? undefined : cssPercent(top(limit));
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
        {across && <line class="zero-line" stroke-dasharray="4 4" x1="0" x2="100%" y1={across} y2={across} />}
        {/* Areas and polylines do not accept percentages, so they are in a stretched drawing. */}
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

/** The points with room for a name: the last one, then from right to left each that is far enough from the named ones. */
function withRoom(points: readonly CurvePoint[]): CurvePoint[] {
  let free = Number.POSITIVE_INFINITY;
  return points.toReversed().filter(({ at, label }) => {
    if (at * WIDTH > free) return false;
    free = at * WIDTH - SPACE - CHARACTER * label.length;
    return true;
  });
}
