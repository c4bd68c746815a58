// The samples of a run for a list, without their texts.

import { domainName } from '../core/domains.js';
import { inOrderOf } from '../core/groups.js';
import { countedPoints, isRated } from '../core/points.js';
import { oneLine } from '../core/printable.js';
import { rowIdOf } from '../core/row-id.js';
import { dimensionName } from '../core/table.js';
import { DIMENSIONS, type JudgedRow } from '../core/types.js';
import { measureOf } from '../judge/modes.js';
import { isLikeScore, leadingMeasure } from '../report/score-table.js';
import type { ReadRun } from '../results/read-run.js';
import type { FigureScale, ListedSample, SampleList } from './documents.js';
import { leadingOf, refOf } from './listed-run.js';

/** Most columns of a failure's reason in the list, as in a terminal. */
const REASON_COLUMNS = 400;

/** The samples of a run in reading order. Without excerpts the list has no weaknesses and no facts. */
export function sampleList(run: ReadRun, ref = refOf(run)): SampleList {
  const { card, name, excerpts } = run;
  const measure = leadingMeasure(card, measureOf);
  const rows = inReadingOrder(run);
  const figures = figuresOf(rows, measure);
  const domains = new Map(card.domains.map(({ domain }, place) => [domain, place]));
  const trajectories = new Map([...new Set(rows.map((row) => row.trajectory))].map((hash, place) => [hash, place]));
  const sampleOf = (row: JudgedRow): ListedSample => {
    const { note, unmet, determined } = excerpts?.get(rowIdOf(row)) ?? {};
    const { failure, flags } = row;
    return {
      k: row.key,
      r: row.repeat || undefined,
      j: row.index || undefined,
      d: domains.get(row.domain) ?? 0,
      g: trajectories.get(row.trajectory) ?? 0,
      t: row.turnIdx,
      v: measure === undefined ? countedPoints(row, 'total') : row.measures?.[measure],
      f: measure === undefined ? ratingsIn(row) : measuresIn(row, figures),
      x: failure?.class,
      y: failure && oneLine(failure.reason, REASON_COLUMNS),
      l: flags.length > 0 ? flags : undefined,
      u: unmet,
      o: determined,
      n: failure === undefined ? note : undefined,
      s: row.rollout?.distance,
    };
  };
  return {
    ref,
    name,
    lead: leadingOf(card).lead,
    domains: card.domains.map(({ domain }) => ({ domain, name: domainName(domain) })),
    figures,
    trajectories: [...trajectories.keys()],
    samples: rows.map(sampleOf),
  };
}

/** The judged rows by domain, in the scores' order, then by trajectory and turn. */
export function inReadingOrder({ rows, card }: Pick<ReadRun, 'rows' | 'card'>): JudgedRow[] {
  const domains = new Map(card.domains.map(({ domain }, place) => [domain, place]));
  const trajectories = new Map([...new Set(rows.map((row) => row.trajectory))].map((hash, place) => [hash, place]));
  return inOrderOf(rows, (row) => {
    const places = [domains.get(row.domain) ?? 0, trajectories.get(row.trajectory) ?? 0];
    return [...places, row.turnIdx, row.repeat, row.index];
  });
}

/** The figures of each sample: ratings, or measures if nothing was rated. */
function figuresOf(rows: readonly JudgedRow[], measure: string | undefined): FigureScale[] {
  if (measure === undefined) return DIMENSIONS.map((dimension) => [dimensionName(dimension), 5]);
  const names = [...new Set(rows.flatMap((row) => Object.keys(row.measures ?? {})))];
  return names.map((name) => [name, isLikeScore(measureOf(name)) ? 100 : null]);
}

/** With two decimals, since panels' ratings are fractions. */
function ratingsIn(row: JudgedRow): ListedSample['f'] {
  if (!isRated(row)) return undefined;
  return DIMENSIONS.map((name) => {
    const { [name]: rating } = row.ratings;
    return rating === undefined ? null : Math.round(rating * 100) / 100;
  });
}

function measuresIn({ measures }: JudgedRow, figures: readonly FigureScale[]): ListedSample['f'] {
  return measures && figures.map(([name]) => measures[name] ?? null);
}
