// The card of a rollout: its curves by step and by distance, and its drift compared with a teacher-forced run; each row gives the place of
// its own step.

import { type EstimateDocument, estimateDocument } from '../core/document.js';
import { domainsOfMean, inDomains } from '../core/domains.js';
import { present } from '../core/errors.js';
import { groupBy, sum } from '../core/groups.js';
import { countedPoints } from '../core/points.js';
import { rowId } from '../core/row-id.js';
import { type Domain, type Estimate, type JudgedRow, LEAST_CLUSTERS, type RolloutStep } from '../core/types.js';
import { meanFigure, predictionsOf } from './aggregate.js';
import { aboveBy, clusteredEstimate, mean, meanOfEstimates, satterthwaite } from './clusters.js';
import { type Scale, withInterval } from './intervals.js';

/** The figure reported for a rollout: the score with failures at rating 1, or a measure and its range. */
interface RolloutFigure {
  readonly measure?: string;
  readonly scale: Scale;
}

/** A judged row that belongs to a rollout. */
type SteppedRow = JudgedRow & { readonly rollout: RolloutStep };

export function isStepped(row: JudgedRow): row is SteppedRow {
  return row.rollout !== undefined;
}

/** The card of a rollout: counts and curves by domain and over all rows, since few domains have rows at every distance. */
export type RolloutCard = NonNullable<ReturnType<typeof rolloutCard>>;
/** Rows at some steps, or at some distances from the last true observation. */
export type RolloutBin = ReturnType<typeof rolloutPart>['by_step'][number];
/** What pairing with a teacher-forced run shows. */
export type DriftCard = ReturnType<typeof driftCard>;
/** The drift of all rows, null if no row has a partner; and of the on-script rows, also absent if nothing is off-script. */
export type Drifts = DriftCard['overall'];

/**
 * The card of a run, as `rollout` in the document of `awb score --json`; undefined if none of its rows belongs to a rollout.
 * @param forced the rows of a run that predicted the same with true histories, judged in the same way
 */
export function rolloutCard(rows: readonly JudgedRow[], figure: RolloutFigure, forced?: readonly JudgedRow[]) {
  const stepped = rows.filter(isStepped);
  if (stepped.length === 0) return undefined;
  const partners = forced && valuesOf(forced, figure);
  return {
    /** The measure reported if nothing was rated; otherwise it is the score. */
    measure: figure.measure ?? null,
    /** True turns before the rollouts: one number, unless the file contains several rollouts. */
    from: [...new Set(stepped.map(({ rollout }) => rollout.from))].sort((a, b) => a - b),
    ...rolloutPart(stepped, figure, partners),
    domains: Object.fromEntries(
      inDomains(stepped).map(([domain, own]) => [domain, rolloutPart(own, figure, partners)] as const),
    ),
    drift: partners && driftCard(stepped, partners, figure),
  };
}

/** Fewest rows of a bin, and most bins of a curve. */
const LEAST_ROWS = 10;
const MOST_BINS = 12;

/** The counts and curves of these rows, next to those of their teacher-forced partners. Counts are of rows times repeats. */
function rolloutPart(rows: readonly SteppedRow[], figure: RolloutFigure, partners: Partners | undefined) {
  const { scale } = figure;
  const all = [...valuesOf(rows, figure).values()];
  const offScript = countPredictions(rows.filter((row) => !isOnScript(row)));
  const onScript = offScript === 0 ? [] : [...valuesOf(rows.filter(isOnScript), figure).values()];
  const pairs = partners ? pairsOf(rows, partners, figure) : [];
  const curve = (placeOf: (row: SteppedRow) => number) =>
    rangesOf(all.map(({ row }) => ({ place: placeOf(row), cluster: row.trajectory }))).map(({ from, to }) => {
      const within = <T extends Valued>(some: readonly T[]) =>
        some.filter(({ row }) => placeOf(row) >= from && placeOf(row) <= to);
      const [left, paired] = [within(onScript), within(pairs)];
      const forced = paired.map((pair) => ({ row: pair.row, value: pair.forced }));
      return {
        /** The first and the last of the places. */
        from,
        to,
        /** The mean over these rows, the model's failures at rating 1. */
        score: estimateDocument(meanOf(within(all), scale)),
        /** The same without off-script rows; absent if there are none, or if nothing is left. */
        on_script: documentOfMean(left, scale),
        /**
         * For the rows with a teacher-forced partner: the partners' score, and how the rollout differs from it. Absent without partners.
         */
        teacher_forced: documentOfMean(forced, scale),
        difference: documentOfMean(paired),
      };
    });
  return {
    predictions: countPredictions(rows),
    /** Predictions whose recorded action refers to something that the rollout never showed. */
    off_script: offScript,
    chains: new Set(rows.map(({ rollout }) => rollout.chain)).size,
    /** By turns since the last true observation, and by place in the trajectory. */
    by_distance: curve(({ rollout }) => rollout.distance),
    by_step: curve(({ rollout }) => rollout.step),
  };
}

/** A row of a rollout, and its points. */
interface Valued {
  readonly row: SteppedRow;
  readonly value: number;
}

function meanOf(rows: readonly Valued[], scale?: Scale): Estimate {
  const observations = rows.map(({ row, value }) => ({ value, cluster: row.trajectory }));
  return clusteredEstimate(observations, scale);
}

/** Undefined for no rows. */
function documentOfMean(rows: readonly Valued[], scale?: Scale): EstimateDocument | undefined {
  return rows.length === 0 ? undefined : estimateDocument(meanOf(rows, scale));
}

function countPredictions(rows: readonly SteppedRow[]): number {
  return new Set(rows.map(({ key, repeat }) => rowId(key, repeat))).size;
}

/** Whether the rollout has shown everything that the recorded action refers to. */
function isOnScript({ rollout }: SteppedRow): boolean {
  return rollout.offScript.length === 0;
}

/**
 * Groups neighbouring places into ranges, starting from the lowest: each as short as possible with enough rows and trajectories for an
 * interval. What is left at the end joins the last range.
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

/** The drift of a rollout compared with a teacher-forced run. */
export function driftCard(rows: readonly SteppedRow[], partners: Partners, figure: RolloutFigure) {
  const isOffScript = rows.some((row) => !isOnScript(row));
  const domains = inDomains(rows).map(([domain, own]) => ({
    domain,
    all: driftOf(pairsOf(own, partners, figure)),
    onScript: isOffScript ? driftOf(pairsOf(own.filter(isOnScript), partners, figure)) : undefined,
  }));
  const paired = pairsOf(rows, partners, figure).length;
  return {
    /** Rows with a figure in both runs, and rows of the rollout only. */
    paired,
    unpaired: valuesOf(rows, figure).size - paired,
    domains: Object.fromEntries(domains.map(({ domain, ...drifts }) => [domain, driftsDocument(drifts)] as const)),
    /** The mean over the domains that have it: over the seven published ones if all have it. */
    overall: driftsDocument({ all: meanDrift(domains, 'all'), onScript: meanDrift(domains, 'onScript') }),
  };
}

type Drift = NonNullable<ReturnType<typeof driftOf>>;
type Estimates = Readonly<Partial<Record<'all' | 'onScript', Drift | undefined>>>;

function driftsDocument({ all, onScript }: Estimates) {
  const figures = ({ slope, difference }: Partial<Drift> = {}) => ({
    slope: slope ? estimateDocument(slope) : null,
    difference: difference ? estimateDocument(difference) : null,
  });
  return { ...figures(all), on_script: onScript && figures(onScript) };
}

/** How a rollout falls behind the teacher-forced predictions of the same rows; undefined for none. */
function driftOf(pairs: readonly RowPair[]) {
  if (pairs.length === 0) return undefined;
  const points = pairs.map(({ row: { rollout, trajectory }, value }) => {
    return { x: rollout.distance, y: value, chain: rollout.chain, cluster: trajectory };
  });
  return {
    /** How the paired difference changes per step, within chains, in points; absent if no chain has rows at two distances. */
    slope: slopeWithin(points),
    /** The paired difference itself, rollout minus teacher-forced: its mean over rows. */
    difference: meanOf(pairs),
  };
}

function meanDrift(
  domains: readonly (Estimates & { readonly domain: Domain })[],
  name: keyof Estimates,
): Drift | undefined {
  const mean = (of: keyof Drift) => {
    const having = domains.filter((domain) => domain[name]?.[of] !== undefined);
    const counting = domainsOfMean(having.map(({ domain }) => domain));
    const estimates = having.flatMap((one) => (counting.includes(one.domain) ? (one[name]?.[of] ?? []) : []));
    return estimates.length === 0 ? undefined : meanOfEstimates(estimates);
  };
  const difference = mean('difference');
  return difference && { slope: mean('slope'), difference };
}

/** The points of each row, by its key; a row without the figure is absent. */
export function valuesOf<R extends JudgedRow>(rows: readonly R[], { measure }: RolloutFigure) {
  const figureOf = (row: JudgedRow) => (measure === undefined ? countedPoints(row, 'total') : row.measures?.[measure]);
  const values = new Map<string, { readonly row: R; readonly value: number }>();
  const last = new Map(rows.map((row) => [row.key, row]));
  for (const [key, repeats] of groupBy(predictionsOf(rows), ([{ key }]) => key)) {
    const found = repeats.flatMap((judgements) => meanFigure(judgements, figureOf) ?? []);
    if (found.length > 0) values.set(key, { row: present(last.get(key)), value: mean(found) });
  }
  return values;
}

/** A row of a rollout paired with the teacher-forced predictions of the same row; its value is the rollout's minus theirs. */
interface RowPair extends Valued {
  readonly forced: number;
}

/** The points of the rows of a teacher-forced run, by key. */
type Partners = ReadonlyMap<string, { readonly value: number }>;

/** The rows that have the figure in both runs. */
function pairsOf(rows: readonly SteppedRow[], partners: Partners, figure: RolloutFigure): RowPair[] {
  return [...valuesOf(rows, figure)].flatMap(([key, { row, value }]) => {
    const forced = partners.get(key)?.value;
    return forced === undefined ? [] : [{ row, forced, value: aboveBy(value, forced) }];
  });
}

/** A figure at a place of a chain. */
export interface Point {
  readonly x: number;
  readonly y: number;
  readonly chain: string;
  /** The trajectory: its chains are not independent. */
  readonly cluster: string;
}

/**
 * The slope of y on x by least squares with an effect of each chain (the within estimator): what distinguishes one chain from another, such
 * as the difficulty of its trajectory, does not count. Undefined if no chain has two places.
 *
 * The standard error is the bias-reduced CR2 of Bell & McCaffrey (2002). With x and y as deviations from their chain's means, S_g a
 * cluster's sum of x², p_g its share in the total sum S, r the residuals and `U_g = Σ x r`: `SE² = Σ U_g² / (1 - p_g) / S²`, since the
 * effects of chains lie within clusters and only x is left. With fewer than five clusters that have two places there is none.
 *
 * The degrees of freedom are Satterthwaite's, as for a mean (clusters.ts), assuming that the slopes of clusters vary by τ² in addition to
 * the rows' own σ²: a cluster's U_g then varies by `v_g = S_g (σ² + τ² S_g)`. Both are estimated by moments, from Σ r² and from Σ U_g² / (1
 * - p_g), and neither is below 0. Long trajectories weigh far more than short ones, so they are often few.
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

/** The points of a chain as deviations from their means; none if all are at one place. */
function aroundMean(points: readonly Point[]): Point[] {
  if (points.every(({ x }) => x === points[0]?.x)) return [];
  const [x, y] = [mean(points.map((point) => point.x)), mean(points.map((point) => point.y))];
  return points.map((point) => ({ ...point, x: point.x - x, y: point.y - y }));
}

/** The variance of rows and that of slopes, up to a factor; negative values become 0. */
function rowsToSlopes(squares: number, spread: number, freedom: number, sizes: readonly number[], whole: number) {
  const all = sum(sizes, (size) => size ** 2);
  const determinant = freedom * all - whole ** 2;
  const rows = (squares * all - spread * whole) / determinant;
  const slopes = (freedom * spread - whole * squares) / determinant;
  if (determinant <= 0 || !(slopes > 0)) return { rows: 1, slopes: 0 };
  return rows > 0 ? { rows, slopes } : { rows: 0, slopes: 1 };
}
