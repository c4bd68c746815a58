// A turn of a rollout as a sample: actions as recorded, and in front of them what the world model itself said.

import { OBSERVATION_MARKER, withoutMarker } from '../reply.js';
import { requestIn } from '../turn.js';
import type { Sample } from '../types.js';
import { bareAction } from './chain.js';
import { withState } from './state-block.js';
import { observationIn } from './world.js';

/** Rises when the same replies make another history than before. */
export const ROLLOUT_VERSION = 1;

/** What a reply adds to the history: the marker and the prediction, no thinking and no tag. Nothing stands behind the marker where nothing was predicted. */
export function observationOf(gen: string): string {
  return `${OBSERVATION_MARKER}\n${observationIn(gen) ?? ''}`;
}

/** What was said of the turns so far: the first `from` of them are true. */
interface SimulatedHistory {
  readonly from: number;
  /** Of the turns behind these, in their order. */
  readonly observations: readonly string[];
}

/**
 * The turn behind the history as a sample to be asked for, with the driver's request to predict. It holds no true observation of a
 * turn behind `from`.
 */
export function simulatedTurn(driver: Sample, { from, observations }: SimulatedHistory): Sample {
  const turnIdx = from + observations.length + 1;
  const responses = [...driver.responses.slice(0, from), ...observations];
  const prompts = Array.from({ length: turnIdx }, (_, index) =>
    simulatedPrompt(driver, index + 1, from, responses[index - 1]),
  );
  const currentPrompt = prompts[turnIdx - 1] ?? '';
  return {
    key: driver.key,
    trajectory: driver.trajectory,
    domain: driver.domain,
    systemPrompt: driver.systemPrompt,
    turnIdx,
    prompts: [...prompts.slice(0, -1), currentPrompt + requestIn(driver)],
    responses,
    currentPrompt,
  };
}

/** The same behind what was recorded: a turn of the trajectory as it was. */
export function trueTurn(driver: Sample, turn: number): Sample {
  return simulatedTurn(driver, { from: turn - 1, observations: [] });
}

/**
 * The prompt of a turn as it stands in a rollout, without the request to predict. A state that it repeats is true up to the turn behind
 * the last true observation, and from then on what was predicted in its place.
 * @param before the observation of the turn before
 */
export function simulatedPrompt(driver: Sample, turn: number, from: number, before = ''): string {
  const prompt = bareAction(driver, turn);
  return turn <= from + 1 ? prompt : withState(prompt, withoutMarker(before));
}
