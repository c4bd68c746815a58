// The state that GUI domains repeat in every prompt: found, told from anything else, and replaced by what a world model said.

import { withoutMarker } from '../reply.js';
import { actionHeadingAt } from '../turn.js';
import type { Sample } from '../types.js';
import { bareAction } from './chain.js';
import { stateHeadingIn } from './turn-prompt.js';

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
