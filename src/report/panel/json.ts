// A panel of judges as JSON. Figures are unrounded; what is not known is null.

import type { Agreement } from '../../agreement.js';
import { FIGURES } from '../../comparison.js';
import type { JsonObject } from '../../json.js';
import type { JoinedPanel, Offsets, PanelAgreement } from '../../panel.js';
import { DIMENSIONS, type Ratings } from '../../types.js';

/** The document of `awb panel --json`. */
export function panelDocument(
  panel: JoinedPanel,
  { output, exitCode }: { output: string; exitCode: number },
): JsonObject {
  const { judges, combine, quorum, offsets, agreement } = panel;
  return {
    schema: 'awb.panel/1',
    exit_code: exitCode,
    output,
    judges: judges.map(({ name, file, rated, failed, absent, meanTotal }) => {
      return { name, file, rated, failed, absent, mean_total: meanTotal ?? null };
    }),
    combine,
    quorum: quorum ?? null,
    predictions: panel.predictions,
    rated: panel.rated,
    by_fewer: panel.byFewer,
    model_caused: panel.modelCaused,
    missing: panel.missing,
    not_judged: panel.notJudged,
    offsets: offsets === undefined ? null : offsetsDocument(offsets),
    agreement: alphasDocument(agreement),
  };
}

/** What was taken out of each judge's ratings, by domain, and from how many predictions that comes. */
export function offsetsDocument(offsets: Offsets): JsonObject {
  const entries = [...offsets].map(
    ([domain, { rows, judges }]) => [domain, { rows, judges: judges.map(byDimension) }] as const,
  );
  return Object.fromEntries(entries);
}

function byDimension(ratings: Ratings): JsonObject {
  return Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, ratings[dimension] ?? null]));
}

/** Krippendorff's alpha: ordinal for a dimension, interval for the total. */
export function alphasDocument({ figures, domains }: PanelAgreement): JsonObject {
  const named = (figure: (typeof FIGURES)[number]) => (figure === 'total' ? 'total_score' : figure);
  return {
    all: Object.fromEntries(FIGURES.map((figure) => [named(figure), alphaDocument(figures[figure])])),
    domains: Object.fromEntries(domains.map(({ domain, total }) => [domain, { total_score: alphaDocument(total) }])),
  };
}

function alphaDocument(found: Agreement | undefined): JsonObject | null {
  if (found === undefined) return null;
  const { alpha, interval, units, ratings, clusters } = found;
  return { alpha, low: interval?.low ?? null, high: interval?.high ?? null, predictions: units, ratings, clusters };
}
