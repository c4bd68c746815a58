// What a report says of a calibration beside its figures: who judged, under what, and what to heed.

import type { JudgeVerdict, LimitResult } from '../../judge-limits.js';

/** Its texts may be hostile. */
export interface CalibrationHeader {
  readonly judge: string;
  readonly rubricPack: string;
  /** How verdicts were read: `strict` or `official`. */
  readonly verdicts: string;
  /** What was sampled with, such as `maxTokens 32768, temperature 0.6`. */
  readonly sampling: string;
  /** Where the judgements stand. */
  readonly source: string;
  /** Sentences on what to heed: rows left out, how the calibration was cut short. */
  readonly notes: readonly string[];
  /** Whether the judge can be used. */
  readonly verdict: JudgeVerdict;
  /** What came of the limits that the judge was held to; empty where there are none. */
  readonly limits: readonly LimitResult[];
}
