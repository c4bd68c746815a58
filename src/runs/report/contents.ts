// What a report says of a run beside its samples: what made it, its figures, how it differs from another, what it used.

import { basename } from 'node:path';
import { askedWord, measureOf } from '../../judge/modes.js';
import { DEFAULT_MEASURE } from '../../measures.js';
import type { Report, ReportChange, ReportRun } from '../../report/page/contents.js';
import { leadingMeasure } from '../../report/score-table.js';
import { askedName } from '../../rollout.js';
import { rowId } from '../../row-id.js';
import type { MadeWith } from '../../run/made-with.js';
import { compareRuns } from '../../score/compare.js';
import { equivalenceCard } from '../../score/equivalence.js';
import { toolVersion } from '../../settings/version.js';
import { notesOn, sharedBy } from '../comparability.js';
import type { ReadRun } from '../read-run.js';
import { rolloutOf } from '../rollout/figures.js';
import { isForcedPartner } from '../rollout/forced.js';
import { warningsOn } from '../warnings.js';
import { binsOf } from './bins.js';
import type { Gathered } from './samples.js';

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
    ...(other === undefined ? {} : { other: reportRun(other) }),
    ...(change === undefined ? {} : { change }),
    warnings: warningsOf(run, other, change),
    turns: binsOf(samples, (row) => row.turnIdx, range),
    contexts: binsOf(samples, (row) => contexts.get(rowId(row.key, row.repeat, row.index)) ?? 0, range),
    spending,
    equivalence: equivalenceCard(run.rows),
    rollout: rolloutOf(run.rows, run.card, other && isForcedPartner(run, other) ? other.rows : undefined),
    ...(run.manifest === undefined ? {} : { manifest: JSON.stringify(run.manifest, null, 2) }),
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
