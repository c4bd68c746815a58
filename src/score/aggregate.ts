// Judged rows in, score card out: the official counting, and beside it what that leaves out.

import { FIGURES, type Figure } from '../comparison.js';
import { coversBenchmark, inTableOrder, isPublished } from '../domains.js';
import { groupBy, type Some } from '../groups.js';
import { type MeasureLookup, measuresOf } from '../measures.js';
import { countedRating, officialRating, ratingToPoints, stretchToPoints } from '../points.js';
import type { Domain, DomainScore, Estimate, JudgedRow, ScoreCard, ScoreSet } from '../types.js';
import { clusteredEstimate, clusteredMean, meanOfEstimates, type Observation } from './clusters.js';
import { countPredictions } from './counts.js';
import { type Scale, withInterval } from './intervals.js';
import { mean } from './mean.js';
import { isJudgedAgain, type Judgements, meanFigure, predictionsOf } from './predictions.js';
import { meanOfSplits } from './sampling.js';
import { bounded } from './uniform-bounds.js';
import { varianceOf } from './variance.js';

/** Everything said of one row under one key: its repeats, each a prediction with its judgements. */
type Repeats = Some<Judgements>;

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
 * bounded are bounded by chance (uniform-bounds.ts); all else has no interval there.
 * Domains come in the published order, others after them by name.
 */
export function aggregate(
  rows: Iterable<JudgedRow>,
  chosen?: ReadonlyMap<Domain, number>,
  measureOf: MeasureLookup = measuresOf(),
): ScoreCard {
  const byDomain = groupBy(rows, (row) => row.domain);
  const scored = domainNames(byDomain, chosen).map((domain) =>
    scoreDomain(domain, byDomain.get(domain) ?? [], chosen?.get(domain) ?? 0, measureOf),
  );
  const domains = scored.map(({ score }) => score);
  const total = (count: (score: DomainScore) => number) => domains.reduce((sum, score) => sum + count(score), 0);
  const chosenRows = total((score) => score.chosen);
  const [rated, counted, measured] = [
    behindMean(domains, isRated),
    behindMean(domains, isCounted),
    behindMean(domains, isMeasured),
  ];
  return {
    domains,
    overall: macro(
      rated.map((score) => score.scores),
      () => 'score',
    ),
    macroOf: (domains.some(isRated) ? rated.filter(isRated) : measured.filter(isMeasured)).length,
    overallMicro: scoreSet(
      scored.flatMap(({ samples }) => samples),
      officialRating,
    ),
    overallWithFailures: macro(
      counted.map((score) => score.withFailures),
      () => 'score',
    ),
    ...overallVariance(counted),
    overallMeasures: macro(
      measured.map((score) => score.measures),
      (name) => measureOf(name).range,
    ),
    chosen: chosenRows,
    valid: total((score) => score.valid),
    failed: total((score) => score.failed),
    coverage: chosenRows === 0 ? 0 : scored.reduce((sum, { covered }) => sum + covered, 0) / chosenRows,
    ...judgementsIn([...byDomain.values()].flat()),
  };
}

function isRated({ scores }: DomainScore): boolean {
  return scores.total !== undefined;
}

function isCounted({ withFailures }: DomainScore): boolean {
  return withFailures.total !== undefined;
}

function isMeasured({ measures }: DomainScore): boolean {
  return Object.keys(measures).length > 0;
}

/** The domains that a mean is taken over: the seven published ones where each of them has what it is of, else all. */
function behindMean(domains: readonly DomainScore[], has: (score: DomainScore) => boolean): readonly DomainScore[] {
  const isWhole = coversBenchmark(domains.filter(has).map(({ domain }) => domain));
  return isWhole ? domains.filter(({ domain }) => isPublished(domain)) : domains;
}

/** Of the mean over the domains that have a total; absent where one of them has no standard error. */
function overallVariance(domains: readonly DomainScore[]): Pick<ScoreCard, 'variance'> {
  const scored = domains.filter(isCounted);
  const splits = scored.flatMap(({ variance }) => variance ?? []);
  return splits.length === 0 || splits.length < scored.length ? {} : { variance: meanOfSplits(splits) };
}

/** What became of single judgements, where the other counts tell of predictions. */
function judgementsIn(rows: readonly JudgedRow[]): Pick<ScoreCard, 'judgements'> {
  if (!isJudgedAgain(rows)) return {};
  const failures: Record<string, number> = {};
  for (const { failure } of rows)
    if (failure !== undefined) failures[failure.class] = (failures[failure.class] ?? 0) + 1;
  return { judgements: { count: rows.length, failures } };
}

function domainNames(
  byDomain: ReadonlyMap<Domain, unknown>,
  chosen: ReadonlyMap<Domain, number> | undefined,
): Domain[] {
  const known = new Set(byDomain.keys());
  for (const [domain, count] of chosen ?? []) {
    if (count > 0) {
      known.add(domain);
    }
  }
  return [...known].sort(inTableOrder);
}

function scoreDomain(domain: Domain, rows: readonly JudgedRow[], asked: number, measureOf: MeasureLookup) {
  const predictions = predictionsOf(rows);
  const samples: Repeats[] = [...groupBy(predictions, ([{ key }]) => key).values()];
  const { counts, covered } = countPredictions(predictions, asked);
  const withFailures = scoreSet(samples, countedRating);
  const variance = varianceOf(samples, withFailures.total);
  const score: DomainScore = {
    domain,
    ...counts,
    coverage: covered / counts.chosen,
    scores: scoreSet(samples, officialRating),
    withFailures,
    ...(variance === undefined ? {} : { variance }),
    measures: measureSet(samples, measureOf),
  };
  return { score, samples, covered };
}

function scoreSet(
  samples: readonly Repeats[],
  ratingOf: (row: JudgedRow, figure: Figure) => number | undefined,
): ScoreSet {
  const scores: Partial<Record<Figure, Estimate>> = {};
  for (const name of FIGURES) {
    const ratings = observations(samples, (row) => ratingOf(row, name));
    if (ratings.length > 0) {
      scores[name] = asScore(clusteredMean(ratings));
    }
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

function measureSet(samples: readonly Repeats[], measureOf: MeasureLookup): Record<string, Estimate> {
  const names = new Set(samples.flat(2).flatMap((row) => Object.keys(row.measures ?? {})));
  return Object.fromEntries(
    [...names].map((name) => {
      const found = observations(samples, (row) => row.measures?.[name]);
      const { range, bounded: isBounded = false } = measureOf(name);
      const estimate = clusteredEstimate(found, range);
      return [name, isBounded ? bounded(estimate, range) : estimate];
    }),
  );
}

/** One observation for each sample that has the figure in any of its repeats: their mean, in the cluster of its trajectory. */
export function observations(
  samples: readonly Repeats[],
  figure: (row: JudgedRow) => number | undefined,
): Observation[] {
  return samples.flatMap((repeats) => {
    const values = repeats.map((judgements) => meanFigure(judgements, figure)).filter((value) => value !== undefined);
    const [[{ trajectory }]] = repeats;
    return values.length === 0 ? [] : [{ value: mean(values), cluster: trajectory }];
  });
}

/** The unweighted mean over the domains that have it, for each name that any of them has. */
function macro(
  sets: readonly Readonly<Record<string, Estimate | undefined>>[],
  scaleOf: (name: string) => Scale,
): Record<string, Estimate> {
  const byName = groupBy(sets.flatMap(Object.entries<Estimate | undefined>), ([name]) => name);
  return Object.fromEntries(
    [...byName].map(([name, entries]) => {
      const estimates = entries.map(([, estimate]) => estimate).filter((estimate) => estimate !== undefined);
      return [name, meanOfEstimates(estimates, scaleOf(name))];
    }),
  );
}
