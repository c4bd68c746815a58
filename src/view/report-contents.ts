// What a report says of a run beside the texts of its samples: what made it, its figures, how it differs from another, what it used.

import { basename } from 'node:path';
import type { RunCosts } from '../core/costs.js';
import { present } from '../core/errors.js';
import { DEFAULT_MEASURE, type Measure, type MeasureLookup } from '../core/measures.js';
import { rowId } from '../core/row-id.js';
import { askedName, type Estimate, type JudgedRow, type ScoreCard } from '../core/types.js';
import { askedWord, measureOf } from '../judge/modes.js';
import { leadingMeasure } from '../report/score-table.js';
import { isForcedPartner, notesOn, rolloutOf, sharedBy } from '../results/comparability.js';
import { type ReadRun, warningsOn } from '../results/read-run.js';
import { meanFigure, predictionsOf } from '../stats/aggregate.js';
import { clusteredEstimate } from '../stats/clusters.js';
import { compareRuns } from '../stats/compare.js';
import { equivalenceCard } from '../stats/equivalence.js';
import type { Fact } from './parts.js';

/** A figure over a part of the rows. */
export interface ReportBin {
  readonly name: string;
  readonly estimate: Estimate;
}

/** One judged row in the list. */
export interface ReportSample {
  readonly row: JudgedRow;
  /** Its score: points of 0-100, or the value of the measure that the report leads with; absent where it has none. */
  readonly points?: number | undefined;
  /** Of the other run's row, where it has one. */
  readonly other?: { readonly row: JudgedRow; readonly points?: number | undefined } | undefined;
  /** Score of this prediction, over all of its judgements, minus that of the other run's; absent unless both have one. */
  readonly change?: number | undefined;
  /** One line that says why, such as the judge's first weakness. */
  readonly note: string;
}

/** All that the page shows, but for the texts. */
export type Report = ReturnType<typeof reportOn>;

/** What tells what a report leads with. */
export interface Leading {
  readonly run: { readonly card: ScoreCard };
  readonly measureOf: MeasureLookup;
}

/** What a report leads with: nothing where that is the score, with the model's failures at rating 1, else the name of a measure. */
export function leadName({ run, measureOf }: Leading): string | undefined {
  return leadingMeasure(run.card, measureOf);
}

/** What its numbers mean. Scores are read like a measure that nobody declares. */
export function leadOf(report: Leading): Measure {
  const name = leadName(report);
  return name === undefined ? DEFAULT_MEASURE : report.measureOf(name);
}

/** @param contexts characters put to the world model, by record id; @param notes further warnings */
export function reportOn(
  run: ReadRun,
  other: ReadRun | undefined,
  { samples, contexts }: { readonly samples: readonly ReportSample[]; readonly contexts: ReadonlyMap<string, number> },
  costs: RunCosts,
  notes: readonly string[],
) {
  const compared = other && compareRuns(other, run, { draws: 0, moved: 0 });
  const overall = compared?.status === 'ok' ? compared.overall.total : undefined;
  const domains = compared?.status === 'ok' ? compared.domains : [];
  const own = reportRun(run);
  const { range } = leadOf({ run: own, measureOf });
  const warnings = [...warningsOn(run), ...notes];
  if (other !== undefined) {
    warnings.push(...warningsOn(other));
    if (overall === undefined) warnings.push('No row is rated in both runs, so nothing is compared.');
    warnings.push(...notesOn(sharedBy({ base: other, candidate: run }), []));
  }
  return {
    run: own,
    other: other && reportRun(other),
    /** How two runs differ on the rows of both, in points of 0-100; absent where nothing could be compared. */
    change: overall && {
      domains: domains.flatMap(({ domain, figures: { total } }) => (total ? [{ domain, ...total }] : [])),
      overall,
    },
    /** What a reader must know before believing the figures, one sentence each. */
    warnings,
    /** Score by turn position and by the length of what was put to the world model. */
    turns: binsOf(samples, (row) => row.turnIdx, range),
    contexts: binsOf(samples, (row) => contexts.get(rowId(row.key, row.repeat, row.index)) ?? 0, range),
    costs,
    /** Of an agent's decisions: how far predictions lead where the truth leads. */
    equivalence: equivalenceCard(run.rows),
    /** Of a rollout: its curves, and its drift where the run beside it predicted the same from true histories. */
    rollout: rolloutOf(run.rows, run.card, other && isForcedPartner(run, other) ? other.rows : undefined),
    /** The manifest as it stands on the disk. */
    manifest: run.manifest && JSON.stringify(run.manifest, null, 2),
    /** In the order in which they are shown. */
    samples,
    /** What the numbers of measures mean. */
    measureOf,
  };
}

function reportRun({ name, made, trust, card, source }: ReadRun) {
  const facts: Fact[] = [
    ['world model', made.worldModel],
    [askedWord(made.mode), made.judgeName],
    ['rubrics', made.rubricPack],
    ['verdicts', made.verdicts],
    ['protocol', askedName(made.protocol, made.rollout)],
    ['judged', made.startedAt?.slice(0, 10)],
    // What the user said of the checkpoint: its step, its recipe, its cost.
    ...Object.entries(made.meta),
    ['file', basename(source)],
  ];
  return { name, card, trust, facts };
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
  const bins: ReportBin[] = [];
  for (let from = 0; from < scored.length; ) {
    let to = Math.min(scored.length, from + Math.max(1, Math.round((scored.length - from) / (BINS - bins.length))));
    while (to < scored.length && scored[to]?.at === scored[to - 1]?.at) to++;
    const bin = scored.slice(from, to);
    const [first, last] = [present(bin[0]).at, present(bin.at(-1)).at];
    const name = first === last ? inWords(first) : `${inWords(first)} to ${inWords(last)}`;
    bins.push({ name, estimate: clusteredEstimate(bin, range) });
    from = to;
  }
  return bins;
}

function inWords(quantity: number): string {
  return quantity < 1000 ? String(quantity) : `${(quantity / 1000).toFixed(quantity < 10_000 ? 1 : 0)}k`;
}
