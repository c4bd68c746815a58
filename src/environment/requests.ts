// What agents send: a reset and a step, read and checked member by member.

import { isInteger, isObject, type JsonObject } from '../json.js';
import type { WorldStart } from '../simulator.js';
import { invalid } from './refusals.js';

const LONGEST_ID = 255;
const TEXTS = ['domain', 'row', 'prompt', 'task', 'scenario'] as const;
const RESET_MEMBERS: readonly string[] = [...TEXTS, 'seed', 'episode_id'];

interface Reset {
  readonly start: WorldStart;
  /** Undefined where the agent leaves the name to the server. */
  readonly episodeId: string | undefined;
}

/** @throws ApiError (422) for what is no reset; a member under another name would be missed silently, and is refused, too */
export function readReset(body: unknown): Reset {
  const reset = objectOf(body ?? {}, 'a reset');
  const unknown = Object.keys(reset).find((name) => !RESET_MEMBERS.includes(name));
  if (unknown !== undefined) {
    throw invalid(`a reset has no "${unknown.slice(0, 100)}"; it may have ${RESET_MEMBERS.join(', ')}`, unknown);
  }
  const texts = TEXTS.flatMap((name) => {
    const text = textOf(reset, name);
    return text === undefined ? [] : [[name, text] as const];
  });
  const { seed } = reset;
  if (seed !== undefined && seed !== null && (!isInteger(seed) || seed < 0)) {
    throw invalid('"seed" has to be a whole number of at least 0', 'seed');
  }
  const start = { ...Object.fromEntries(texts), ...(isInteger(seed) && { seed }) };
  return { start, episodeId: readEpisodeId(reset) };
}

/** @throws ApiError (422) */
function readEpisodeId(body: JsonObject): string | undefined {
  const id = textOf(body, 'episode_id');
  if (id !== undefined && (id === '' || id.length > LONGEST_ID)) {
    throw invalid(`"episode_id" has to have 1 to ${LONGEST_ID} characters`, 'episode_id');
  }
  return id;
}

interface Step {
  readonly action: string;
  readonly episodeId: string | undefined;
  /** The longest wait for the observation, in seconds. */
  readonly timeoutS: number | undefined;
}

/** A step as it is sent over HTTP; members that the protocol leaves open are let through. @throws ApiError (422) */
export function readStep(body: unknown): Step {
  const step = objectOf(body, 'a step');
  const { timeout_s: timeoutS } = step;
  if (timeoutS !== undefined && timeoutS !== null && !(typeof timeoutS === 'number' && timeoutS > 0)) {
    throw invalid('"timeout_s" has to be a number above 0', 'timeout_s');
  }
  return {
    action: readAction(step.action),
    episodeId: readEpisodeId(step),
    timeoutS: typeof timeoutS === 'number' ? timeoutS : undefined,
  };
}

/**
 * The text of an action: `{"action": TEXT}`, or in place of the text the object or list that the domain's actions are, such as
 * `{"action": {"name": …, "arguments": …}}`. @throws ApiError (422)
 */
export function readAction(value: unknown): string {
  const action = objectOf(value, 'an action');
  const unknown = Object.keys(action).find((name) => name !== 'action' && name !== 'metadata');
  if (unknown !== undefined) {
    throw invalid(`an action is {"action": …}, and has no "${unknown.slice(0, 100)}"`, unknown);
  }
  const { action: said } = action;
  if (typeof said === 'string' && said.trim() !== '') return said;
  if (isObject(said) || Array.isArray(said)) return JSON.stringify(said);
  throw invalid('"action" has to be a text that is not empty, or an object or list as JSON', 'action');
}

function objectOf(value: unknown, what: string): JsonObject {
  if (isObject(value)) return value;
  throw invalid(`${what} has to be a JSON object`);
}

/** Undefined for a member that is not there, or null. */
function textOf(body: JsonObject, name: string): string | undefined {
  const value = body[name] ?? undefined;
  if (value === undefined || typeof value === 'string') return value;
  throw invalid(`"${name}" has to be a text`, name);
}
