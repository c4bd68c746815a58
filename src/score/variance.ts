// What the variance of a run's own score is made of: rows, generation and judge, as far as its repeats tell them apart.

import type { List } from '../list.js';
import { countedPoints } from '../points.js';
import type { Estimate, JudgedRow, VarianceSplit } from '../types.js';
import { mean } from './mean.js';
import { generatingOf, type Judgings, judgingOf, samplingOf, splitVariance } from './sampling.js';

/**
 * The split of a total's variance over the rows of one domain, failures that the model caused at rating 1.
 * @param samples each row's predictions, and the judgements of each
 * @param isRepeated whether any row has several of one of the two
 */
export function varianceOf(
  samples: List<readonly (readonly JudgedRow[])[]>,
  isRepeated: boolean,
  total: Estimate | undefined,
): VarianceSplit | undefined {
  if (total?.se === undefined) return undefined;
  // Nothing can be told apart, and of many rows even that takes time.
  if (!isRepeated) return splitVariance(total.se, undefined);
  const rows: Judgings[] = Array.from(samples)
    .map((predictions) =>
      predictions
        .map((judgements) => judgements.flatMap((row) => countedPoints(row, 'total') ?? []))
        .filter(({ length }) => length > 0),
    )
    .filter(({ length }) => length > 0);
  const sampling = samplingOf([rows.map((row) => row.map(mean))]);
  return splitVariance(total.se, sampling, judgingOf([rows]), generatingOf([rows]));
}
