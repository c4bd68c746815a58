// What a judged row counts as, and how many points that is: both rules are defined only here.

import { FIGURES, type Figure } from './comparison.js';
import { type JudgedRow, type JudgementFailure, MODEL_CAUSED_FAILURES, type ModelCausedFailure } from './types.js';

const LOWEST = 1;
const HIGHEST = 5;

/** A distance on the rating scale (a difference, a standard error) in points of 0-100. */
export function stretchToPoints(stretch: number): number {
  return (stretch / (HIGHEST - LOWEST)) * 100;
}

/** A rating of 1-5 as a score of 0-100, as the official script computes it. */
export function ratingToPoints(rating: number): number {
  return stretchToPoints(rating - LOWEST);
}

/** Whether the world model caused this failure, so that it counts as the lowest rating. */
export function isModelCaused(failure: unknown): failure is ModelCausedFailure {
  return MODEL_CAUSED_FAILURES.some((cause) => cause === failure);
}

/** Whether a value is one of the failures of a judgement. */
export function isJudgementFailure(failure: unknown): failure is JudgementFailure {
  if (isModelCaused(failure) || failure === 'unreadable') return true;
  if (failure === 'prediction' || failure === 'context-overflow') return true;
  return typeof failure === 'string' && failure.startsWith('judge-');
}

/** What a failed prediction means for a judge: the model's own failure, a context that is too short, or a transport failure. */
export function failureToPredict(failure: unknown): JudgementFailure {
  return isModelCaused(failure) || failure === 'context-overflow' ? failure : 'prediction';
}

/** Whether the official script counts the row: `failed` is exactly 0. */
export function isRated(row: JudgedRow): boolean {
  return row.failed === 0;
}

/** A figure's rating as the official script counts it, whatever its value; undefined if the row is not rated or the figure is 0. */
export function officialRating(row: JudgedRow, figure: Figure): number | undefined {
  const rating = figure === 'total' ? row.total : row.ratings[figure];
  return isRated(row) && rating !== 0 ? rating : undefined;
}

/** The same without impossible ratings: one outside 1 to 5 counts neither for its own figure nor for the total. */
export function possibleRating(row: JudgedRow, figure: Figure): number | undefined {
  const isOut = figure === 'total' ? FIGURES.some((each) => isImpossible(row, each)) : isImpossible(row, figure);
  return isOut ? undefined : officialRating(row, figure);
}

/** The rating that awb's own figures and tests count: a possible one, or the lowest for a failure that the model caused. */
export function countedRating(row: JudgedRow, figure: Figure): number | undefined {
  if (row.failed === undefined || isRated(row)) return possibleRating(row, figure);
  return isModelCaused(row.failure?.class) ? LOWEST : undefined;
}

/** `countedRating` in points of 0-100. */
export function countedPoints(row: JudgedRow, figure: Figure): number | undefined {
  const rating = countedRating(row, figure);
  return rating === undefined ? undefined : ratingToPoints(rating);
}

/** The impossible figures of a rated row: outside 1 to 5, and not the 0 of an unrated dimension. */
export function impossibleFigures(row: JudgedRow): Figure[] {
  return FIGURES.filter((figure) => isImpossible(row, figure));
}

function isImpossible(row: JudgedRow, figure: Figure): boolean {
  const rating = officialRating(row, figure);
  return rating !== undefined && !(rating >= LOWEST && rating <= HIGHEST);
}
