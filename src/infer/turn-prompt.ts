// The prompt of one turn: its sections as the benchmark heads them, written and found again.

import { ACTION_HEADING, actionHeadingAt } from '../core/turn.js';

const STATE = 'Current State';
/** Headed as in the benchmark; a Phone State is what some Android rows call it. */
const STATE_HEADING = /^\*\*(Current (?:Phone )?State):\*\*[ \t]*(?:\r?\n|(?![\s\S]))/m;
const HEADED = 'State:**';
const TASK = 'Task Instruction';
/** No row of the benchmark has this one: it comes from whoever steers the world. */
export const INSTRUCTION = 'Simulation Instruction';

/** The state that stands in front of an action. */
export interface ShownState {
  readonly heading: string;
  readonly text: string;
}

/** What a turn's prompt is made of, in the order in which it stands there. */
interface PromptParts {
  /** 1-based. */
  readonly turn: number;
  /** Sections as they are, such as task and state; empty where there are none. */
  readonly preface?: string;
  readonly state?: ShownState | undefined;
  /** What the world is to do in this turn, said to the world model alone. */
  readonly instruction?: string | undefined;
  readonly action: string;
  /** Of the action's fence. */
  readonly language: string;
}

export function turnPrompt({ turn, preface = '', state, instruction = '', action, language }: PromptParts): string {
  const sections = [
    ...(preface === '' ? [] : [preface]),
    ...(state === undefined ? [] : [section(state.heading, state.text)]),
    ...(instruction === '' ? [] : [section(INSTRUCTION, instruction)]),
    `${ACTION_HEADING}\n${fenced(action, language)}`,
  ];
  return `### Turn ${turn}\n${sections.join('\n\n')}`;
}

/** The sections in front of a first action. */
export function prefaceOf({
  task = '',
  state = '',
}: {
  readonly task?: string | undefined;
  readonly state?: string | undefined;
}): string {
  const sections = [...(task === '' ? [] : [section(TASK, task)]), ...(state === '' ? [] : [section(STATE, state)])];
  return sections.join('\n\n');
}

/** What stands in a turn's prompt (without its request to predict): all in front of the action, the state there, and the action. */
export function readTurnPrompt(prompt: string): {
  readonly preface: string;
  readonly state?: ShownState;
  readonly action: string;
} {
  const at = actionHeadingAt(prompt);
  const head = at < 0 ? '' : prompt.slice(0, at);
  const preface = head.replace(/^\s*### Turn \d+[^\n]*\n/, '').trim();
  const action = unfenced(at < 0 ? prompt : prompt.slice(at + ACTION_HEADING.length));
  const state = stateIn(preface);
  return { preface, action, ...(state === undefined ? {} : { state }) };
}

function stateIn(preface: string): ShownState | undefined {
  const found = stateHeadingIn(preface);
  return found === undefined ? undefined : { heading: found.heading, text: preface.slice(found.end).trim() };
}

/** The heading of a state in what stands in front of an action, and where it ends. The first one counts, since what follows may be any text. */
export function stateHeadingIn(front: string): { readonly heading: string; readonly end: number } | undefined {
  // Most prompts have none, which is told in no time.
  const found = front.includes(HEADED) ? STATE_HEADING.exec(front) : null;
  return found === null ? undefined : { heading: found[1] ?? STATE, end: found.index + found[0].length };
}

function section(heading: string, text: string): string {
  return `**${heading}:**\n${text}`;
}

/** In a fence that is longer than any in the text. */
function fenced(text: string, language: string): string {
  const longest = Math.max(2, ...Array.from(text.matchAll(/`{3,}/g), ([run]) => run.length));
  const fence = '`'.repeat(longest + 1);
  return `${fence}${language}\n${text}\n${fence}`;
}

function unfenced(text: string): string {
  const bare = text.trim();
  const inside = /^(`{3,})[^\n`]*\n([\s\S]*?)\n?\1\s*$/.exec(bare);
  return inside?.[2] ?? bare;
}
