// What is spoken with agents: what they send, read and checked member by member; and what the server says of itself, the schemas of
// actions, observations and state, its metadata, and the list of its paths.

import { z } from 'zod';
import type { JsonObject } from '../../core/json.js';
import { DOMAINS } from '../../core/types.js';
import { ApiError } from '../../serve/http/wire.js';

/** The request itself is at fault. */
export function invalid(message: string): ApiError {
  return new ApiError(422, message, 'VALIDATION_ERROR');
}

const LONGEST_ID = 255;

/** Null stands for a member that is not there. */
const said = (name: string) => z.string(`"${name}" has to be a text`).nullish();
const ID_FORM = `"episode_id" has to have 1 to ${LONGEST_ID} characters`;
const EPISODE_ID = z.string('"episode_id" has to be a text').min(1, ID_FORM).max(LONGEST_ID, ID_FORM).nullish();
const SEED = '"seed" has to be a whole number of at least 0';
const TIMEOUT = '"timeout_s" has to be a number above 0';

const RESET_MEMBERS = {
  domain: said('domain').describe(`A domain: ${DOMAINS.join(', ')}, or one that --domain-prompts knows.`),
  row: said('row').describe(
    'The key or id of a row of the benchmark; the world stands where its last turn is to be predicted.',
  ),
  prompt: said('prompt').describe('A system prompt for the world model.'),
  task: said('task').describe('What the agent is to do, as the world model is told.'),
  scenario: said('scenario').describe(
    'An instruction to the world model alone, in front of each action of the episode.',
  ),
  seed: z.int(SEED).min(0, SEED).nullish().describe('Makes the world model sample reproducibly, where it can.'),
  episode_id: EPISODE_ID,
};
/** Where a reset begins, and the name of its episode, which an agent may leave to the server. */
const RESET = z
  .strictObject(
    RESET_MEMBERS,
    ofObject(
      'a reset',
      (unknown) => `a reset has no "${unknown}"; it may have ${Object.keys(RESET_MEMBERS).join(', ')}`,
    ),
  )
  .transform(({ episode_id, ...given }) => {
    const start: { [Name in keyof typeof given]?: NonNullable<(typeof given)[Name]> } = {};
    return {
      start: Object.assign(start, Object.fromEntries(Object.entries(given).filter(([, value]) => value != null))),
      episodeId: episode_id ?? undefined,
    };
  });
/** What a world begins with: a domain, a row of the benchmark, or a prompt of its own. */
export type WorldStart = Readonly<z.output<typeof RESET>['start']>;

const ACTION_FORM = '"action" has to be a text that is not empty, or an object or list as JSON';
/** A text, or the object or list that the domain's actions are. */
const ACTION_TEXT = z
  .union([z.string().regex(/\S/, ACTION_FORM), z.record(z.string(), z.unknown()), z.array(z.unknown())], ACTION_FORM)
  .transform((action) => (typeof action === 'string' ? action : JSON.stringify(action)))
  .describe(
    "The action in the domain's own form, as text, or as the JSON that its actions are: a line or [{keystrokes, duration}] (terminal), {name, arguments} (mcp, search, swe), an action object (android), click(bid='…') (web), Python (os)",
  );
const ACTION = z
  .strictObject(
    { action: ACTION_TEXT, metadata: z.unknown().optional() },
    ofObject('an action', (unknown) => `an action is {"action": …}, and has no "${unknown}"`),
  )
  .transform(({ action }) => action);
/** A step as it is sent over HTTP, with the longest wait for the observation in seconds. Members that the protocol leaves open are let through. */
const STEP = z
  .object(
    { action: ACTION, timeout_s: z.number(TIMEOUT).positive(TIMEOUT).nullish(), episode_id: EPISODE_ID },
    ofObject('a step'),
  )
  .transform(({ action, timeout_s: timeoutS, episode_id: episodeId }) => ({
    action,
    timeoutS: timeoutS ?? undefined,
    episodeId: episodeId ?? undefined,
  }));
/** The one tool of MCP. */
const ACT = z
  .strictObject(
    { action: ACTION_TEXT.optional(), reset: RESET.optional().describe('Begins another episode; {} the default one.') },
    ofObject('act', (unknown) => `act takes action and reset, not "${unknown}"`),
  )
  .refine(({ action, reset }) => action !== undefined || reset !== undefined, 'act needs an action, or reset');

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
export function read<T>(schema: z.ZodType<T>, value: unknown): T {
  const { success, data, error } = schema.safeParse(value);
  if (success) return data;
  const issue = error.issues.find(({ code }) => code === 'unrecognized_keys') ?? error.issues[0];
  throw invalid(issue?.message ?? '');
}

/** Readers of what agents send; of a reset, of a step over HTTP, of an action, and of a call of MCP's tool. @throws ApiError (422) */
export const readReset = (body: unknown) => read(RESET, body ?? {});
export const readStep = (body: unknown) => read(STEP, body);
export const readAction = (value: unknown) => read(ACTION, value);
export const readAct = (value: unknown) => read(ACT, value);

const DONE_REASON = z.enum(['step-limit', 'context-full']).optional().describe('Why it is over; absent before.');
const TURN = z.int().min(0).describe('Actions taken so far in this episode.');

const OBSERVATION = z.object({
  text: z
    .string()
    .describe('What the environment shows. After a reset: the task and the state, as far as there are any.'),
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

/** As it may be sent. */
function jsonSchema(schema: z.ZodType, title: string) {
  const { $schema: _, ...members } = z.toJSONSchema(schema, { io: 'input', unrepresentable: 'any' });
  return { title, ...members };
}

/** Of `GET /schema`. */
export const SCHEMAS = {
  action: jsonSchema(ACTION, 'Action'),
  observation: jsonSchema(OBSERVATION, 'Observation'),
  state: jsonSchema(STATE, 'State'),
};

/** Of MCP's tool. */
export const ACT_SCHEMA = { ...jsonSchema(ACT, 'act'), type: 'object' as const };

/** Of `GET /metadata`. */
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

/** Of `GET /openapi.json`, by which OpenEnv's tools see what a server speaks. @param routes `METHOD /path` */
export function openApi(routes: readonly string[]): JsonObject {
  const answers = { responses: { 200: { description: 'OK' } } };
  const paths: Record<string, JsonObject> = {};
  for (const [method = '', path = ''] of routes.map((route) => route.split(' '))) {
    paths[path] = { ...paths[path], [method.toLowerCase()]: answers };
  }
  return { openapi: '3.1.0', info: { title: 'agentworldbench', version: '1.0.0' }, paths };
}
