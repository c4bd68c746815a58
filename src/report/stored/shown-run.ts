// All that is shown of one stored run.

import type { EquivalenceCard } from '../../equivalence.js';
import type { RolloutCard } from '../../rollout-card.js';
import type { ScoreCard } from '../../types.js';
import type { Trust } from '../trust.js';
import type { ListedRun } from './listed-run.js';

/** What became of the judged file since the run was scored from it, with the bytes of its journal where there is one. */
export type JudgedFileState = { readonly journalBytes?: number | undefined } & (
  | { readonly state: 'same' | 'changed'; readonly bytes: number }
  | { readonly state: 'missing' }
  | { readonly state: 'unreadable'; readonly reason: string }
);

/** A stored run with what made it. Its texts may be hostile. */
export interface ShownRun extends ListedRun {
  /** What made it, by name. */
  readonly facts: readonly (readonly [name: string, text: string])[];
  /** The judged file and its journal as people are shown them, and what became of it. */
  readonly shownSource: string;
  readonly file: JudgedFileState;
  /** Judgements that are stored of it. */
  readonly judgements: number;
  /** The label by its manifest. */
  readonly ownLabel?: string | undefined;
  /** Warnings of today, and what the commands that made it had to say, a sentence each. */
  readonly warnings: readonly string[];
  readonly notices: readonly string[];
  /** Its manifest, where it has one that can be read. */
  readonly manifest?: object | undefined;
  /** What is known of its judge; absent where it asked none. */
  readonly trust?: Trust | undefined;
  /** By today's arithmetic. */
  readonly card: ScoreCard;
  /** Of an agent's decisions: how far predictions lead where the truth leads. */
  readonly equivalence: EquivalenceCard | undefined;
  /** Of a rollout: its curves. */
  readonly rollout: RolloutCard | undefined;
}
