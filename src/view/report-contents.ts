// What a report says of a run beside its samples: what made it, its figures, how it differs from another, what it used.

import { basename } from 'node:path';
import { DEFAULT_MEASURE, type Measure } from '../core/measures.js';
import { present } from '../core/present.js';
import { askedName } from '../core/rollout.js';
import { rowId } from '../core/row-id.js';
import type { JudgedRow } from '../core/types.js';
import { askedWord, measureOf } from '../judge/modes.js';
import { leadingMeasure } from '../report/score-table.js';
import { notesOn, sharedBy } from '../results/comparability.js';
import { type ReadRun, warningsOn } from '../results/read-run.js';
import { isForcedPartner, rolloutOf } from '../results/rollout.js';
import type { MadeWith } from '../run/made-with.js';
import { toolVersion } from '../settings/version.js';
import { clusteredEstimate } from '../stats/clusters.js';
import { compareRuns } from '../stats/compare.js';
import { equivalenceCard } from '../stats/equivalence.js';
import { meanFigure, predictionsOf } from '../stats/predictions.js';
import type { Report, ReportBin, ReportChange, ReportRun, ReportSample } from './contents.js';
import type { Gathered } from './report-samples.js';

/** The whole report but the texts of its samples. */
export function describe(
  run: ReadRun,
  other: ReadRun | undefined,
  gathered: Gathered,
  spending: Report['spending'],
): Report {
  const { samples, starts, contexts } = gathered;
  const change = other === undefined ? undefined : changeBetween(other, run);
  const lead = leadingMeasure(run.card, measureOf);
  const { range } = lead === undefined ? DEFAULT_MEASURE : measureOf(lead);
  return {
    run: reportRun(run),
    other: other && reportRun(other),
    change,
    warnings: warningsOf(run, other, change),
    turns: binsOf(samples, (row) => row.turnIdx, range),
    contexts: binsOf(samples, (row) => contexts.get(rowId(row.key, row.repeat, row.index)) ?? 0, range),
    spending,
    equivalence: equivalenceCard(run.rows),
    rollout: rolloutOf(run.rows, run.card, other && isForcedPartner(run, other) ? other.rows : undefined),
    manifest: run.manifest && JSON.stringify(run.manifest, null, 2),
    samples,
    starts,
    measureOf,
    tool: `awb ${toolVersion()}`,
  };
}

function reportRun({ name, made, trust, card, source }: ReadRun): ReportRun {
  return { name, card, trust, facts: [...factsOf(made), ['file', basename(source)]] };
}

/** What made a run, as far as its manifest tells. */
function factsOf(made: MadeWith): (readonly [string, string])[] {
  const facts: (readonly [string, string | undefined])[] = [
    ['world model', made.worldModel],
    [askedWord(made.mode), made.judgeName],
    ['rubrics', made.rubricPack],
    ['verdicts', made.verdicts],
    ['protocol', askedName(made.protocol, made.rollout)],
    ['judged', made.startedAt?.slice(0, 10)],
    // What the user said of the checkpoint: its step, its recipe, its cost.
    ...Object.entries(made.meta),
  ];
  return facts.filter((fact): fact is readonly [string, string] => fact[1] !== undefined);
}

function warningsOf(run: ReadRun, other: ReadRun | undefined, change: ReportChange | undefined): string[] {
  if (other === undefined) return warningsOn(run);
  const warnings = [...warningsOn(run), ...warningsOn(other)];
  if (change === undefined) warnings.push('No row is rated in both runs, so nothing is compared.');
  return [...warnings, ...notesOn(sharedBy({ base: other, candidate: run }), [])];
}

/** How `run` differs from `base`; undefined where no row is rated in both. */
function changeBetween(base: ReadRun, run: ReadRun): ReportChange | undefined {
  const compared = compareRuns(base, run, { draws: 0, moved: 0 });
  if (compared.status !== 'ok' || compared.overall.total === undefined) return undefined;
  return {
    domains: compared.domains.flatMap(({ domain, figures: { total } }) =>
      total === undefined ? [] : [{ domain, ...total }],
    ),
    overall: compared.overall.total,
  };
}

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
