// Scores over parts of the rows: by turn, or by the length of what was put to the world model.

import type { Measure } from '../../measures.js';
import { present } from '../../present.js';
import type { ReportBin, ReportSample } from '../../report/page/contents.js';
import { clusteredEstimate } from '../../score/clusters.js';
import { meanFigure, predictionsOf } from '../../score/predictions.js';
import type { JudgedRow } from '../../types.js';

/** Parts of about equal size that turns and context lengths are cut into. */
const BINS = 6;

/**
 * Scores over parts of the rows by some quantity, each part with about as many predictions, one value never in two of them.
 * The judgements of a prediction are averaged first.
 * @param range where a score ends
 */
export function binsOf(
  samples: readonly ReportSample[],
  quantity: (row: JudgedRow) => number,
  range: Measure['range'],
): ReportBin[] {
  const points = new Map(samples.map((sample) => [sample.row, sample.points]));
  const scored = predictionsOf(samples.map(({ row }) => row))
    .flatMap((judgements) => {
      const value = meanFigure(judgements, (row) => points.get(row));
      const [row] = judgements;
      return value === undefined ? [] : [{ value, cluster: row.trajectory, at: quantity(row) }];
    })
    .sort((a, b) => a.at - b.at);
  const bins: (typeof scored)[] = [];
  let from = 0;
  while (from < scored.length) {
    const size = (scored.length - from) / (BINS - bins.length);
    let to = Math.min(scored.length, from + Math.max(1, Math.round(size)));
    while (to < scored.length && scored[to]?.at === scored[to - 1]?.at) to++;
    bins.push(scored.slice(from, to));
    from = to;
  }
  return bins.map((bin) => {
    const [first, last] = [present(bin[0]).at, present(bin.at(-1)).at];
    const name = first === last ? inWords(first) : `${inWords(first)} to ${inWords(last)}`;
    return { name, estimate: clusteredEstimate(bin, range) };
  });
}

function inWords(quantity: number): string {
  return quantity < 1000 ? String(quantity) : `${(quantity / 1000).toFixed(quantity < 10_000 ? 1 : 0)}k`;
}
