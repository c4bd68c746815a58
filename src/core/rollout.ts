// Where in a rollout a prediction stands: what infer writes of it, and judging, scores and tables read.

import { isInteger, isObject } from './json.js';

/** A step of a rollout. */
export interface RolloutStep {
  /** The chain that it belongs to: the trajectory's key, and `~N` behind it for the Nth further chain of the trajectory, from 1. */
  readonly chain: string;
  /** True turns in front of the rollout. */
  readonly from: number;
  /** The turn that was predicted, 1-based. */
  readonly step: number;
  /** Turns since the last true observation: 1 where all of the history was true, as in a run without rollout. */
  readonly distance: number;
  /** What the recorded action refers to and the rollout never showed, such as a path; empty where there is nothing. */
  readonly offScript: readonly string[];
}

/** The key of a turn between rows, which is of no row. */
export function turnKey(chain: string, turn: number): string {
  return `${chain}@${turn}`;
}

/** The chain that the record of a turn between rows is of; undefined of a row's. */
export function chainOf(id: string): string | undefined {
  return /^(?<chain>.+)@\d+#\d+$/.exec(id)?.groups?.chain;
}

/** What a run's identity says of its rollout, in words such as `rollout from 3`; undefined where it says nothing of one. */
export function rolloutName(identity: unknown): string | undefined {
  if (!isObject(identity)) return undefined;
  const { from, version } = identity;
  return `rollout from ${isInteger(from) ? from : 'unknown'}${version === 1 ? '' : ` (version ${version})`}`;
}

/** How the world model was asked: under which protocol, and in what rollout. */
export function askedName(protocol: string | undefined, rollout: string | undefined): string | undefined {
  const parts = [protocol, rollout].filter((part) => part !== undefined);
  return parts.length === 0 ? undefined : parts.join(', ');
}

/** The member `rollout` of a prediction's `awb` object. */
export function rolloutMember({ chain, from, step, distance, offScript }: RolloutStep): Record<string, unknown> {
  return { chain, from, step, distance, ...(offScript.length === 0 ? {} : { off_script: offScript }) };
}

/** The step that such a member tells; undefined where it tells none. */
export function rolloutStep(member: unknown): RolloutStep | undefined {
  if (!isObject(member)) return undefined;
  const { chain, from, step, distance, off_script: offScript = [] } = member;
  if (typeof chain !== 'string' || !isInteger(from) || !isInteger(step) || !isInteger(distance)) return undefined;
  if (from < 0 || distance < 1 || step !== from + distance || !Array.isArray(offScript)) return undefined;
  return { chain, from, step, distance, offScript: offScript.filter((text) => typeof text === 'string') };
}
