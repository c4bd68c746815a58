// What stood before a turn of a rollout: read back from the journal, with a stamp that shows when a turn before has changed.

import { createHash } from 'node:crypto';
import { isModelCaused } from '../../../points.js';
import { recordedPrediction } from '../../../prediction.js';
import type { Journal } from '../../../run/journal.js';
import { observationOf } from '../../../simulate/rollout-turn.js';
import type { RowState, RowSummary } from '../../row-summary.js';
import type { TurnJob } from './turn-jobs.js';

/** As many chains may be in flight at one server. */
const MOST_KEPT = 256;
/** Eight hex digits: two of them make a stamp that costs eight bytes. */
const DIGITS = 8;
const NOTHING_BEFORE = '0'.repeat(DIGITS);

/** The simulated part of a history. */
interface Before {
  readonly observations: readonly string[];
  /** Stands for it. */
  readonly hash: string;
}

/** A turn whose failure the model caused is done: the rollout has gone on behind it. */
export function isDoneTurn({ status, class: failure }: RowState): boolean {
  return status === 'ok' || isModelCaused(failure);
}

export class Histories {
  /** By chain and repeat: what was observed turn after turn, and the hash of all up to there. */
  readonly #kept = new Map<string, { observation: string; hash: string }[]>();

  /** @param most chains whose histories are kept; those of others are read again when their turn comes */
  constructor(
    private readonly journal: Pick<Journal<RowSummary>, 'read' | 'summaryOf'>,
    private readonly most = MOST_KEPT,
  ) {}

  /** The history in front of a turn. @throws Error where a turn before it has no record */
  before(job: TurnJob): Before {
    const kept = this.#keptOf(job.group);
    const count = job.turn - 1 - job.chain.from;
    while (kept.length < count) {
      const gen = this.#genOf(job.at(job.chain.from + 1 + kept.length));
      kept.push(next(kept, observationOf(gen)));
    }
    const turns = kept.slice(0, count);
    return { observations: turns.map(({ observation }) => observation), hash: hashOf(turns) };
  }

  /** Takes in what a turn has come to. @returns the record's stamp, beside what else it depends on */
  settle(job: TurnJob, observation: string): string {
    const { hash } = this.before(job);
    const kept = this.#keptOf(job.group);
    kept.length = job.turn - 1 - job.chain.from;
    const turn = next(kept, observation);
    kept.push(turn);
    if (job.turn >= job.chain.last) this.#kept.delete(job.group);
    return `${hash}${turn.hash}`;
  }

  /**
   * The stamp that a record should have, given the one that it has: it begins with what stands before the turn now, and what it says of
   * the turn itself is taken as it is. Undefined where a turn before is not done, or was itself asked behind another history.
   * @param mark what else records depend on
   */
  stampOf(job: TurnJob, mark: string, recorded: string): string | undefined {
    let hash = NOTHING_BEFORE;
    for (let turn = job.chain.from + 1; turn < job.turn; turn++) {
      const summary = this.journal.summaryOf(job.at(turn).id);
      if (summary === undefined || !isDoneTurn(summary)) return undefined;
      const after = afterOf(summary.stamp);
      if (summary.stamp !== stampText(hash + after, mark)) return undefined;
      hash = after;
    }
    return stampText(hash + afterOf(recorded), mark);
  }

  #genOf({ id }: TurnJob): string {
    const { row } = this.journal.read(id);
    return recordedPrediction(row).status === 'ok' && typeof row.gen === 'string' ? row.gen : '';
  }

  #keptOf(group: string): { observation: string; hash: string }[] {
    const kept = this.#kept.get(group) ?? [];
    // Put in anew it is the latest, so that the first is the one that nobody has asked for longest.
    this.#kept.delete(group);
    this.#kept.set(group, kept);
    for (const [oldest] of this.#kept) {
      if (this.#kept.size <= this.most) break;
      this.#kept.delete(oldest);
    }
    return kept;
  }
}

/** A record's stamp: of the history, and what else it depends on. */
export function stampText(hashes: string, mark: string): string {
  return mark === '' ? hashes : `${hashes} ${mark}`;
}

function afterOf(stamp: string): string {
  return stamp.slice(DIGITS, 2 * DIGITS);
}

function hashOf(turns: readonly { readonly hash: string }[]): string {
  return turns.at(-1)?.hash ?? NOTHING_BEFORE;
}

function next(turns: readonly { readonly hash: string }[], observation: string) {
  const hash = createHash('sha256')
    .update(`${hashOf(turns)}\n${observation}`)
    .digest('hex')
    .slice(0, DIGITS);
  return { observation, hash };
}
