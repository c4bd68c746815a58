// What a report shows: a run, beside another where there is one, and its samples.

import type { Asked, Cost } from '../core/costs.js';
import type { EquivalenceCard } from '../core/equivalence.js';
import type { MeasureLookup } from '../core/measures.js';
import type { Price } from '../core/price.js';
import type { Domain, Estimate, JudgedRow, ScoreCard } from '../core/types.js';
import type { Trust } from '../report/trust.js';
import type { RolloutCard } from '../stats/rollout.js';
import type { ChangeLine } from './charts.js';

/** A run as the report shows it. */
export interface ReportRun {
  /** What the run is called: its label, or the name of its file. */
  readonly name: string;
  /** What made it, by heading: world model, judge, rubric pack ... */
  readonly facts: readonly (readonly [string, string])[];
  readonly card: ScoreCard;
  /** What is known of its judge; absent where it asked none. */
  readonly trust?: Trust | undefined;
}

/** How two runs differ on the rows of both, in points of 0-100; absent where nothing could be compared. */
export interface ReportChange {
  readonly domains: readonly (Omit<ChangeLine, 'name'> & { readonly domain: string })[];
  readonly overall: Omit<ChangeLine, 'name'>;
}

/** A figure over a part of the rows. */
export interface ReportBin {
  readonly name: string;
  readonly estimate: Estimate;
}

/** What rows took together, with their calls and the seconds in them where journals tell. */
export interface SpendingLine {
  readonly cost: Cost;
  readonly calls?: number;
  readonly seconds?: number;
}

/** What asking the world model or the judge took, by domain in the order of the table. */
export interface ReportSpending {
  readonly asked: Asked;
  /** What the dollars were counted by, where it is known. */
  readonly price?: Price | undefined;
  readonly domains: ReadonlyMap<Domain, SpendingLine>;
  readonly total: SpendingLine;
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

/** All that the page shows. */
export interface Report {
  readonly run: ReportRun;
  readonly other?: ReportRun | undefined;
  readonly change?: ReportChange | undefined;
  /** What the numbers of measures mean. */
  readonly measureOf: MeasureLookup;
  /** What a reader must know before believing the figures, one sentence each. */
  readonly warnings: readonly string[];
  /** Score by turn position and by the length of what was put to the world model. */
  readonly turns: readonly ReportBin[];
  readonly contexts: readonly ReportBin[];
  /** Of a rollout: its curves, and its drift where the run beside it predicted the same from true histories. */
  readonly rollout?: RolloutCard | undefined;
  /** Of an agent's decisions: how far predictions lead where the truth leads. */
  readonly equivalence?: EquivalenceCard | undefined;
  /** None of whom nobody was asked. */
  readonly spending: readonly ReportSpending[];
  /** The manifest as it stands on the disk. */
  readonly manifest?: string | undefined;
  /** In the order in which they are shown; a chunk of texts holds those of a stretch of them. */
  readonly samples: readonly ReportSample[];
  /** Index of the first sample of each chunk, the first being 0. */
  readonly starts: readonly number[];
  /** Name and version of the program. */
  readonly tool: string;
}
