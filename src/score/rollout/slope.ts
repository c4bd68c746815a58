// How a figure changes a step within chains: a slope with an effect of each chain of its own, its error clustered by trajectory.

import { groupBy } from '../../groups.js';
import { type Estimate, LEAST_CLUSTERS } from '../../types.js';
import { satterthwaite } from '../clusters.js';
import { withInterval } from '../intervals.js';
import { mean } from '../mean.js';

/** A figure at a place of a chain. */
export interface Point {
  readonly x: number;
  readonly y: number;
  readonly chain: string;
  /** The trajectory: chains of one are not independent. */
  readonly cluster: string;
}

/**
 * The slope of y on x by least squares with an effect of each chain (the within estimator): what sets one chain apart from another, such
 * as how hard its trajectory is, does not count. Undefined where no chain has two places.
 *
 * The standard error is the bias-reduced CR2 of Bell & McCaffrey (2002). With x and y as they differ from their chain's means, S_g a
 * cluster's sum of x², p_g its share in the sum S of all, r the residuals and `U_g = Σ x r`: `SE² = Σ U_g² / (1 - p_g) / S²`, since the
 * effects of chains lie within clusters and x is all that is left. With fewer than five clusters that have two places there is none.
 *
 * The degrees of freedom are Satterthwaite's, as of a mean (clusters.ts), were the slopes of clusters to vary by τ² beside the rows' own
 * σ²: a cluster's U_g then varies by `v_g = S_g (σ² + τ² S_g)`. Both are estimated by moments, from Σ r² and from Σ U_g² / (1 - p_g), and
 * none is below 0. Long trajectories weigh far more than short ones, so they are often few.
 */
export function slopeWithin(points: readonly Point[]): Estimate | undefined {
  const centred = [...groupBy(points, ({ chain }) => chain).values()].flatMap(aroundMean);
  const clusters = [...groupBy(centred, ({ cluster }) => cluster).values()];
  const whole = sum(centred, ({ x }) => x ** 2);
  if (whole === 0) return undefined;
  const value = sum(centred, ({ x, y }) => x * y) / whole;
  const rows = centred.length;
  const squares = sum(centred, ({ x, y }) => (y - value * x) ** 2);
  if (clusters.length < LEAST_CLUSTERS) return { value, rows, clusters: clusters.length };
  const parts = clusters.map((own) => {
    const size = sum(own, ({ x }) => x ** 2);
    const score = sum(own, ({ x, y }) => x * (y - value * x));
    return { size, share: size / whole, spread: score ** 2 / (1 - size / whole) };
  });
  const spread = sum(parts, (part) => part.spread);
  const chains = new Set(centred.map(({ chain }) => chain)).size;
  const rowVariance = rowsToSlopes(squares, spread, rows - chains - 1, parts, whole);
  const df = satterthwaite(
    parts.map(({ size, share }) => ({ p: share, v: size * (rowVariance.rows + rowVariance.slopes * size) })),
  );
  return withInterval({ value, rows, clusters: clusters.length, se: Math.sqrt(spread) / whole, df }, 'difference');
}

/** The points of a chain as they differ from their means; none where all stand at one place. */
function aroundMean(points: readonly Point[]): Point[] {
  if (points.every(({ x }) => x === points[0]?.x)) return [];
  const [x, y] = [mean(points.map((point) => point.x)), mean(points.map((point) => point.y))];
  return points.map((point) => ({ ...point, x: point.x - x, y: point.y - y }));
}

/** The variance of rows and that of slopes, up to a factor; a negative one is 0. */
function rowsToSlopes(
  squares: number,
  spread: number,
  freedom: number,
  parts: readonly { readonly size: number }[],
  whole: number,
): { readonly rows: number; readonly slopes: number } {
  const sizes = sum(parts, ({ size }) => size ** 2);
  const determinant = freedom * sizes - whole ** 2;
  const rows = (squares * sizes - spread * whole) / determinant;
  const slopes = (freedom * spread - whole * squares) / determinant;
  if (determinant <= 0 || !(slopes > 0)) return { rows: 1, slopes: 0 };
  return rows > 0 ? { rows, slopes } : { rows: 0, slopes: 1 };
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}
