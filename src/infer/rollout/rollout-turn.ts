// A turn of a rollout as a sample: actions as recorded, and in front of them what the world model itself said, also in place of the state
// that GUI domains repeat in every prompt.

import { OBSERVATION_MARKER, withoutMarker } from '../../core/reply.js';
import { actionHeadingAt, requestIn } from '../../core/turn.js';
import type { Sample } from '../../core/types.js';
import { stateHeadingIn } from '../turn-prompt.js';
import { observationIn } from '../world.js';
import { bareAction } from './chain.js';

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

const ACTION = /^\*\*Action:\*\*/m;
/** So much of the state has to stand in the observation before it, by lines. */
const NEARLY_EQUAL = 0.6;
/** A shorter line stands in many a text, and gives nothing away. */
const SAYS_SOMETHING = 16;

/** The state in a turn's prompt, by its place there. */
interface StateBlock {
  readonly start: number;
  readonly end: number;
}

/** Where the state stands in a prompt: between its heading and the action. Undefined where there is no heading in front of the action. */
function stateIn(prompt: string): StateBlock | undefined {
  const heading = stateHeadingIn(besideAction(prompt));
  if (heading === undefined) return undefined;
  const start = heading.end;
  // The first one behind the heading: where the state shows one itself, the rest of it stands beside the block, and is found to leak.
  const action = prompt.slice(start).search(ACTION);
  const block = prompt.slice(start, action === -1 ? prompt.length : start + action);
  return { start, end: start + block.trimEnd().length };
}

/** The prompt with another state; as it is where it shows none. */
export function withState(prompt: string, state: string): string {
  const block = stateIn(prompt);
  return block === undefined ? prompt : prompt.slice(0, block.start) + state + prompt.slice(block.end);
}

/**
 * Whether a rollout could be given the truth away by its prompts: in some turn from `first` on the true observation before it shows, and
 * not, or not alone, as a state under its heading. What the action itself holds is as recorded, and no part of this.
 */
export function leaksBesideStates(sample: Sample, first: number): boolean {
  for (let turn = Math.max(2, first); turn <= sample.turnIdx; turn++) {
    const prompt = bareAction(sample, turn);
    const truth = withoutMarker(sample.responses[turn - 2] ?? '');
    const block = stateIn(prompt);
    if (block !== undefined && !isNearly(prompt.slice(block.start, block.end), truth)) return true;
    if (showsNewLineOf(truth, besideAction(withState(prompt, '')), sample)) return true;
  }
  return false;
}

/** By the lines of the state that stand in the observation. */
function isNearly(state: string, observation: string): boolean {
  const lines = linesOf(state);
  const known = new Set(linesOf(observation));
  if (lines.length === 0) return true;
  return lines.filter((line) => known.has(line)).length >= NEARLY_EQUAL * lines.length;
}

/** All in front of the action. */
function besideAction(prompt: string): string {
  const action = actionHeadingAt(prompt);
  return action === -1 ? prompt : prompt.slice(0, action);
}

/** Whether a part of a prompt shows a line of the observation that says something; what system prompt and first turn say is no news. */
function showsNewLineOf(truth: string, part: string, sample: Sample): boolean {
  const lines = linesOf(part).filter((line) => line.length >= SAYS_SOMETHING);
  if (lines.length === 0) return false;
  const known = new Set(linesOf(truth));
  const shown = lines.filter((line) => known.has(line));
  if (shown.length === 0) return false;
  const before = new Set([...linesOf(sample.systemPrompt), ...linesOf(bareAction(sample, 1))]);
  return shown.some((line) => !before.has(line));
}

function linesOf(text: string): string[] {
  return text.split('\n').flatMap((line) => (line.trim() === '' ? [] : [line.trim()]));
}
