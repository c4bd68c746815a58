// A world to act in: its turns so far, the request for the next action, and how the reply changes the world.

import { isContainer, isObject, parseJson } from '../core/json.js';
import { lastBlock, OBSERVATION_MARKER, PREDICTION_TAG, shownPrediction, withoutThought } from '../core/reply.js';
import {
  ACTION_HEADING,
  actionHeadingAt,
  actionOf,
  earlierTurns,
  IN_JSON,
  languageOf,
  requestIn,
  withoutRequest,
} from '../core/turn.js';
import type { Domain, Question, Sample } from '../core/types.js';
import { chatOf } from './messages.js';

/** What was done in a world, and its result. */
interface WorldTurn {
  /** As it appears in the history: with an instruction, if any, but without the request to predict. */
  readonly prompt: string;
  /** As it appears in the history, preceded by the marker. */
  readonly response: string;
  /** What the environment shows, without the marker. */
  readonly observation: string;
  readonly action: string;
  readonly instruction?: string;
  /** Whether it comes from the benchmark or from the world model. */
  readonly origin: 'recorded' | 'simulated';
}

/** Immutable: every change makes a new one. */
export interface World {
  readonly domain: Domain;
  /** Empty if there is none. */
  readonly systemPrompt: string;
  /** Sections before the first action, such as task and state; empty if there are none. */
  readonly preface: string;
  readonly turns: readonly WorldTurn[];
  /** The request to predict after the prompt. */
  readonly tail: string;
  /** The row where it started. */
  readonly key?: string;
  /** If every prompt repeats the state: the one before the first simulated action. */
  readonly repeated?: ShownState;
}

/** Asks for the tag after the last prompt, if no row has its own words. */
const TAIL = [
  '',
  '',
  'Please analyze the input above and give what the environment shows once this action has been carried out.',
  'Stay with the form of earlier observations and with all that has happened so far. Let an action fail where it would fail.',
  `Reason about it first if you need to. Then write the observation, and nothing else, inside <${PREDICTION_TAG}></${PREDICTION_TAG}>.`,
].join('\n');

const MEANT =
  'This is for you alone. Bring it about in this turn, in the form that such output always has, and leave all else as it would be. Never quote it, hint at it or say that it was asked for.';

/** How a world begins; its system prompt says what the world model is, and which tools there are. */
export type FreshStart = Pick<World, 'domain' | 'systemPrompt'> & Scene;

/** A world in which nothing has happened yet. */
export function freshWorld(start: FreshStart): World {
  const { domain, systemPrompt } = start;
  return { domain, systemPrompt, preface: prefaceOf(start), turns: [], tail: TAIL };
}

/** The world before a row's action: the row's earlier turns have happened, and the actor decides what to do next. */
export function worldAt(sample: Sample, systemPrompt = sample.systemPrompt): World {
  const { key, domain } = sample;
  const now = withoutRequest(actionOf(sample));
  const tail = requestIn(sample) || TAIL;
  const turns = earlierTurns(sample).map(({ prompt, response }): WorldTurn => {
    const { action } = readTurnPrompt(prompt);
    return { prompt, response, observation: unmarked(response), action, origin: 'recorded' };
  });
  const { preface, state } = readTurnPrompt(now);
  const world = { domain, systemPrompt, preface, turns, tail, key };
  const [first] = turns;
  if (first === undefined) return world;
  return { ...world, preface: readTurnPrompt(first.prompt).preface, ...(state && { repeated: state }) };
}

/** The prompt for an action, without the request to predict. */
export function actionPrompt(world: World, action: string, instruction?: string): string {
  const { domain, turns, preface } = world;
  const text = actionText(domain, action);
  return turnPrompt({
    turn: turns.length + 1,
    preface: turns.length === 0 ? preface : '',
    state: stateNow(world),
    instruction: told(world, instruction),
    action: text,
    language: languageOf(domain, text),
  });
}

/** What the world model is asked about an action: the turns so far, and the action with the request to predict. */
export function requestOf(world: World, action: string, instruction?: string): Question {
  const { systemPrompt, turns, tail } = world;
  return { messages: chatOf(systemPrompt, turns, actionPrompt(world, action, instruction) + tail) };
}

/** The observation in a reply, without thinking, tag and marker. Undefined if there is none. */
export function observationIn(reply: string): string | undefined {
  const text = withoutThought(reply);
  return text === '' || lastBlock(text, PREDICTION_TAG) === '' ? undefined : shownPrediction(reply) || undefined;
}

/** The world after an action. Undefined if the reply contains no observation: then nothing has happened. */
export function afterReply(world: World, action: string, reply: string, instruction?: string): World | undefined {
  const observation = observationIn(reply);
  return observation === undefined ? undefined : afterObservation(world, action, observation, instruction);
}

/** The world after an action with this observation. */
export function afterObservation(world: World, action: string, observation: string, instruction?: string): World {
  const turn: WorldTurn = {
    prompt: actionPrompt(world, action, instruction),
    response: `${OBSERVATION_MARKER}\n${observation}`,
    observation,
    action: actionText(world.domain, action),
    ...(instruction && { instruction }),
    origin: 'simulated',
  };
  return { ...world, turns: [...world.turns, turn] };
}

/** The world before its last simulated turn; undefined if there is none. */
export function undone(world: World): World | undefined {
  return world.turns.at(-1)?.origin === 'simulated' ? { ...world, turns: world.turns.slice(0, -1) } : undefined;
}

/** The world as it started, without any simulated turn. */
export function rewound(world: World): World {
  return { ...world, turns: world.turns.filter(({ origin }) => origin === 'recorded') };
}

/** An instruction as the world model reads it: followed by what such a section means, unless the system prompt says so. */
function told({ systemPrompt }: World, instruction = ''): string {
  if (instruction === '' || systemPrompt.includes(`**${INSTRUCTION}:**`)) return instruction;
  return `${instruction}\n\n${MEANT}`;
}

/** The state to show before an action: if the prompts repeat a state, it is the last observation by then. */
function stateNow({ repeated, turns }: World): ShownState | undefined {
  if (repeated === undefined) return undefined;
  const last = turns.at(-1);
  return last?.origin === 'simulated' ? { ...repeated, text: last.observation } : repeated;
}

function unmarked(response: string): string {
  if (!response.startsWith(OBSERVATION_MARKER)) return response;
  return response.slice(OBSERVATION_MARKER.length).replace(/^\n/, '');
}

/**
 * The complete trajectory in one row, with the world model's answers as its ground truth: `awb infer` asks for its last turn, and `awb
 * infer --rollout` for every turn. Undefined if nothing has happened.
 * @param id of the trajectory
 */
export function trajectoryRow(world: World, id: string | number): Record<string, unknown> | undefined {
  const { domain, turns, tail, systemPrompt } = world;
  const last = turns.at(-1);
  if (last === undefined) return undefined;
  return {
    task: `simulated/${domain}`,
    id,
    prompt: [...turns.slice(0, -1).map(({ prompt }) => prompt), last.prompt + tail],
    response: turns.map(({ response }) => response),
    current_prompt: last.prompt,
    system_str: systemPrompt,
    turn_idx: turns.length,
    total_turns: turns.length,
  };
}

// The prompt of one turn: its sections under the benchmark's headings, written and parsed.

const STATE = 'Current State';
/** The benchmark's heading; some Android rows call it Phone State. */
const STATE_HEADING = /^\*\*(Current (?:Phone )?State):\*\*[ \t]*(?:\r?\n|(?![\s\S]))/m;
const HEADED = 'State:**';
/** No row of the benchmark has this section: it comes from the user or the scenario that steers the world. */
const INSTRUCTION = 'Simulation Instruction';

/** The state before an action. */
interface ShownState {
  readonly heading: string;
  readonly text: string;
}

/** The prompt of a turn: its sections, if present, under the benchmark's headings, and the action in its fence. */
export function turnPrompt(parts: {
  /** 1-based. */
  readonly turn: number;
  /** Verbatim sections, such as task and state. */
  readonly preface?: string;
  readonly state?: ShownState | undefined;
  /** What the world should do in this turn, seen only by the world model. */
  readonly instruction?: string | undefined;
  readonly action: string;
  /** Of the action's fence. */
  readonly language: string;
}): string {
  const { turn, preface, state, instruction, action, language } = parts;
  return `### Turn ${turn}\n${joined(
    preface,
    state && section(state.heading, state.text),
    instruction && section(INSTRUCTION, instruction),
    `${ACTION_HEADING}\n${fenced(action, language)}`,
  )}`;
}

/** What precedes a first action. */
interface Scene {
  readonly task?: string | undefined;
  readonly state?: string | undefined;
}

/** The sections before a first action. */
export function prefaceOf({ task, state }: Scene): string {
  return joined(task && section('Task Instruction', task), state && section(STATE, state));
}

function joined(...sections: readonly (string | undefined)[]): string {
  return sections.filter(Boolean).join('\n\n');
}

/** The parts of a turn's prompt (without its request to predict): everything before the action, the state in it, and the action. */
export function readTurnPrompt(prompt: string) {
  const at = actionHeadingAt(prompt);
  const preface = prompt
    .slice(0, Math.max(0, at))
    .replace(/^\s*### Turn \d+[^\n]*\n/, '')
    .trim();
  const action = unfenced(at < 0 ? prompt : prompt.slice(at + ACTION_HEADING.length));
  const found = stateHeadingIn(preface);
  const state = found && { heading: found.heading, text: preface.slice(found.end).trim() };
  return { preface, action, ...(state && { state }) };
}

/** The heading of a state in the text before an action, and where the heading ends. The first one counts, since any text may follow it. */
export function stateHeadingIn(front: string): { readonly heading: string; readonly end: number } | undefined {
  // Most prompts have none, which this finds out quickly.
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

// An action as typed -> its form in a prompt: each domain has a form, and a short way to write it.

/** Actions of these domains are always tool calls. */
const CALLED: readonly Domain[] = ['mcp', 'search', 'swe'];
/** Seconds to wait after typed keys. */
const PAUSE_S = 0.5;

/**
 * The action in its domain's form: JSON on one line is spread over lines, and a bare line becomes keystrokes in a terminal and a call
 * of `bash` in SWE. Anything else is unchanged.
 */
export function actionText(domain: Domain, typed: string): string {
  const text = typed.trim();
  if (!IN_JSON.includes(domain)) return text;
  const value = parseJson(text);
  if (domain === 'terminal' && !isKeystrokes(value)) {
    return shown([{ keystrokes: `${typed.replace(/\n+$/, '')}\n`, duration: PAUSE_S }]);
  }
  // A number that would be serialised differently is kept: 8.0, or one that JavaScript rounds.
  if (isContainer(value)) return !text.includes('\n') && squeezed(text) === JSON.stringify(value) ? shown(value) : text;
  return domain === 'swe' && !/^[[{]/.test(text) ? shown({ name: 'bash', arguments: { command: text } }) : text;
}

/** Why a typed action is in none of its domain's forms, with the remedy; undefined if it is in one. */
export function actionFlaw(domain: Domain, typed: string): string | undefined {
  if (!CALLED.includes(domain) || isContainer(parseJson(actionText(domain, typed)))) return undefined;
  return `an action of the domain ${domain} is JSON, {"name": "TOOL", "arguments": {...}}`;
}

/** JSON without the white space between its tokens. */
function squeezed(json: string): string {
  return json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
}

/** One terminal action, or a list of them. */
function isKeystrokes(value: unknown): boolean {
  const items = Array.isArray(value) ? value : [value];
  return items.length > 0 && items.every((item) => isObject(item) && 'keystrokes' in item);
}

function shown(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
