// What the SQLite file holds of a run, and of a calibration.

import type { RunCosts, Spent } from '../core/costs.js';
import type { EquivalenceCard } from '../core/equivalence.js';
import type { CallLog, JudgedRow, ScoreCard } from '../core/types.js';
import type { CalibrationDocument, JudgeTrust } from '../stats/calibration/document.js';
import type { ScenarioFigures } from '../stats/scenarios.js';

/** What names and describes a run; texts that nobody knows are absent. */
export interface RunRecord {
  /** A run stored before under the same identity is replaced. */
  readonly identity: string;
  readonly label?: string | undefined;
  /** How it was judged: `rubric`, `metrics` ... */
  readonly kind: string;
  /** Absolute path of the judged file, and SHA-256 hex of its bytes. */
  readonly source: string;
  readonly sourceSha256: string;
  readonly worldModel?: string | undefined;
  readonly judgeModel?: string | undefined;
  readonly rubricPack?: string | undefined;
  readonly rubricFingerprint?: string | undefined;
  readonly protocol?: string | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
  /** The judged file's manifest as JSON. Who reads it checks it: one that is damaged says nothing of the other runs. */
  readonly manifest?: string | undefined;
  /** ISO 8601 times. */
  readonly startedAt?: string | undefined;
  readonly endedAt?: string | undefined;
  readonly scoredAt: string;
  readonly toolVersion: string;
  /** What world model and judge took. */
  readonly costs: RunCosts;
  /** Of an agent's decisions: how far predictions lead where the truth leads. */
  readonly equivalence?: EquivalenceCard | undefined;
  /** Of a run on scenarios, its figures by scenario; they are not read back. */
  readonly scenarios?: ScenarioFigures | undefined;
}

/** A judged row with what it cost to judge and to predict, where journals tell. */
export interface StoredJudgement {
  readonly row: JudgedRow;
  readonly log?: CallLog | undefined;
  /** US dollars of judging it. */
  readonly usd?: number | undefined;
  /** What its prediction took; the same for all judgements of one prediction. */
  readonly prediction?: Spent | undefined;
}

/** What a run in the file is called, and the manifest that it came with. */
export type StoredName = Pick<RunRecord, 'label' | 'manifest'>;

/** A run as it stands in the file. */
export interface StoredRun extends RunRecord {
  readonly id: number;
  /** As it was saved, with measures by name. */
  readonly card: ScoreCard;
}

/** What names and describes a calibration of a judge; texts that nobody knows are absent. */
export interface CalibrationRecord {
  /** A calibration stored before under the same identity is replaced. */
  readonly identity: string;
  /** What judgings have in common with it that the same judge made in the same way. */
  readonly judgeKey: string;
  readonly judgeModel: string;
  readonly judgeSnapshot?: string | undefined;
  readonly rubricPack?: string | undefined;
  readonly rubricFingerprint?: string | undefined;
  /** How verdicts were read, with versions. */
  readonly verdicts?: string | undefined;
  /** What was sent to the judge beside the messages. */
  readonly sampling: Readonly<Record<string, unknown>>;
  /** Absolute path of calibration.jsonl. */
  readonly source: string;
  /** The calibration's manifest as JSON. */
  readonly manifest: string;
  /** ISO 8601 times. */
  readonly startedAt: string;
  readonly endedAt?: string | undefined;
  readonly savedAt: string;
  readonly toolVersion: string;
  readonly document: CalibrationDocument;
}

/** What is read back of a calibration: for which judgings it holds, when it was made, and what it comes to. */
export interface StoredCalibration {
  readonly judgeKey: string;
  readonly trust: JudgeTrust;
  /** When it was ended, or else begun; in ISO 8601. */
  readonly at: string;
}
