// A comparison of two runs as JSON.

import type { Comparison, DifferenceSet } from '../../comparison.js';
import { DIMENSIONS, type Estimate } from '../../types.js';
import { spreadDocument } from '../estimate-json.js';
import { trustDocument } from '../trust.js';
import { varianceDocument } from '../variance.js';
import { type ComparisonView, openingOf, type ShownRun } from './view.js';

/** The figures as documents list them. */
export const TOTAL_FIRST = ['total', ...DIMENSIONS] as const;

/** The document of `--format json`. Figures are unrounded, and null where there are none. */
export function comparisonDocument(view: ComparisonView) {
  return {
    schema: 'awb.compare/1',
    base: runDocument(view.base),
    candidate: runDocument(view.candidate),
    shared: view.shared,
    summary: openingOf(view),
    notes: view.notes,
    ...differencesDocument(view.comparison, view.weaknesses),
  };
}

/** A run, as JSON names it. */
export function runDocument({ name, source, judge, rubricPack, trust }: ShownRun) {
  return { name, source, judge: judge ?? null, rubric_pack: rubricPack ?? null, judge_trust: trustDocument(trust) };
}

/** The figures of a comparison, as JSON holds them. */
export function differencesDocument(comparison: Comparison, weaknesses: ReadonlyMap<string, string>) {
  const { rows, compared, coverage, macroOf, domains, overall, moved } = comparison;
  return {
    rows,
    compared,
    coverage,
    macro_of: macroOf,
    adjusted: { interval: 'none', p: 'none', p_adjusted: 'holm over the domains, for each figure' },
    overall: setDocument(overall),
    domains: Object.fromEntries(
      domains.map((each) => [
        each.domain,
        {
          rows: each.rows,
          compared: each.compared,
          coverage: each.coverage,
          missing: each.missing,
          ...setDocument(each.figures),
        },
      ]),
    ),
    moved: moved.map(({ key, domain, turnIdx, base, candidate, difference }) => {
      return { key, domain, turn_idx: turnIdx, base, candidate, difference, why: weaknesses.get(key) ?? null };
    }),
  };
}

function intervalDocument(estimate: Estimate) {
  const { low, high, se, df } = spreadDocument(estimate);
  return { low, high, se, df };
}

function setDocument(set: DifferenceSet) {
  return Object.fromEntries(
    TOTAL_FIRST.map((figure) => {
      const found = set[figure];
      if (found === undefined) return [figure, null];
      const { difference, base, candidate, wins, ties, losses, p, adjustedP, smallestEffect, split, bootstrap } = found;
      const { onTheseRows: fixed } = found;
      const { low, high, se, df, rows, clusters } = spreadDocument(difference);
      const estimate = { difference: difference.value, low, high, se, df, rows, clusters };
      const chance = { p: p ?? null, p_adjusted: adjustedP ?? null, smallest_effect: smallestEffect ?? null };
      const more = {
        on_these_rows: fixed === undefined ? null : intervalDocument(fixed),
        variance: varianceDocument(split),
        bootstrap: bootstrap ?? null,
      };
      return [figure, { ...estimate, base, candidate, wins, ties, losses, ...chance, ...more }];
    }),
  );
}
