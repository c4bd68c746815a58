// The prompt of one turn: its sections as the benchmark heads them, written and found again.

/** Headed as in the benchmark; a Phone State is what some Android rows call it. */
const STATES = ['Current State', 'Current Phone State'] as const;
const ACTION = 'Action';
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
    section(ACTION, fenced(action, language)),
  ];
  return `### Turn ${turn}\n${sections.join('\n\n')}`;
}

/** The sections in front of a first action. */
export function prefaceOf({ task = '', state = '' }: { readonly task?: string; readonly state?: string }): string {
  const sections = [
    ...(task === '' ? [] : [section(TASK, task)]),
    ...(state === '' ? [] : [section(STATES[0], state)]),
  ];
  return sections.join('\n\n');
}

/** What stands in a turn's prompt (without its request to predict): all in front of the action, the state there, and the action. */
export function readTurnPrompt(prompt: string): {
  readonly preface: string;
  readonly state?: ShownState;
  readonly action: string;
} {
  // The state may show any text, the heading of an action too: the last one is the prompt's own.
  const at = prompt.lastIndexOf(`**${ACTION}:**`);
  const head = at < 0 ? '' : prompt.slice(0, at);
  const preface = head.replace(/^\s*### Turn \d+[^\n]*\n/, '').trim();
  const action = unfenced(at < 0 ? prompt : prompt.slice(at + ACTION.length + 5));
  const state = stateIn(preface);
  return { preface, action, ...(state === undefined ? {} : { state }) };
}

/** The first heading counts, since what follows may be any text. */
function stateIn(preface: string): ShownState | undefined {
  const found = STATES.map((heading) => ({ heading, at: preface.search(new RegExp(`^\\*\\*${heading}:\\*\\*`, 'm')) }))
    .filter(({ at }) => at >= 0)
    .sort((a, b) => a.at - b.at)[0];
  if (found === undefined) return undefined;
  const { heading, at } = found;
  return { heading, text: preface.slice(at + heading.length + 5).trim() };
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
