// Judged rows in, score card out: the official counting, and beside it what that leaves out.

import { FIGURES, type Figure } from '../comparison.js';
import { coversBenchmark, inTableOrder, isPublished } from '../domains.js';
import { groupedLists } from '../grouped-lists.js';
import { groupBy } from '../groups.js';
import { joined, type List } from '../list.js';
import { type MeasureLookup, measuresOf } from '../measures.js';
import { countedRating, officialRating, ratingToPoints, stretchToPoints } from '../points.js';
import { present } from '../present.js';
import { atOnce, eachInSteps, type Steps } from '../steps.js';
import type { Domain, DomainScore, Estimate, JudgedRow, ScoreCard, ScoreSet } from '../types.js';
import { clusteredMeanInSteps, meanOfEstimates, type Observation } from './clusters.js';
import { countPredictions } from './counts.js';
import { type Scale, withInterval } from './intervals.js';
import {
  type Clusters,
  clustersOf,
  Figures,
  isJudgedAgain,
  predictionLists,
  type Repeats,
  samplesOf,
} from './samples.js';
import { meanOfSplits } from './sampling.js';
import { bounded } from './uniform-bounds.js';
import { varianceOf } from './variance.js';

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
  return atOnce(aggregateInSteps(Array.from(rows), chosen, measureOf));
}

/** The same in steps, of rows that need not be there at one time. */
export function* aggregateInSteps(
  rows: List<JudgedRow>,
  chosen: ReadonlyMap<Domain, number> | undefined,
  measureOf: MeasureLookup,
): Steps<ScoreCard> {
  const groups = yield* groupedLists(rows, 0, (row) => row.domain);
  const byDomain = new Map(Array.from(groups, (own) => [present(own.at(0)).domain, own]));
  const clusters = clustersOf();
  const scored: Scored[] = [];
  for (const domain of domainNames(byDomain, chosen)) {
    const asked = chosen?.get(domain) ?? 0;
    scored.push(yield* scoreDomain({ domain, rows: byDomain.get(domain) ?? [], asked, clusters }, measureOf));
  }
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
    overallMicro: yield* scoreSet(FIGURES.map((name) => joined(scored.map(({ figures }) => figures.get(name) ?? [])))),
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
    ...(yield* judgementsIn(joined([...byDomain.values()]))),
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
function* judgementsIn(rows: List<JudgedRow>): Steps<Pick<ScoreCard, 'judgements'>> {
  if (!(yield* isJudgedAgain(rows))) return {};
  const failures: Record<string, number> = {};
  yield* eachInSteps(rows, ({ failure }) => {
    if (failure !== undefined) failures[failure.class] = (failures[failure.class] ?? 0) + 1;
  });
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

/** A domain of a judged file, as it is to be scored. */
interface OfDomain {
  readonly domain: Domain;
  readonly rows: List<JudgedRow>;
  readonly asked: number;
  readonly clusters: Clusters;
}

/** A domain's score, with the official figures that it comes from. */
interface Scored {
  readonly score: DomainScore;
  readonly covered: number;
  readonly figures: ReadonlyMap<string, List<Observation>>;
}

function* scoreDomain({ domain, rows, asked, clusters }: OfDomain, measureOf: MeasureLookup): Steps<Scored> {
  const predictions = yield* predictionLists(rows, yield* isJudgedAgain(rows));
  const samples = yield* samplesOf(predictions);
  const { counts, covered } = yield* countPredictions(predictions, asked);
  const withFailures = yield* scoreSet(inOrder(yield* ratingsOf(samples, countedRating, clusters)));
  const variance = varianceOf(samples, samples.length < rows.length, withFailures.total);
  const figures = yield* ratingsOf(samples, officialRating, clusters);
  const score: DomainScore = {
    domain,
    ...counts,
    coverage: covered / counts.chosen,
    scores: yield* scoreSet(inOrder(figures)),
    withFailures,
    ...(variance === undefined ? {} : { variance }),
    measures: yield* measureSet(samples, clusters, measureOf),
  };
  return { score, covered, figures };
}

function* ratingsOf(
  samples: List<Repeats>,
  ratingOf: (row: JudgedRow, figure: Figure) => number | undefined,
  clusters: Clusters,
): Steps<ReadonlyMap<string, List<Observation>>> {
  const figures = new Figures(clusters);
  yield* eachInSteps(samples, (repeats) => {
    for (const name of FIGURES) figures.take(name, repeats, (row) => ratingOf(row, name));
  });
  return figures.byName;
}

function inOrder(figures: ReadonlyMap<string, List<Observation>>): List<Observation>[] {
  return FIGURES.map((name) => figures.get(name) ?? []);
}

/** @param ratings those of each figure, in their order */
function* scoreSet(ratings: readonly List<Observation>[]): Steps<ScoreSet> {
  const scores: Partial<Record<Figure, Estimate>> = {};
  for (const [place, name] of FIGURES.entries()) {
    const own = present(ratings[place]);
    if (own.length > 0) {
      scores[name] = asScore(yield* clusteredMeanInSteps(own));
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

function* measureSet(
  samples: List<Repeats>,
  clusters: Clusters,
  measureOf: MeasureLookup,
): Steps<Record<string, Estimate>> {
  const figures = new Figures(clusters);
  yield* eachInSteps(samples, (repeats) => {
    const names = new Set(
      repeats.flatMap((judgements) => judgements.flatMap((row) => Object.keys(row.measures ?? {}))),
    );
    for (const name of names) figures.take(name, repeats, (row) => row.measures?.[name]);
  });
  const estimates: [string, Estimate][] = [];
  for (const [name, found] of figures.byName) {
    const { range, bounded: isBounded = false } = measureOf(name);
    const estimate = withInterval(yield* clusteredMeanInSteps(found), range);
    estimates.push([name, isBounded ? bounded(estimate, range) : estimate]);
  }
  return Object.fromEntries(estimates);
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
