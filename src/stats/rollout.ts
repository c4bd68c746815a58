// The card of a rollout: its curves by step and by distance, and its drift beside a teacher-forced run; every step is placed by its own rows.

import { domainsOfMean, inTableOrder } from '../core/domains.js';
import { groupBy } from '../core/groups.js';
import { countedPoints } from '../core/points.js';
import type { RolloutStep } from '../core/rollout.js';
import { rowId } from '../core/row-id.js';
import { type Domain, type Estimate, type JudgedRow, LEAST_CLUSTERS } from '../core/types.js';
import { clusteredEstimate, meanOfEstimates, satterthwaite } from './clusters.js';
import { type Scale, withInterval } from './intervals.js';
import { aboveBy, mean } from './mean.js';
import { meanFigure, predictionsOf } from './predictions.js';

/**
 * The card of a run; undefined where none of its rows stands in a rollout.
 * @param forced the rows of a run that predicted the same with true histories, judged in the same way
 */
export function rolloutCard(
  rows: readonly JudgedRow[],
  figure: RolloutFigure,
  forced?: readonly JudgedRow[],
): RolloutCard | undefined {
  const stepped = rows.filter(isStepped);
  if (stepped.length === 0) return undefined;
  const partners = forced && valuesOf(forced, figure);
  const partOf = (own: readonly SteppedRow[]) =>
    rolloutPart(own, figure, partners ? pairsOf(own, partners, figure) : []);
  const domains = [...groupBy(stepped, ({ domain }) => domain)].sort(([a], [b]) => inTableOrder(a, b));
  return {
    ...(figure.measure === undefined ? {} : { measure: figure.measure }),
    starts: [...new Set(stepped.map(({ rollout }) => rollout.from))].sort((a, b) => a - b),
    domains: domains.map(([domain, own]) => ({ domain, ...partOf(own) })),
    all: partOf(stepped),
    ...(partners && { drift: driftCard(stepped, partners, figure) }),
  };
}

/** Fewest rows of a bin, and most bins of a curve. */
const LEAST_ROWS = 10;
const MOST_BINS = 12;

/** The counts and curves of these rows; beside those of the teacher-forced partners that they have. */
function rolloutPart(rows: readonly SteppedRow[], figure: RolloutFigure, pairs: readonly RowPair[]): RolloutPart {
  const all = [...valuesOf(rows, figure).values()];
  const offScript = countPredictions(rows.filter((row) => !isOnScript(row)));
  const onScript = offScript === 0 ? [] : [...valuesOf(rows.filter(isOnScript), figure).values()];
  const curve = (placeOf: (row: SteppedRow) => number): RolloutBin[] =>
    rangesOf(all.map(({ row }) => ({ place: placeOf(row), cluster: row.trajectory }))).map(({ from, to }) => {
      const within = (some: typeof all) =>
        some
          .filter(({ row }) => placeOf(row) >= from && placeOf(row) <= to)
          .map(({ row, value }) => ({ value, cluster: row.trajectory }));
      const left = within(onScript);
      const partners = pairs.filter(({ row }) => placeOf(row) >= from && placeOf(row) <= to);
      return {
        ...{ from, to, score: clusteredEstimate(within(all), figure.scale) },
        ...(left.length === 0 ? {} : { onScript: clusteredEstimate(left, figure.scale) }),
        ...(partners.length === 0 ? {} : { paired: pairedIn(partners, figure) }),
      };
    });
  return {
    predictions: countPredictions(rows),
    offScript,
    chains: new Set(rows.map(({ rollout }) => rollout.chain)).size,
    distances: curve(({ rollout }) => rollout.distance),
    steps: curve(({ rollout }) => rollout.step),
  };
}

function pairedIn(pairs: readonly RowPair[], { scale }: RolloutFigure): NonNullable<RolloutBin['paired']> {
  const forced = pairs.map(({ row, forced: value }) => ({ value, cluster: row.trajectory }));
  const differences = pairs.map(({ row, difference: value }) => ({ value, cluster: row.trajectory }));
  return { forced: clusteredEstimate(forced, scale), difference: clusteredEstimate(differences) };
}

function countPredictions(rows: readonly SteppedRow[]): number {
  return new Set(rows.map(({ key, repeat }) => rowId(key, repeat))).size;
}

/**
 * Neighbouring places in ranges, from the lowest on: each as short as it can be with rows and trajectories enough for an interval. What
 * is left at the end goes with the last.
 */
function rangesOf(placed: readonly { readonly place: number; readonly cluster: string }[]) {
  const least = Math.max(LEAST_ROWS, Math.ceil(placed.length / MOST_BINS));
  const ranges: { from: number; to: number }[] = [];
  let open: (typeof placed)[number][] = [];
  for (const [place, here] of [...groupBy(placed, (one) => one.place)].sort(([a], [b]) => a - b)) {
    const [first = { place }] = open;
    open = [...open, ...here];
    if (open.length < least || new Set(open.map(({ cluster }) => cluster)).size < LEAST_CLUSTERS) continue;
    ranges.push({ from: first.place, to: place });
    open = [];
  }
  const [first, last] = [open[0], open.at(-1)];
  if (first === undefined || last === undefined) return ranges;
  const before = ranges.pop();
  return [...ranges, { from: before?.from ?? first.place, to: last.place }];
}

/** The drift of a rollout beside a teacher-forced run. */
export function driftCard(rows: readonly SteppedRow[], partners: Partners, figure: RolloutFigure): DriftCard {
  const byDomain = [...groupBy(rows, ({ domain }) => domain)].sort(([a], [b]) => inTableOrder(a, b));
  const isOffScript = rows.some((row) => !isOnScript(row));
  const domains = byDomain.map(([domain, own]) => ({
    domain,
    ...namedDrift('all', pairsOf(own, partners, figure)),
    ...(isOffScript ? namedDrift('onScript', pairsOf(own.filter(isOnScript), partners, figure)) : {}),
  }));
  const paired = pairsOf(rows, partners, figure).length;
  return {
    paired,
    unpaired: valuesOf(rows, figure).size - paired,
    domains,
    overall: { ...meanOf(domains, 'all'), ...meanOf(domains, 'onScript') },
  };
}

function namedDrift(name: keyof Drifts, pairs: readonly RowPair[]): Drifts {
  if (pairs.length === 0) return {};
  const slope = slopeWithin(
    pairs.map(({ row: { rollout, trajectory }, difference }) => ({
      ...{ x: rollout.distance, y: difference, chain: rollout.chain, cluster: trajectory },
    })),
  );
  const differences = pairs.map(({ row, difference }) => ({ value: difference, cluster: row.trajectory }));
  return { [name]: { ...(slope && { slope }), difference: clusteredEstimate(differences) } };
}

function meanOf(domains: DriftCard['domains'], name: keyof Drifts): Drifts {
  const mean = (of: (drift: Drift) => Estimate | undefined) => {
    const having = domains.flatMap(({ domain, [name]: drift }) => {
      const estimate = drift && of(drift);
      return estimate === undefined ? [] : [{ domain, estimate }];
    });
    const counting = domainsOfMean(having.map(({ domain }) => domain));
    const estimates = having.flatMap(({ domain, estimate }) => (counting.includes(domain) ? [estimate] : []));
    return estimates.length === 0 ? undefined : meanOfEstimates(estimates);
  };
  const slope = mean((drift) => drift.slope);
  const difference = mean((drift) => drift.difference);
  return difference === undefined ? {} : { [name]: { ...(slope && { slope }), difference } };
}

/** What is told of a rollout: the score with failures at rating 1, or a measure and the range in which it ends. */
interface RolloutFigure {
  readonly measure?: string;
  readonly scale: Scale;
}

/** A judged row that stands in a rollout. */
type SteppedRow = JudgedRow & { readonly rollout: RolloutStep };

export function isStepped(row: JudgedRow): row is SteppedRow {
  return row.rollout !== undefined;
}

/** Whether the recorded action refers to nothing that the rollout did not show. */
function isOnScript({ rollout }: SteppedRow): boolean {
  return rollout.offScript.length === 0;
}

/** What each row counts as, by its key; one that has no figure is absent. */
export function valuesOf<R extends JudgedRow>(
  rows: readonly R[],
  { measure }: RolloutFigure,
): ReadonlyMap<string, { readonly row: R; readonly value: number }> {
  const figureOf = (row: JudgedRow) => (measure === undefined ? countedPoints(row, 'total') : row.measures?.[measure]);
  const firsts = new Map(rows.map((row) => [row.key, row]));
  const byKey = groupBy(predictionsOf(rows), ([{ key }]) => key);
  const found = [...byKey].flatMap(([key, repeats]) => {
    const values = repeats.map((judgements) => meanFigure(judgements, figureOf)).filter((value) => value !== undefined);
    const row = firsts.get(key);
    return row === undefined || values.length === 0 ? [] : [[key, { row, value: mean(values) }] as const];
  });
  return new Map(found);
}

/** A row of a rollout beside the teacher-forced predictions of the same row. */
interface RowPair {
  readonly row: SteppedRow;
  readonly forced: number;
  /** Rollout less teacher-forced. */
  readonly difference: number;
}

/** What the rows of a teacher-forced run count as, by key. */
type Partners = ReadonlyMap<string, { readonly value: number }>;

/** The rows that have the figure in both runs. */
function pairsOf(rows: readonly SteppedRow[], partners: Partners, figure: RolloutFigure): RowPair[] {
  return [...valuesOf(rows, figure)].flatMap(([key, { row, value }]) => {
    const partner = partners.get(key);
    if (partner === undefined) return [];
    return [{ row, forced: partner.value, difference: aboveBy(value, partner.value) }];
  });
}

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
  const sizes = parts.map(({ size }) => size);
  const variance = rowsToSlopes(squares, spread, rows - chains - 1, sizes, whole);
  const df = satterthwaite(
    parts.map(({ size, share }) => ({ p: share, v: size * (variance.rows + variance.slopes * size) })),
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
function rowsToSlopes(squares: number, spread: number, freedom: number, sizes: readonly number[], whole: number) {
  const all = sum(sizes, (size) => size ** 2);
  const determinant = freedom * all - whole ** 2;
  const rows = (squares * all - spread * whole) / determinant;
  const slopes = (freedom * spread - whole * squares) / determinant;
  if (determinant <= 0 || !(slopes > 0)) return { rows: 1, slopes: 0 };
  return rows > 0 ? { rows, slopes } : { rows: 0, slopes: 1 };
}

function sum<T>(items: readonly T[], of: (item: T) => number): number {
  return items.reduce((total, item) => total + of(item), 0);
}

// What a rollout scores by step and by distance from the last true observation, and how it drifts: the words of who reckons and shows it.

/** Rows at some steps, or at some distances from the last true observation. */
export interface RolloutBin {
  /** The first and the last of them. */
  readonly from: number;
  readonly to: number;
  /** The mean over these rows, the model's failures at rating 1. */
  readonly score: Estimate;
  /** The same without what is off-script; absent where nothing is, or where nothing is left. */
  readonly onScript?: Estimate;
  /** Of the rows that have a teacher-forced partner: what that scores, and how the rollout differs from it. Absent without partners. */
  readonly paired?: { readonly forced: Estimate; readonly difference: Estimate };
}

/** How a rollout falls behind the teacher-forced predictions of the same rows. */
export interface Drift {
  /** How the paired difference changes a step, within chains, in points; absent where no chain has rows at two distances. */
  readonly slope?: Estimate;
  /** The paired difference itself, rollout less teacher-forced: its mean over rows. */
  readonly difference: Estimate;
}

/** The same of all rows, and of those that are on script; absent where no row has a partner, the second also where nothing is off-script. */
export interface Drifts {
  readonly all?: Drift;
  readonly onScript?: Drift;
}

/** What a rollout scores over some of its rows. Counts are of rows times repeats. */
export interface RolloutPart {
  readonly predictions: number;
  /** Predictions whose recorded action refers to something that the rollout never showed. */
  readonly offScript: number;
  readonly chains: number;
  readonly distances: readonly RolloutBin[];
  readonly steps: readonly RolloutBin[];
}

/** What pairing with a teacher-forced run tells. */
export interface DriftCard {
  /** Rows with a figure in both runs, and rows of the rollout alone. */
  readonly paired: number;
  readonly unpaired: number;
  readonly domains: readonly (Drifts & { readonly domain: Domain })[];
  /** The mean over the domains that have it: over the seven published ones where all have. */
  readonly overall: Drifts;
}

export interface RolloutCard {
  /** The measure that is told of, where nothing was rated; else it is the score. */
  readonly measure?: string;
  /** True turns in front of the rollouts: one number, unless the file holds several rollouts. */
  readonly starts: readonly number[];
  readonly domains: readonly (RolloutPart & { readonly domain: Domain })[];
  /** Over all rows, not over domains: few of these have rows at every distance. */
  readonly all: RolloutPart;
  /** Beside a teacher-forced run. */
  readonly drift?: DriftCard;
}
