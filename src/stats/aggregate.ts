// Judged rows -> score card: judgements averaged within predictions, and these within rows; the official counting, and next to it what that
// leaves out; and how much of a variance is sampling, as repeats show, and how much only more rows would shrink.

import { FIGURES, type Figure } from '../core/comparison.js';
import { coversBenchmark, inTableOrder, isPublished } from '../core/domains.js';
import { countBy, groupBy, recordOf, type Some } from '../core/groups.js';
import { type MeasureLookup, measuresOf } from '../core/measures.js';
import {
  countedPoints,
  countedRating,
  isModelCaused,
  isRated,
  officialRating,
  ratingToPoints,
  stretchToPoints,
} from '../core/points.js';
import { rowId } from '../core/row-id.js';
import type { Domain, DomainScore, Estimate, JudgedRow, ScoreCard, ScoreSet, VarianceSplit } from '../core/types.js';
import { clusteredMean, mean, meanOfEstimates, type Observation } from './clusters.js';
import { bounded, type Scale, withInterval } from './intervals.js';

/**
 * The score card of a judged file, including the official script's.
 *
 * **Scores** follow the official script: rows with `failed` exactly 0 are valid, a value of 0 (or an absent one) is left out of its own
 * mean only, and a score is `(mean - 1) / 4 * 100`, unrounded. First the judgements of one prediction are averaged, each counting as it
 * would alone, then the repeats (predictions) of a row. `withFailures` counts failures that the model caused as rating 1 throughout, and no
 * rating outside 1 to 5 (see points.ts); failures of transport and judge stay missing.
 *
 * **Overall** is the unweighted mean of the domains that have the figure, `macroOf` the number of domains with a total (if no domain has
 * one: with a measure). If all seven published domains are present, it covers only these; further domains are listed next to them.
 * `overallMicro` is the mean over the rows of all domains, as the official script prints it.
 *
 * **Measures** are averaged over the rows that have them, whatever the result of the judgement, and never touch the scores. A row with
 * measures, without `failed` and without a failure is what a mode without ratings writes: it counts as valid. Only rows with `failed` can
 * enter the scores, so a file of measures has none.
 *
 * **Counts** are of predictions, not of judgements: a prediction is valid (or covered) if any of its judgements is, and of several failures
 * the model's own is named. `chosen` gives the rows (times repeats) that the run chose by domain. If a domain is missing there, or the file
 * has more of it, the file's count is used, so coverage never exceeds 1. Rows chosen but not in the file are `not-judged`; rows that are
 * not valid and give no reason are `unstated`; valid rows with no rating, or with an impossible one, are `not-rated` and not covered, so
 * that rows without a rating gain nothing. A domain that was chosen but has no row is listed with a coverage of 0. If nothing was chosen,
 * the card's coverage is 0.
 *
 * Intervals of scores are computed on the logit scale (intervals.ts), so they stay within 0 and 100; those of measures within the range
 * that `measureOf` gives, and on the plain scale if that range is unbounded. If all rows are equal, measures that `measureOf` marks as
 * bounded get the bounds of chance (`boundsOf` in intervals.ts); everything else then has no interval. Domains come in the published order,
 * others after them by name.
 */
export function aggregate(
  rows: readonly JudgedRow[],
  chosen: ReadonlyMap<Domain, number> = new Map(),
  measureOf: MeasureLookup = measuresOf(),
): ScoreCard {
  const byDomain = groupBy(rows, ({ domain }) => domain);
  const asked = [...chosen].flatMap(([domain, count]) => (count > 0 ? [domain] : []));
  const scored = [...new Set([...byDomain.keys(), ...asked])]
    .sort(inTableOrder)
    .map((domain) => scoreDomain(domain, byDomain.get(domain) ?? [], chosen.get(domain) ?? 0, measureOf));
  const domains = scored.map(({ score }) => score);
  const total = (count: (score: DomainScore) => number) => domains.reduce((sum, score) => sum + count(score), 0);
  const chosenRows = total((score) => score.chosen);
  const rated = behindMean(domains, 'scores');
  const counted = behindMean(domains, 'withFailures');
  const measured = behindMean(domains, 'measures');
  const splits = counted.flatMap(({ variance }) => variance ?? []);
  const isSplit = splits.length > 0 && splits.length === counted.filter((score) => has(score, 'withFailures')).length;
  const scoreOf = (): Scale => 'score';
  const family = domains.some((score) => has(score, 'scores')) ? 'scores' : 'measures';
  return {
    domains,
    overall: macro(rated, 'scores', scoreOf),
    macroOf: (family === 'scores' ? rated : measured).filter((score) => has(score, family)).length,
    overallMicro: scoreSet((name) => scored.flatMap(({ official }) => official[name])),
    overallWithFailures: macro(counted, 'withFailures', scoreOf),
    // Absent if a domain with a total has no standard error.
    ...(isSplit && { variance: meanOfSplits(splits) }),
    overallMeasures: macro(measured, 'measures', (name) => measureOf(name).range),
    chosen: chosenRows,
    valid: total((score) => score.valid),
    failed: total((score) => score.failed),
    coverage: chosenRows === 0 ? 0 : scored.reduce((sum, { covered }) => sum + covered, 0) / chosenRows,
    ...judgementsIn([...byDomain.values()].flat()),
  };
}

type Family = 'scores' | 'withFailures' | 'measures';

function has(score: DomainScore, family: Family): boolean {
  return family === 'measures' ? Object.keys(score.measures).length > 0 : score[family].total !== undefined;
}

/** The domains that a mean covers: the seven published ones if each of them has the figures, otherwise all. */
function behindMean(domains: readonly DomainScore[], family: Family): readonly DomainScore[] {
  const having = domains.filter((score) => has(score, family)).map(({ domain }) => domain);
  return coversBenchmark(having) ? domains.filter(({ domain }) => isPublished(domain)) : domains;
}

/** For each name in any domain, the unweighted mean over the domains that have it. */
function macro(domains: readonly DomainScore[], family: Family, scaleOf: (name: string) => Scale) {
  const entries = domains.flatMap((score) => Object.entries<Estimate>(score[family]));
  const means = [...groupBy(entries, ([name]) => name)].map(([name, found]) => {
    const estimates = found.map(([, estimate]) => estimate);
    return [name, meanOfEstimates(estimates, scaleOf(name))] as const;
  });
  return Object.fromEntries(means);
}

/** The results of single judgements, if the other counts are of predictions. */
function judgementsIn(rows: readonly JudgedRow[]): Pick<ScoreCard, 'judgements'> {
  if (!isJudgedAgain(rows)) return {};
  return { judgements: { count: rows.length, failures: countBy(rows.flatMap(({ failure }) => failure?.class ?? [])) } };
}

/** A domain's score, the number of covered predictions, and the observations behind its official figures. */
function scoreDomain(domain: Domain, rows: readonly JudgedRow[], asked: number, measureOf: MeasureLookup) {
  const predictions = predictionsOf(rows);
  const samples = samplesOf(predictions);
  const { counts, covered } = countPredictions(predictions, asked);
  const counted = ratingsOf(samples, countedRating);
  const official = ratingsOf(samples, officialRating);
  const withFailures = scoreSet((name) => counted[name]);
  const variance = varianceOf(samples, withFailures.total);
  const score: DomainScore = {
    ...{ domain, ...counts, coverage: covered / counts.chosen, withFailures },
    scores: scoreSet((name) => official[name]),
    ...(variance && { variance }),
    measures: measureSet(samples, measureOf),
  };
  return { score, covered, official };
}

function ratingsOf(samples: readonly Repeats[], ratingOf: (row: JudgedRow, figure: Figure) => number | undefined) {
  return recordOf(FIGURES, (name) => observationsOf(samples, (row) => ratingOf(row, name)));
}

function scoreSet(ratingsIn: (figure: Figure) => readonly Observation[]): ScoreSet {
  const scores: Partial<Record<Figure, Estimate>> = {};
  for (const name of FIGURES) {
    const ratings = ratingsIn(name);
    if (ratings.length > 0) scores[name] = asScore(clusteredMean(ratings));
  }
  return scores;
}

/** Converts an estimate from the scale of ratings, 1 to 5, to that of scores, 0 to 100. */
function asScore({ value, rows, clusters, se, df }: Estimate): Estimate {
  const score = { value: ratingToPoints(value), rows, clusters };
  return se === undefined || df === undefined
    ? score
    : withInterval({ ...score, se: stretchToPoints(se), df }, 'score');
}

/**
 * The parts of the variance of a domain's total (failures that the model caused at rating 1): rows, generation and judge, where its repeats
 * separate them.
 */
function varianceOf(samples: readonly Repeats[], total: Estimate | undefined) {
  if (total?.se === undefined) return undefined;
  const pointsOf = (judgements: Judgements) => judgements.flatMap((row) => countedPoints(row, 'total') ?? []);
  const rows = samples
    .map((predictions) => predictions.map(pointsOf).filter(({ length }) => length > 0))
    .filter(({ length }) => length > 0);
  return splitVariance(total.se ** 2, samplingOf([rows]));
}

function measureSet(samples: readonly Repeats[], measureOf: MeasureLookup): Record<string, Estimate> {
  const names = new Set(samples.flat(2).flatMap(({ measures }) => Object.keys(measures ?? {})));
  return Object.fromEntries(
    [...names].map((name) => {
      const { range, bounded: isBounded = false } = measureOf(name);
      const estimate = withInterval(clusteredMean(observationsOf(samples, (row) => row.measures?.[name])), range);
      return [name, isBounded ? bounded(estimate, range) : estimate];
    }),
  );
}

/**
 * The counts of a domain's predictions, and how many are covered. The unit is the prediction: it is valid if any of its judgements is,
 * covered if any is, and has each of its flags once.
 * @param asked how many predictions the run chose; extra ones in the file count as chosen too
 */
function countPredictions(predictions: readonly Judgements[], asked: number) {
  const chosen = Math.max(asked, predictions.length);
  const missing = chosen - predictions.length;
  const valid = predictions.filter((judgements) => judgements.some(isValid)).length;
  const failures = countBy(predictions.flatMap(failureOf));
  const counts = {
    chosen,
    valid,
    failed: predictions.length - valid,
    failures: { ...failures, ...(missing > 0 && { 'not-judged': missing }) },
    flags: countBy(predictions.flatMap((judgements) => [...new Set(judgements.flatMap(({ flags }) => flags))])),
  };
  return { counts, covered: predictions.filter((judgements) => judgements.some(isCovered)).length };
}

function isValid(row: JudgedRow): boolean {
  return isRated(row) || (row.failed === undefined && row.failure === undefined && row.measures !== undefined);
}

/** Whether anything is known about the row: the official script also calls a row valid if it has no rating, or an impossible one. */
function isCovered(row: JudgedRow): boolean {
  if (isRated(row)) return countedRating(row, 'total') !== undefined;
  // A failure that the model caused counts as the lowest rating if rows are rated; otherwise it counts only if it was measured.
  const { failed, failure, measures } = row;
  return isValid(row) || (isModelCaused(failure?.class) && (failed !== undefined || measures !== undefined));
}

/** Why nothing, or too little, is known about a prediction; none if it has a rating. Of several failures the model's own counts. */
function failureOf(judgements: Judgements): string[] {
  if (judgements.some(isValid)) return judgements.some(isCovered) ? [] : ['not-rated'];
  const [{ failure }] = judgements;
  return [judgements.map((row) => row.failure?.class).find(isModelCaused) ?? failure?.class ?? 'unstated'];
}

/** All judgements of one prediction. */
export type Judgements = Some<JudgedRow>;

/** Everything about one row under one key: its repeats, each a prediction with its judgements. */
type Repeats = Some<Judgements>;

/** Groups rows by prediction (key and repeat), in the order of their first rows. */
export function predictionsOf(rows: readonly JudgedRow[]): Judgements[] {
  return isJudgedAgain(rows)
    ? [...groupBy(rows, ({ key, repeat }) => rowId(key, repeat)).values()]
    : rows.map((row) => [row]);
}

/** Groups predictions by row, in the order of their first ones. */
export function samplesOf(predictions: readonly Judgements[]): Repeats[] {
  return [...groupBy(predictions, ([{ key }]) => key).values()];
}

/** Whether any of these rows is a further judgement of its prediction. */
function isJudgedAgain(rows: readonly JudgedRow[]): boolean {
  return rows.some(({ index }) => index > 0);
}

type FigureOf = (row: JudgedRow) => number | undefined;

/** A prediction's figure: the mean over its judgements that have it; undefined if none has. */
export function meanFigure(judgements: Judgements, figureOf: FigureOf): number | undefined {
  return meanOfKnown(judgements.map(figureOf));
}

/** One observation for each sample that has the figure in any of its repeats: their mean, in the cluster of its trajectory. */
export function observationsOf(samples: readonly Repeats[], figureOf: FigureOf): Observation[] {
  return samples.flatMap((repeats) => {
    const value = meanOfKnown(repeats.map((judgements) => meanFigure(judgements, figureOf)));
    return value === undefined ? [] : [{ value, cluster: repeats[0][0].trajectory }];
  });
}

function meanOfKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length === 0 ? undefined : mean(known);
}

/** The points of one row's judgements in one run, one list per generation (repeat). None is empty. */
export type Judgings = readonly (readonly number[])[];

/**
 * The standard deviation of one of two repeated values, from pairs of them: `√(Σ d² / 2n)` (Dahlberg 1940; Bland & Altman, British Medical
 * Journal 312, 1996). A shift between the first and the second values also counts as noise. NaN for no pairs.
 */
export function noiseOf(pairs: readonly { readonly a: number; readonly b: number }[]): number {
  return Math.sqrt(pairs.reduce((sum, { a, b }) => sum + (b - a) ** 2, 0) / pairs.length / 2);
}

type Sampling = ReturnType<typeof samplingOf>;
type Parts = Pick<Sampling, 'generation' | 'judge' | 'perRepeat'>;

/**
 * The variance that sampling gives a difference of means (or, with one run, a mean) over rows, from the repeats and judgements in each run;
 * the runs contain the same rows. `variance` assumes the repeats that each row has; `df` are Satterthwaite's degrees of freedom of the
 * pooled variances; `perRepeat` is the variance if every row had one repeat in each run: n repeats leave the nth part of it. `judge` is the
 * judge's part of `variance`, and `generation` the rest. Values that need repeats are undefined if a run has none, and `judge` is undefined
 * if a run judged nothing twice.
 */
export function samplingOf(runs: readonly (readonly Judgings[])[]) {
  const found = runs.map(samplingIn);
  const total = (name: keyof (typeof found)[number]) => sumOfKnown(found.map((run) => run[name]));
  const [variance, spread, judge] = [total('variance'), total('spread'), total('judge')];
  return {
    variance,
    // Without any variance Satterthwaite's degrees of freedom are undefined.
    df: spread && variance ? variance ** 2 / spread : total('freedom'),
    perRepeat: total('perRepeat'),
    judge,
    generation: judge === undefined ? variance : total('generation'),
  };
}

/**
 * The same for one run. The spread of generations within a row, and of judgements within a generation, is pooled over all, since one row
 * has too few. With k judgements per prediction and the mean square σ² of judgements within predictions, the judge's part for a run of n
 * rows is `Σ_rows Σ_generations (σ² / k) / G² / n²`, where a row has G generations. The part of generations alone follows from the method
 * of moments for unequal numbers: the mean square of generations within rows has the expectation `σ²_generation + h σ²_judge`, where h is
 * the mean of 1 / k over the generations of k judgements in those rows, weighted by their degrees of freedom.
 */
function samplingIn(rows: readonly Judgings[]) {
  const generated = pooledVariance(rows.map((row) => row.map(mean)));
  const judged = pooledVariance(rows.flat());
  const overRows = (of: (row: Judgings) => number) => rows.reduce((sum, row) => sum + of(row), 0);
  const inverse = (row: Judgings) => row.reduce((sum, { length }) => sum + 1 / length, 0);
  const repeats = overRows(({ length }) => 1 / length);
  const cells = rows.length ** 2;
  const judge = judged && (judged.value * overRows((row) => inverse(row) / row.length ** 2)) / cells;
  if (generated === undefined) return { judge };
  const { value, df } = generated;
  const share = overRows((row) => (1 - 1 / row.length) * inverse(row)) / df;
  const variance = (value * repeats) / cells;
  return {
    judge,
    variance,
    spread: variance ** 2 / df,
    freedom: df,
    perRepeat: value / rows.length,
    generation: (Math.max(0, value - share * (judged?.value ?? 0)) * repeats) / cells,
  };
}

function sumOfKnown(values: readonly (number | undefined)[]): number | undefined {
  const known = values.filter((value) => value !== undefined);
  return known.length < values.length ? undefined : known.reduce((sum, value) => sum + value, 0);
}

/**
 * Splits the variance of an estimate into parts: judgements within generations within rows, by the analysis of variance of nested random
 * effects (method of moments; Searle, Casella & McCulloch, "Variance Components", 1992). The differences between a row's generations
 * include the judge's part, which is therefore subtracted; what sampling does not explain belongs to the rows. A negative part is set to 0.
 * Without repeats the judge's part can still be separated, while generation stays with the rows; unknown parts are left out.
 */
export function splitVariance(variance: number, { generation, judge, perRepeat }: Parts): VarianceSplit {
  return {
    row: Math.max(0, variance - (generation ?? 0) - (judge ?? 0)),
    ...(generation === undefined ? {} : { generation }),
    ...(judge === undefined ? {} : { judge }),
    ...(perRepeat === undefined ? {} : { perRepeat }),
  };
}

/** The estimate for exactly these rows, so that only sampling (including the judge's) varies; undefined if a run has no repeats. */
export function onTheseRows(estimate: Estimate, { variance, df }: Sampling): Estimate | undefined {
  if (variance === undefined || df === undefined) return undefined;
  const { value, rows, clusters } = estimate;
  return withInterval({ value, rows, clusters, se: Math.sqrt(variance), df }, 'difference');
}

/**
 * The split of the unweighted mean of independent estimates. A part that one of them lacks is absent, and is counted where that one counts
 * it: the judge's with generation, and generation with the rows. So the parts add up to the variance. Throws on none.
 */
export function meanOfSplits(splits: readonly VarianceSplit[]): VarianceSplit {
  const scaled = (part: (split: VarianceSplit) => number | undefined) => {
    const sum = sumOfKnown(splits.map(part));
    return sum === undefined ? undefined : sum / splits.length ** 2;
  };
  const judge = scaled((split) => split.judge);
  const generation = scaled((split) =>
    split.generation === undefined || judge !== undefined ? split.generation : split.generation + (split.judge ?? 0),
  );
  const whole = scaled((split) => split.row + (split.generation ?? 0) + (split.judge ?? 0)) ?? 0;
  return splitVariance(whole, { generation, judge, perRepeat: scaled((split) => split.perRepeat) });
}

/** The variance within groups with its degrees of freedom; undefined if no group has two values. */
function pooledVariance(groups: readonly (readonly number[])[]): { value: number; df: number } | undefined {
  let [squares, df] = [0, 0];
  for (const group of groups) {
    if (group.length < 2) continue;
    const centre = mean(group);
    squares += group.reduce((sum, value) => sum + (value - centre) ** 2, 0);
    df += group.length - 1;
  }
  return df === 0 ? undefined : { value: squares / df, df };
}
