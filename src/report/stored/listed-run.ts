// A run as a SQLite file holds it, for those who list and show it.

import type { RunCosts } from '../../costs.js';
import type { ScoreCard } from '../../types.js';

/** A stored run. Its texts may be hostile. */
export interface ListedRun {
  readonly id: number;
  /** The SQLite file: as people are shown it, and its absolute path. */
  readonly db: string;
  readonly path: string;
  readonly label?: string | undefined;
  /** Whether the user gave the label in the SQLite file: the run's manifest has another one, or none. */
  readonly isLabelGiven: boolean;
  /** How it was judged: `rubric`, `metrics` ... */
  readonly kind: string;
  readonly worldModel?: string | undefined;
  readonly judgeModel?: string | undefined;
  readonly rubricPack?: string | undefined;
  readonly rubricFingerprint?: string | undefined;
  readonly protocol?: string | undefined;
  readonly meta: Readonly<Record<string, unknown>>;
  /** Absolute path of the judged file, SHA-256 hex of its bytes when they were scored, and whether there is a file now. */
  readonly source: string;
  readonly sourceSha256: string;
  readonly isSourceThere: boolean;
  /** ISO 8601 times. */
  readonly startedAt?: string | undefined;
  readonly endedAt?: string | undefined;
  readonly scoredAt: string;
  /** The version of awb that scored it. */
  readonly toolVersion: string;
  /** About how many bytes of the SQLite file it takes. */
  readonly bytes: number;
  /** What asking took; absent where nothing of it is stored. */
  readonly costs?: RunCosts | undefined;
  readonly card: ScoreCard;
}
