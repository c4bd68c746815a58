// Curves as markup: a small drawing for each part, all on one scale, with bands for intervals.

import type { Ends } from '../core/printable.js';
import { cssPercent, type Scale, tickText, x } from './charts.js';
import { html, type Markup } from './html.js';

interface CurvePoint {
  /** How far from the left it stands, 0 to 1. */
  readonly at: number;
  /** Its name below the drawing; a point without one has no dot. */
  readonly label: string;
  readonly estimate: Ends & { readonly value: number };
  /** The value of another run there. */
  readonly other?: number | undefined;
}

interface Curve {
  readonly name: string;
  readonly points: readonly CurvePoint[];
  readonly isSum: boolean;
}

/** @param limit where a dashed line runs across */
export function curves(parts: readonly Curve[], scale: Scale, limit?: number): Markup {
  const figures = parts.map(
    ({ name, points, isSum }) =>
      html`<figure${isSum && html` class="sum"`}><figcaption>${name}</figcaption><svg class="curve" aria-hidden="true">${drawing(points, scale, limit)}</svg></figure>`,
  );
  return html`<div class="curves">${figures}</div>`;
}

/** In percent of the width; what is left keeps dots and labels off the edges. */
const [FIRST, WIDTH] = [4, 90];
/** What the name of a point takes. */
const LABEL = 11;

function drawing(points: readonly CurvePoint[], scale: Scale, limit: number | undefined): Markup {
  const left = ({ at }: CurvePoint) => FIRST + WIDTH * at;
  const top = (value: number) => 100 - Number.parseFloat(x(value, scale));
  const path = (of: (point: CurvePoint) => number | null | undefined, some = points) =>
    some.flatMap((point) => {
      const value = of(point);
      return typeof value === 'number' ? [`${Number(left(point).toFixed(2))},${Number(top(value).toFixed(2))}`] : [];
    });
  const across = (look: string, value: number) => {
    const y = cssPercent(top(value));
    return html`<line class="${look}" x1="0" x2="100%" y1="${y}" y2="${y}"/>`;
  };
  const grid = scale.ticks.map((tick) => {
    const look = tick === 0 && scale.from < 0 ? 'zero-line' : 'grid';
    return html`${across(look, tick)}<text class="end" x="-6" y="${cssPercent(top(tick))}" dy="0.32em">${tickText(tick)}</text>`;
  });
  const band = [...path(({ estimate }) => estimate.high), ...path(({ estimate }) => estimate.low, points.toReversed())];
  const named = points.filter(({ label }) => label !== '');
  const dots = named.map((point) => {
    const y = cssPercent(top(point.estimate.value));
    return html`<circle class="dot" cx="${cssPercent(left(point))}" cy="${y}" r="3.5"/>`;
  });
  const labels = withRoom(named).map(
    (point) => html`<text class="mid" x="${cssPercent(left(point))}" y="100%" dy="1.5em">${point.label}</text>`,
  );
  // Areas and bent lines take no percentages: they stand in a drawing that is stretched.
  return html`${grid}${limit !== undefined && across('limit', limit)}<svg aria-hidden="true" viewBox="0 0 100 100" preserveAspectRatio="none"><polygon class="band" points="${band.join(' ')}"/><polyline class="bent other" points="${path(({ other }) => other).join(' ')}"/><polyline class="bent" points="${path(({ estimate }) => estimate.value).join(' ')}"/></svg>${dots}${labels}`;
}

/** The points that have room for a name: the last one, and from the right on each that is far enough from the named ones. */
function withRoom(points: readonly CurvePoint[]): CurvePoint[] {
  let free = Number.POSITIVE_INFINITY;
  return points.toReversed().filter(({ at }) => {
    if (at * WIDTH > free) return false;
    free = at * WIDTH - LABEL;
    return true;
  });
}
