// What is spoken with agents: what they send, read and checked member by member; and what the server says of itself, the schemas of
// actions, observations and state, its metadata, and the list of its paths.

import { z } from 'zod';
import { isContainer, type JsonObject } from '../../core/json.js';
import { ApiError } from '../../serve/http/api-error.js';
import type { Simulator, WorldStart } from './simulator.js';

/** The request itself is at fault. */
export function invalid(message: string): ApiError {
  return new ApiError(422, message, 'VALIDATION_ERROR');
}

const LONGEST_ID = 255;

/** Null stands for a member that is not there. */
const said = (name: string) => z.string(`"${name}" has to be a text`).nullish();
const EPISODE_ID = said('episode_id').refine((id) => id == null || (id.length >= 1 && id.length <= LONGEST_ID), {
  error: `"episode_id" has to have 1 to ${LONGEST_ID} characters`,
});
const SEED = '"seed" has to be a whole number of at least 0';
const TIMEOUT = '"timeout_s" has to be a number above 0';

const RESET_MEMBERS = {
  domain: said('domain'),
  row: said('row'),
  prompt: said('prompt'),
  task: said('task'),
  scenario: said('scenario'),
  seed: z.int(SEED).min(0, SEED).nullish(),
  episode_id: EPISODE_ID,
};
const RESET = z.strictObject(
  RESET_MEMBERS,
  ofObject('a reset', (unknown) => `a reset has no "${unknown}"; it may have ${Object.keys(RESET_MEMBERS).join(', ')}`),
);

const ACTION_FORM = '"action" has to be a text that is not empty, or an object or list as JSON';
/** A text, or the object or list that the domain's actions are. */
const ACTION_TEXT = z
  .union([z.string().regex(/\S/, ACTION_FORM), z.custom<object>(isContainer)], ACTION_FORM)
  .transform((action) => (typeof action === 'string' ? action : JSON.stringify(action)));
const ACTION = z.strictObject(
  { action: ACTION_TEXT, metadata: z.unknown().optional() },
  ofObject('an action', (unknown) => `an action is {"action": …}, and has no "${unknown}"`),
);
/** Members that the protocol leaves open are let through. */
const STEP = z.object(
  { action: ACTION, timeout_s: z.number(TIMEOUT).positive(TIMEOUT).nullish(), episode_id: EPISODE_ID },
  ofObject('a step'),
);

/** What is said of a value that is no object, and of a member that it may not have: under another name one would be missed silently. */
function ofObject(what: string, ofUnknown: (name: string) => string = () => '') {
  return {
    error: (issue: z.core.$ZodRawIssue) =>
      issue.code === 'unrecognized_keys'
        ? ofUnknown(String(issue.keys[0]).slice(0, 100))
        : `${what} has to be a JSON object`,
  };
}

/** @throws ApiError (422) for the first thing that is wrong: a member that may not be there stands before the others */
function read<T>(schema: z.ZodType<T>, value: unknown): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const issue = error.issues.find(({ code }) => code === 'unrecognized_keys') ?? error.issues[0];
  throw invalid(issue?.message ?? '');
}

/** Where a reset begins, and the name of its episode, which an agent may leave to the server. @throws ApiError (422) */
export function readReset(body: unknown) {
  const { episode_id: episodeId, ...given } = read(RESET, body ?? {});
  const start: WorldStart = Object.fromEntries(Object.entries(given).filter(([, value]) => value != null));
  return { start, episodeId: episodeId ?? undefined };
}

/** A step as it is sent over HTTP, with the longest wait for the observation in seconds. @throws ApiError (422) */
export function readStep(body: unknown) {
  const { action, timeout_s: timeoutS, episode_id: episodeId } = read(STEP, body);
  return { action: action.action, episodeId: episodeId ?? undefined, timeoutS: timeoutS ?? undefined };
}

/**
 * The text of an action: `{"action": TEXT}`, or in place of the text the object or list that the domain's actions are, such as
 * `{"action": {"name": …, "arguments": …}}`. @throws ApiError (422)
 */
export function readAction(value: unknown): string {
  return read(ACTION, value).action;
}

const text = (description: string) => ({ type: 'string', description });

const ACTION_SCHEMA: JsonObject = {
  title: 'Action',
  type: 'object',
  additionalProperties: false,
  required: ['action'],
  properties: {
    action: {
      description:
        "The action in the domain's own form, as text, or as the JSON that its actions are: a line or [{keystrokes, duration}] (terminal), {name, arguments} (mcp, search, swe), an action object (android), click(bid='…') (web), Python (os)",
      anyOf: [{ type: 'string', minLength: 1 }, { type: 'object' }, { type: 'array' }],
    },
    metadata: { type: 'object', description: 'Not read.' },
  },
};

const OBSERVATION_SCHEMA: JsonObject = {
  title: 'Observation',
  type: 'object',
  required: ['text', 'turn', 'domain', 'metadata'],
  properties: {
    text: text('What the environment shows. After a reset: the task and the state, as far as there are any.'),
    turn: { type: 'integer', minimum: 0, description: 'Actions taken so far in this episode.' },
    domain: text('The domain of the world.'),
    history: {
      type: 'array',
      description: 'After a reset into the middle of a trajectory: its turns so far.',
      items: {
        type: 'object',
        properties: { action: text('As it was sent.'), observation: text('What came of it.') },
      },
    },
    metadata: {
      type: 'object',
      required: ['episode_id'],
      properties: {
        episode_id: text('The name of the episode.'),
        done_reason: { enum: ['step-limit', 'context-full'], description: 'Why the episode is over; absent before.' },
      },
    },
  },
};

const STATE_SCHEMA: JsonObject = {
  title: 'State',
  type: 'object',
  required: ['episode_id', 'step_count'],
  properties: {
    episode_id: { type: ['string', 'null'], description: 'null before the first reset.' },
    step_count: { type: 'integer', minimum: 0, description: 'Actions taken so far in this episode.' },
    domain: text('The domain of the world.'),
    done: { type: 'boolean', description: 'Whether the episode is over.' },
    done_reason: { enum: ['step-limit', 'context-full'] },
    steps_left: { type: 'integer', minimum: 0 },
  },
};

/** Of `GET /schema`. */
export const SCHEMAS: JsonObject = {
  action: ACTION_SCHEMA,
  observation: OBSERVATION_SCHEMA,
  state: STATE_SCHEMA,
};

/** What a reset may hold. */
export function resetProperties(domains: readonly string[]): JsonObject {
  return {
    domain: text(`A domain: ${domains.join(', ')}, or one that --domain-prompts knows.`),
    row: text('The key or id of a row of the benchmark; the world stands where its last turn is to be predicted.'),
    prompt: text('A system prompt for the world model.'),
    task: text('What the agent is to do, as the world model is told.'),
    scenario: text('An instruction to the world model alone, in front of each action of the episode.'),
    seed: { type: 'integer', minimum: 0, description: 'Makes the world model sample reproducibly, where it can.' },
  };
}

/** Of `GET /metadata`. */
export function metadataOf({ model, domains }: Simulator): JsonObject {
  return {
    name: 'agentworldbench',
    description: `Simulated worlds of the domains ${domains.join(', ')}: the world model "${model}" answers every action with an observation. There is no reward.`,
    readme_content: null,
    version: '1.0.0',
    author: null,
    documentation_url: 'https://github.com/agentworldbench/agentworldbench/blob/main/docs/simulate.md',
  };
}

/** Of `GET /openapi.json`, by which OpenEnv's tools see what a server speaks. */
export function openApi(paths: ReadonlyMap<string, readonly string[]>): JsonObject {
  const answers = { responses: { 200: { description: 'OK' } } };
  return {
    openapi: '3.1.0',
    info: { title: 'agentworldbench', version: '1.0.0' },
    paths: Object.fromEntries(
      Array.from(paths, ([path, [method = 'GET']]) => [path, { [method.toLowerCase()]: answers }]),
    ),
  };
}
