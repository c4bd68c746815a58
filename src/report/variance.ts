// What a variance is made of, in words and in JSON: a part that repeats do not tell from another is said to be not separable.

import { z } from 'zod';
import { FIGURE } from '../core/document.js';
import type { VarianceSplit } from '../core/types.js';

/**
 * The parts as shares, such as `rows 61 %, generation 27 %, judge 12 %`; undefined where nothing was repeated.
 * @param parts of which it is the mean: the splits of the domains
 */
export function varianceText(split: VarianceSplit | undefined, parts: readonly VarianceSplit[]): string | undefined {
  const isRepeated = ({ generation, judge }: VarianceSplit) => generation !== undefined || judge !== undefined;
  if (split === undefined || !parts.some(isRepeated)) return undefined;
  const { row, generation, judge } = split;
  const whole = row + (generation ?? 0) + (judge ?? 0);
  if (whole === 0) return undefined;
  const share = (part: number) => `${Math.round((part / whole) * 100)} %`;
  const why = (name: 'generation' | 'judge', once: string) =>
    parts.some((part) => part[name] !== undefined) ? 'not separable in all domains' : `not separable: ${once}`;
  if (generation === undefined && judge === undefined)
    return 'rows, generation and judge are not separable in all domains';
  if (generation === undefined) {
    return `rows with generation ${share(row)} (${why('generation', 'no repeats')}), judge ${share(judge ?? 0)}`;
  }
  if (judge === undefined) {
    return `rows ${share(row)}, generation with judge ${share(generation)} (${why('judge', 'judged once')})`;
  }
  return `rows ${share(row)}, generation ${share(generation)}, judge ${share(judge)}`;
}

/** The parts in points squared; null where one is not separable, and in `not_separable` what holds it then. */
export const VARIANCE = z.strictObject({
  row: z.number(),
  generation: FIGURE,
  judge: FIGURE,
  perRepeat: FIGURE,
  not_separable: z.array(z.string()),
});

/** What `VARIANCE` is made of. */
export function varianceSource(split: VarianceSplit | undefined) {
  if (split === undefined) return undefined;
  const { generation, judge } = split;
  const notSeparable = [
    ...(generation === undefined ? ['generation from row'] : []),
    ...(judge === undefined ? [generation === undefined ? 'judge from row' : 'judge from generation'] : []),
  ];
  return { ...split, notSeparable };
}
