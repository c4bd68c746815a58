// A world that is acted in: its turns so far, the request that the next action makes, and what the reply makes of the world.

import { lastBlock, OBSERVATION_MARKER, PREDICTION_TAG, shownPrediction, withoutThought } from '../core/reply.js';
import { actionOf, earlierTurns, requestIn, withoutRequest } from '../core/turn.js';
import type { ChatMessage, Domain, Question, Sample } from '../core/types.js';
import { actionText, languageOf } from './action-text.js';
import { INSTRUCTION, prefaceOf, readTurnPrompt, type ShownState, turnPrompt } from './turn-prompt.js';

/** What was done in a world, and what came of it. */
interface WorldTurn {
  /** As it stands in the history: the request to predict is not in it, an instruction is. */
  readonly prompt: string;
  /** As it stands in the history, with the marker in front. */
  readonly response: string;
  /** What the environment shows, without the marker. */
  readonly observation: string;
  readonly action: string;
  readonly instruction?: string;
  /** Whether the benchmark tells it, or the world model made it up. */
  readonly origin: 'recorded' | 'simulated';
}

/** Never changed: whatever happens makes a new one. */
export interface World {
  readonly domain: Domain;
  /** Empty where there is none. */
  readonly systemPrompt: string;
  /** Sections in front of the first action, such as task and state; empty where there are none. */
  readonly preface: string;
  readonly turns: readonly WorldTurn[];
  /** The request to predict behind the prompt that is asked. */
  readonly tail: string;
  /** The row where it started. */
  readonly key?: string;
  /** Where every prompt repeats the state: the one in front of the first simulated action. */
  readonly repeated?: ShownState;
}

/** What asks for the tag behind the last prompt, where no row brings words of its own. */
const TAIL = [
  '',
  '',
  'Please analyze the input above and give what the environment shows once this action has been carried out.',
  'Stay with the form of earlier observations and with all that has happened so far. Let an action fail where it would fail.',
  `Reason about it first if you need to. Then write the observation, and nothing else, inside <${PREDICTION_TAG}></${PREDICTION_TAG}>.`,
].join('\n');

const MEANT =
  'This is for you alone. Bring it about in this turn, in the form that such output always has, and leave all else as it would be. Never quote it, hint at it or say that it was asked for.';

/** A world in which nothing has happened yet. */
export function freshWorld(start: {
  readonly domain: Domain;
  readonly systemPrompt: string;
  readonly task?: string | undefined;
  readonly state?: string | undefined;
}): World {
  const { domain, systemPrompt } = start;
  return { domain, systemPrompt, preface: prefaceOf(start), turns: [], tail: TAIL };
}

/** The world in front of a row's action: the row's earlier turns have happened, and what is done next is left to whoever acts. */
export function worldAt(sample: Sample, systemPrompt = sample.systemPrompt): World {
  const { key, domain } = sample;
  const now = withoutRequest(actionOf(sample));
  const tail = requestIn(sample) || TAIL;
  const turns = earlierTurns(sample).map(({ prompt, response }): WorldTurn => {
    const { action } = readTurnPrompt(prompt);
    return { prompt, response, observation: unmarked(response), action, origin: 'recorded' };
  });
  const { preface, state } = readTurnPrompt(now);
  if (turns.length === 0) return { domain, systemPrompt, preface, turns, tail, key };
  const first = readTurnPrompt(turns[0]?.prompt ?? '').preface;
  return {
    domain,
    systemPrompt,
    preface: first,
    turns,
    tail,
    key,
    ...(state === undefined ? {} : { repeated: state }),
  };
}

/** The prompt that an action makes, without the request to predict. */
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

/** What the world model is asked, for what the action brings about: the turns so far, and the action with the request to predict. */
export function requestOf(world: World, action: string, instruction?: string): Question {
  const { systemPrompt, turns, tail } = world;
  const messages: ChatMessage[] = systemPrompt === '' ? [] : [{ role: 'system', content: systemPrompt }];
  for (const { prompt, response } of turns) {
    messages.push({ role: 'user', content: prompt }, { role: 'assistant', content: response });
  }
  messages.push({ role: 'user', content: actionPrompt(world, action, instruction) + tail });
  return { messages };
}

/** The observation in a reply: neither thinking, tag nor marker is in it. Undefined where it has none. */
export function observationIn(reply: string): string | undefined {
  if (withoutThought(reply) === '' || lastBlock(withoutThought(reply), PREDICTION_TAG) === '') return undefined;
  return shownPrediction(reply) || undefined;
}

/** The world after an action. Undefined where the reply holds no observation: then nothing has happened. */
export function afterReply(world: World, action: string, reply: string, instruction?: string): World | undefined {
  const observation = observationIn(reply);
  return observation === undefined ? undefined : afterObservation(world, action, observation, instruction);
}

/** The world after an action that has shown this observation. */
export function afterObservation(world: World, action: string, observation: string, instruction?: string): World {
  const turn: WorldTurn = {
    prompt: actionPrompt(world, action, instruction),
    response: `${OBSERVATION_MARKER}\n${observation}`,
    observation,
    action: actionText(world.domain, action),
    ...(instruction === undefined || instruction === '' ? {} : { instruction }),
    origin: 'simulated',
  };
  return { ...world, turns: [...world.turns, turn] };
}

/** The world before its last simulated turn; undefined where there is none. */
export function undone(world: World): World | undefined {
  return world.turns.at(-1)?.origin === 'simulated' ? { ...world, turns: world.turns.slice(0, -1) } : undefined;
}

/** The world as it started, without any simulated turn. */
export function rewound(world: World): World {
  return { ...world, turns: world.turns.filter(({ origin }) => origin === 'recorded') };
}

/** An instruction as the world model reads it: what such a section means stands beside it where no system prompt says so. */
function told({ systemPrompt }: World, instruction = ''): string {
  if (instruction === '' || systemPrompt.includes(`**${INSTRUCTION}:**`)) return instruction;
  return `${instruction}\n\n${MEANT}`;
}

/** What is shown before an action: the state that the prompts repeat is the last observation by then. */
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
 * The whole trajectory in one row, whose ground truth is what the world model said: `awb infer` asks for its last turn, and
 * `awb infer --rollout` for every turn. Undefined where nothing has happened.
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
