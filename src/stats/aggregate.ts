// Judged rows in, score card out: judgements averaged within predictions, these within rows; the official counting, and beside it what that
// leaves out; and what of a variance is sampling, as repeats tell, and what more rows alone would shrink.

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
 * The score card of a judged file, the official script's included.
 *
 * **Scores** follow the official script: rows with `failed` exactly 0 are valid, a value of 0 (or an absent one) leaves
 * only its own mean, and a score is `(mean - 1) / 4 * 100`, unrounded. The judgements of one prediction are averaged first, each
 * of them counting as it would alone, then the repeats (predictions) of a row. `withFailures` counts failures that the model caused
 * as rating 1 throughout, and no rating outside 1 to 5 (see points.ts); failures of transport and judge stay missing.
 *
 * **Overall** is the unweighted mean of the domains that have the figure, `macroOf` the number of domains with a total
 * (where no domain has one: with a measure). Where all seven published domains are there, it is of these alone: further domains
 * stand beside them. `overallMicro` is the mean over the rows of all domains, as the official script prints it.
 *
 * **Measures** are averaged over the rows that have them, whatever became of the judgement, and never touch the scores.
 * A row with measures, without `failed` and without a failure is what a mode without ratings writes: it counts as valid.
 * Only rows that carry `failed` can enter the scores, so a file of measures has none.
 *
 * **Counts** are of predictions, not of judgements: one of which any judgement is valid (or covered) is valid (or covered), and of
 * several failures the model's own is named. `chosen` gives the rows (times repeats) that the run chose by domain; a domain it
 * lacks, or of which the file holds more, counts those in the file, so coverage never exceeds 1. What was chosen but is not in the
 * file is `not-judged`; what is not valid and says nothing of why is `unstated`; what is valid with no rating, or with one that
 * cannot be, is `not-rated` and not covered, so that nobody gains by rows without a rating. A domain that was chosen but has no row is
 * listed with a coverage of 0. With nothing chosen at all the card's coverage is 0.
 *
 * Intervals of scores are reckoned on the logit scale (intervals.ts), so they stay within 0 and 100; those of measures within the
 * range that `measureOf` gives them, and plainly where that has no end. Where all rows say the same, measures that `measureOf` has
 * bounded are bounded by chance (`boundsOf` in intervals.ts); all else has no interval there.
 * Domains come in the published order, others after them by name.
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
    // Absent where a domain that has a total has no standard error.
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

/** The domains that a mean is taken over: the seven published ones where each of them has what it is of, else all. */
function behindMean(domains: readonly DomainScore[], family: Family): readonly DomainScore[] {
  const having = domains.filter((score) => has(score, family)).map(({ domain }) => domain);
  return coversBenchmark(having) ? domains.filter(({ domain }) => isPublished(domain)) : domains;
}

/** The unweighted mean over the domains that have it, for each name that any of them has. */
function macro(domains: readonly DomainScore[], family: Family, scaleOf: (name: string) => Scale) {
  const entries = domains.flatMap((score) => Object.entries<Estimate>(score[family]));
  const means = [...groupBy(entries, ([name]) => name)].map(([name, found]) => {
    const estimates = found.map(([, estimate]) => estimate);
    return [name, meanOfEstimates(estimates, scaleOf(name))] as const;
  });
  return Object.fromEntries(means);
}

/** What became of single judgements, where the other counts tell of predictions. */
function judgementsIn(rows: readonly JudgedRow[]): Pick<ScoreCard, 'judgements'> {
  if (!isJudgedAgain(rows)) return {};
  return { judgements: { count: rows.length, failures: countBy(rows.flatMap(({ failure }) => failure?.class ?? [])) } };
}

/** A domain's score, how many predictions are covered, and the observations that its official figures come from. */
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

/** An estimate on the scale of ratings, 1 to 5, as one on that of scores, 0 to 100. */
function asScore({ value, rows, clusters, se, df }: Estimate): Estimate {
  const score = { value: ratingToPoints(value), rows, clusters };
  return se === undefined || df === undefined
    ? score
    : withInterval({ ...score, se: stretchToPoints(se), df }, 'score');
}

/**
 * What the variance of a domain's total is made of, failures that the model caused at rating 1: rows, generation and judge, as far as
 * its repeats tell them apart.
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
 * The counts of a domain's predictions, and how many of them are covered. What counts is the prediction: it is valid where any of
 * its judgements is, covered where any is, and has each of its flags once.
 * @param asked how many predictions the run chose; more in the file count as chosen, too
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

/** Whether anything is known of the row: the official script also calls valid what has no rating, or one that cannot be. */
function isCovered(row: JudgedRow): boolean {
  if (isRated(row)) return countedRating(row, 'total') !== undefined;
  // A failure that the model caused counts as the lowest rating where rows are rated, else only where it was measured.
  const { failed, failure, measures } = row;
  return isValid(row) || (isModelCaused(failure?.class) && (failed !== undefined || measures !== undefined));
}

/** Why nothing, or too little, is known of a prediction; none where it has a rating. Of several failures the model's own counts. */
function failureOf(judgements: Judgements): string[] {
  if (judgements.some(isValid)) return judgements.some(isCovered) ? [] : ['not-rated'];
  const [{ failure }] = judgements;
  return [judgements.map((row) => row.failure?.class).find(isModelCaused) ?? failure?.class ?? 'unstated'];
}

/** What was judged of one prediction. */
export type Judgements = Some<JudgedRow>;

/** Everything said of one row under one key: its repeats, each a prediction with its judgements. */
type Repeats = Some<Judgements>;

/** Rows apart by prediction (key and repeat), in the order of their first rows. */
export function predictionsOf(rows: readonly JudgedRow[]): Judgements[] {
  return isJudgedAgain(rows)
    ? [...groupBy(rows, ({ key, repeat }) => rowId(key, repeat)).values()]
    : rows.map((row) => [row]);
}

/** Predictions apart by row, in the order of their first ones. */
export function samplesOf(predictions: readonly Judgements[]): Repeats[] {
  return [...groupBy(predictions, ([{ key }]) => key).values()];
}

/** Whether any of these rows is a further judgement of its prediction. */
function isJudgedAgain(rows: readonly JudgedRow[]): boolean {
  return rows.some(({ index }) => index > 0);
}

type FigureOf = (row: JudgedRow) => number | undefined;

/** A prediction's figure: the mean over its judgements that have it; undefined where none has. */
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

/** What the judgements of one row in one run come to, a list for each generation (repeat). None is empty. */
export type Judgings = readonly (readonly number[])[];

/**
 * The standard deviation of one of two repeated values, from pairs of them: `√(Σ d² / 2n)` (Dahlberg 1940; Bland & Altman, British
 * Medical Journal 312, 1996). A shift between the first and the second values counts as noise, too. NaN of no pairs.
 */
export function noiseOf(pairs: readonly { readonly a: number; readonly b: number }[]): number {
  return Math.sqrt(pairs.reduce((sum, { a, b }) => sum + (b - a) ** 2, 0) / pairs.length / 2);
}

type Sampling = ReturnType<typeof samplingOf>;
type Parts = Pick<Sampling, 'generation' | 'judge' | 'perRepeat'>;

/**
 * The variance that sampling gives a difference of means (or, with one run, a mean) over rows, from the repeats and judgements in each
 * run; the runs hold the same rows. `variance` is with the repeats that each row has; `df` are Satterthwaite's, of the pooled variances;
 * `perRepeat` is the variance if every row had one repeat in each run: n repeats leave the nth part of it. `judge` is the judge's part of
 * `variance`, and `generation` the rest. What repeats would tell is undefined where a run has none, and `judge` where a run judged
 * nothing twice.
 */
export function samplingOf(runs: readonly (readonly Judgings[])[]) {
  const found = runs.map(samplingIn);
  const total = (name: keyof (typeof found)[number]) => sumOfKnown(found.map((run) => run[name]));
  const [variance, spread, judge] = [total('variance'), total('spread'), total('judge')];
  return {
    variance,
    // Without any variance Satterthwaite's are not defined.
    df: spread && variance ? variance ** 2 / spread : total('freedom'),
    perRepeat: total('perRepeat'),
    judge,
    generation: judge === undefined ? variance : total('generation'),
  };
}

/**
 * The same of one run. The spread of generations within a row, and of judgements within a generation, is pooled over all, since one alone
 * has too few. With k judgements a prediction and the mean square σ² of judgements within predictions, a run of n rows has from its judge
 * `Σ_rows Σ_generations (σ² / k) / G² / n²`, where a row has G generations. What generations alone give is told by the method of moments
 * for unequal numbers: the mean square of generations within rows has `σ²_generation + h σ²_judge`, where h is the mean of 1 / k over the
 * generations of k judgements in those rows, weighted by their degrees of freedom.
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
 * The variance of an estimate in its parts: judgements within generations within rows, by the analysis of variance of nested random effects
 * (its method of moments; Searle, Casella & McCulloch, "Variance Components", 1992). What the generations of a row differ by holds
 * the judge's part, too, so that is taken from it; what sampling does not explain is the rows'. A part that comes out negative
 * is 0. Without repeats the judge's part can still be told from the rest, while generation stays with the rows; parts that are not known
 * are left out.
 */
export function splitVariance(variance: number, { generation, judge, perRepeat }: Parts): VarianceSplit {
  return {
    row: Math.max(0, variance - (generation ?? 0) - (judge ?? 0)),
    ...(generation === undefined ? {} : { generation }),
    ...(judge === undefined ? {} : { judge }),
    ...(perRepeat === undefined ? {} : { perRepeat }),
  };
}

/**
 * The estimate as it is for these very rows, with nothing but sampling (the judge's included) left to vary; undefined where a run has no
 * repeats.
 */
export function onTheseRows(estimate: Estimate, { variance, df }: Sampling): Estimate | undefined {
  if (variance === undefined || df === undefined) return undefined;
  const { value, rows, clusters } = estimate;
  return withInterval({ value, rows, clusters, se: Math.sqrt(variance), df }, 'difference');
}

/**
 * The split of the unweighted mean of independent estimates. A part that one of them lacks is absent, and falls where that one has
 * it: the judge's to generation, and generation to the rows. So the parts add up to the variance. Throws on none.
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

/** The variance within groups with its degrees of freedom; undefined where no group has two values. */
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
