// The protocol with agents: their messages, read and checked key by key, and the server's self-description: the schemas of actions,
// observations and state, its metadata, and its paths.

import { z } from 'zod';
import type { JsonObject } from '../../core/json.js';
import { DOMAINS } from '../../core/types.js';
import { ApiError } from '../../serve/http/wire.js';

/** For a request that is itself invalid. */
export function invalid(message: string): ApiError {
  return new ApiError(422, message, 'VALIDATION_ERROR');
}

const LONGEST_ID = 255;

/** Null counts as absent. */
const TEXT = z.string().nullish();
const EPISODE_ID = z.string().min(1).max(LONGEST_ID).nullish();

/** Where a reset begins, and its episode's name, which an agent may leave to the server. */
const RESET = z
  .strictObject({
    domain: TEXT.describe(`A domain: ${DOMAINS.join(', ')}, or one that --domain-prompts knows.`),
    row: TEXT.describe(
      'The key or id of a row of the benchmark; the world starts where its last turn is to be predicted.',
    ),
    prompt: TEXT.describe('A system prompt for the world model.'),
    task: TEXT.describe('The task of the agent, as told to the world model.'),
    scenario: TEXT.describe('An instruction for the world model only, placed before each action of the episode.'),
    seed: z.int().min(0).nullish().describe('Makes the world model sample reproducibly, if it can.'),
    episode_id: EPISODE_ID,
  })
  .transform(({ episode_id, ...given }) => {
    const start: { [Name in keyof typeof given]?: NonNullable<(typeof given)[Name]> } = {};
    return {
      start: Object.assign(start, Object.fromEntries(Object.entries(given).filter(([, value]) => value != null))),
      episodeId: episode_id ?? undefined,
    };
  });
/** How a world begins: with a domain, a row of the benchmark, or its own prompt. */
export type WorldStart = Readonly<z.output<typeof RESET>['start']>;

const ACTION_FORM = 'has to be a text that is not empty, or an object or list as JSON';
/** A text, or an object or list if the domain's actions are JSON. */
const ACTION_TEXT = z
  .union([z.string().regex(/\S/, ACTION_FORM), z.record(z.string(), z.unknown()), z.array(z.unknown())], ACTION_FORM)
  .transform((action) => (typeof action === 'string' ? action : JSON.stringify(action)))
  .describe(
    "The action in the domain's own form, as text, or as the JSON that its actions are: a line or [{keystrokes, duration}] (terminal), {name, arguments} (mcp, search, swe), an action object (android), click(bid='…') (web), Python (os)",
  );
const ACTION = z
  .strictObject({ action: ACTION_TEXT, metadata: z.unknown().optional() })
  .transform(({ action }) => action);
/** A step as sent over HTTP, with the longest wait for the observation in seconds. Further keys are ignored, as the protocol allows them. */
const STEP = z
  .object({ action: ACTION, timeout_s: z.number().positive().nullish(), episode_id: EPISODE_ID })
  .transform(({ action, timeout_s: timeoutS, episode_id: episodeId }) => ({
    action,
    timeoutS: timeoutS ?? undefined,
    episodeId: episodeId ?? undefined,
  }));
/** Arguments of MCP's one tool. */
const ACT = z
  .strictObject({
    action: ACTION_TEXT.optional(),
    reset: RESET.optional().describe('Starts a new episode; {} starts the default one.'),
  })
  .refine(({ action, reset }) => action !== undefined || reset !== undefined, 'act needs an action, or reset');

const LONGEST_REASON = 300;

/** @throws ApiError (422) for the first fault; an unknown key comes before all others */
export function read<T>(schema: z.ZodType<T>, value: unknown): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const { path = [], message = '' } =
    error.issues.find(({ code }) => code === 'unrecognized_keys') ?? error.issues[0] ?? {};
  throw invalid(`${path.length === 0 ? '' : `"${path.join('.')}": `}${message}`.slice(0, LONGEST_REASON));
}

/** Readers of agents' messages: a reset, a step over HTTP, an action, and a call of MCP's tool. @throws ApiError (422) */
export const readReset = (body: unknown) => read(RESET, body ?? {});
export const readStep = (body: unknown) => read(STEP, body);
export const readAction = (value: unknown) => read(ACTION, value);
export const readAct = (value: unknown) => read(ACT, value);

const DONE_REASON = z.enum(['step-limit', 'context-full']).optional().describe('Why it is over; absent until then.');
const TURN = z.int().min(0).describe('Actions taken so far in this episode.');

const OBSERVATION = z.object({
  text: z.string().describe('What the environment shows. After a reset: the task and the state, if there are any.'),
  turn: TURN,
  domain: z.string(),
  history: z
    .array(z.object({ action: z.string(), observation: z.string() }))
    .optional()
    .describe('After a reset into the middle of a trajectory: its turns so far.'),
  metadata: z.object({ episode_id: z.string(), done_reason: DONE_REASON }),
});

const STATE = z.object({
  episode_id: z.string().nullable().describe('null before the first reset.'),
  step_count: TURN,
  domain: z.string().optional(),
  done: z.boolean().optional(),
  done_reason: DONE_REASON,
  steps_left: z.int().min(0).optional(),
});

/** The JSON schema of the input form. */
function jsonSchema(schema: z.ZodType, title: string) {
  const { $schema: _, ...members } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return { title, ...members };
}

/** For `GET /schema`. */
export const SCHEMAS = {
  action: jsonSchema(ACTION, 'Action'),
  observation: jsonSchema(OBSERVATION, 'Observation'),
  state: jsonSchema(STATE, 'State'),
};

/** For MCP's tool. */
export const ACT_SCHEMA = { ...jsonSchema(ACT, 'act'), type: 'object' as const };

/** For `GET /metadata`. */
export function metadataOf(model: string): JsonObject {
  return {
    name: 'agentworldbench',
    description: `Simulated worlds of the domains ${DOMAINS.join(', ')}: the world model "${model}" answers every action with an observation. There is no reward.`,
    readme_content: null,
    version: '1.0.0',
    author: null,
    documentation_url: 'https://github.com/agentworldbench/agentworldbench/blob/main/docs/simulate.md',
  };
}

/** For `GET /openapi.json`, from which OpenEnv's tools learn what a server supports. @param routes `METHOD /path` */
export function openApi(routes: readonly string[]): JsonObject {
  const answers = { responses: { 200: { description: 'OK' } } };
  const paths: Record<string, JsonObject> = {};
  for (const [method = '', path = ''] of routes.map((route) => route.split(' '))) {
    paths[path] = { ...paths[path], [method.toLowerCase()]: answers };
  }
  return { openapi: '3.1.0', info: { title: 'agentworldbench', version: '1.0.0' }, paths };
}
