// Made-up judged rows of rollouts with known scores.

import { DIMENSIONS, type Domain, type JudgedRow, rolloutMember } from '../../src/core/types.js';

/** A row of a rollout. */
export interface MadeStep {
  readonly domain?: Domain;
  /** The number of its trajectory, and of the chain in it, from 0. */
  readonly trajectory: number;
  readonly chain?: number;
  readonly step: number;
  readonly from?: number;
  /** Its rating from 1 to 5; undefined if the model gave nothing. */
  readonly rating: number | undefined;
  readonly offScript?: readonly string[];
  readonly repeat?: number;
  /** Whether it was asked with only its true history. */
  readonly isTrue?: boolean;
}

/** The row as score reads it. */
export function steppedRow(made: MadeStep): JudgedRow {
  const { domain = 'terminal', rating, repeat = 0, step, isTrue = false } = made;
  const { key, trajectory, rollout } = namesOf(made);
  const failure = { class: 'empty', reason: 'nothing' } as const;
  return {
    ...{ key, trajectory, repeat, index: 0, domain, turnIdx: step, flags: [] },
    failed: rating === undefined ? 1 : 0,
    total: rating ?? 0,
    ratings: Object.fromEntries(rating === undefined ? [] : DIMENSIONS.map((name) => [name, rating])),
    ...(rating === undefined ? { failure } : {}),
    ...(isTrue ? {} : { rollout }),
  };
}

/** The same as a line of a judged file. */
export function steppedLine(made: MadeStep): string {
  const { domain = 'terminal', rating, repeat = 0, step, isTrue = false } = made;
  const { key, trajectory, rollout } = namesOf(made);
  const judge = rating === undefined ? { status: 'failed', class: 'empty', reason: 'nothing' } : { status: 'ok' };
  return JSON.stringify({
    ...{ task: domain, id: trajectory, turn_idx: step },
    ...Object.fromEntries([...DIMENSIONS, 'total_score'].map((name) => [name, rating ?? 0])),
    failed: rating === undefined ? 1 : 0,
    awb: { key, trajectory, repeat, flags: [], ...(isTrue ? {} : { rollout: rolloutMember(rollout) }), judge },
  });
}

function namesOf({ domain = 'terminal', trajectory: number, chain = 0, step, from = 0, offScript = [] }: MadeStep) {
  const trajectory = `${domain}-t${number}`;
  const own = chain === 0 ? trajectory : `${trajectory}~${chain}`;
  const rollout = { chain: own, from, step, distance: step - from, offScript };
  return { key: `${own}-s${step}`, trajectory, rollout };
}
