// What the server says of itself: the schemas of actions, observations and state, its metadata, and the list of its paths.

import type { JsonObject } from '../json.js';
import type { Simulator } from '../simulator.js';

const text = (description: string) => ({ type: 'string', description });

const ACTION: JsonObject = {
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

const OBSERVATION: JsonObject = {
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

const STATE: JsonObject = {
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
export const SCHEMAS: JsonObject = { action: ACTION, observation: OBSERVATION, state: STATE };

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
export function openApi(paths: readonly (readonly [path: string, method: string])[]): JsonObject {
  const answers = { responses: { 200: { description: 'OK' } } };
  return {
    openapi: '3.1.0',
    info: { title: 'agentworldbench', version: '1.0.0' },
    paths: Object.fromEntries(paths.map(([path, method]) => [path, { [method.toLowerCase()]: answers }])),
  };
}
