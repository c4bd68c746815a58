// The options of awb simulate: where a simulation starts and the world model that is asked; with an agent, who acts and how long episodes are;
// and with agents elsewhere, where an environment listens, what it speaks, and its caps.

import { isIPv6 } from 'node:net';
import { UserError } from '../core/errors.js';
import { INFER_OPTIONS } from '../infer/options.js';
import { ASKING_OPTIONS } from '../run/options.js';
import { httpUrl } from '../settings/address.js';
import { type OptionTable, type Settings, under } from '../settings/command.js';

const {
  'data-dir': dataDir,
  'model-base-url': modelBaseUrl,
  'model-name': modelName,
  'model-api-key': modelApiKey,
  'system-prompt': systemPrompt,
  'domain-prompts': domainPrompts,
  fresh,
  label,
  meta,
} = INFER_OPTIONS;
const {
  'fit-max-tokens': _fit,
  'keep-going': _keepGoing,
  tokenizer: _tokenizer,
  'dry-run': _dryRun,
  'estimate-from': _estimateFrom,
  rate: _rate,
  events: _events,
  ...asking
} = ASKING_OPTIONS;

export const SIMULATION_OPTIONS = {
  ...under('World', {
    domain: { kind: 'text', value: 'NAME', short: 'd', help: 'start an empty world of this domain, such as terminal' },
    task: { kind: 'text', value: 'TEXT', help: 'what is to be done there; told to the world model' },
    state: {
      kind: 'text',
      value: 'FILE|TEXT',
      help: 'what is there before the first action: a file of it, or the text itself',
    },
    from: {
      kind: 'text',
      value: 'ROW',
      help: 'start where this row of --data-dir stands, its earlier turns true: a key, DOMAIN:ID:TURN, or an id',
    },
    'list-rows': { kind: 'boolean', help: 'list the rows that --from can name, and exit' },
    'data-dir': dataDir,
  }),
  'model-base-url': { ...modelBaseUrl, help: 'OpenAI-compatible endpoint; several share the worlds' },
  'model-name': modelName,
  'model-api-key': modelApiKey,
  'system-prompt': {
    ...systemPrompt,
    help: "row: the row's own, and bundled without a row; bundled: its domain's; bundled+row: both; or a FILE",
  },
  'domain-prompts': domainPrompts,
  context: {
    kind: 'integer',
    min: 1,
    group: 'Model',
    help: 'tokens that the model takes, prompt and reply, where its server does not tell',
  },
  ...asking,
  'budget-usd': { ...asking['budget-usd'], help: 'ask nothing more once X US dollars are spent (exit 75)' },
  'budget-tokens': { ...asking['budget-tokens'], help: 'ask nothing more once N tokens are spent, prompt and output' },
} as const satisfies OptionTable;

export type SimulationSettings = Settings<typeof SIMULATION_OPTIONS>;

// The options of awb simulate with an agent: who acts, where episodes start, and how long they are.

export const MOST_EPISODES = 10_000;
const MOST_STEPS = 1_000;
/** Tries of one turn; seeds of turns lie further apart than that. */
const MOST_TRIES = 9;

export const EPISODE_OPTIONS = {
  ...under('Agent', {
    'agent-base-url': {
      kind: 'list',
      value: 'URL',
      check: httpUrl,
      help: 'OpenAI-compatible endpoint of an agent model, which then acts in the world',
    },
    'agent-model': { kind: 'text', value: 'NAME', help: 'agent to ask for' },
    'agent-api-key': { kind: 'text', value: 'KEY', secret: true, help: 'key, sent as bearer token' },
    'agent-max-tokens': { kind: 'integer', min: 1, default: 8192, help: 'output budget of an action' },
    'agent-temperature': {
      kind: 'number',
      min: 0,
      words: ['default'],
      default: 'default',
      help: 'its sampling temperature; the word default sends none',
    },
    'agent-extra-body': { kind: 'json', value: 'JSON', help: "merged into the body of the agent's requests" },
    'agent-tries': {
      kind: 'integer',
      min: 1,
      max: MOST_TRIES,
      default: 3,
      help: 'tries in all for an action that can be read, and for an observation',
    },
    episodes: {
      kind: 'integer',
      min: 1,
      max: MOST_EPISODES,
      help: 'episodes to play, over the tasks or rows in turn (default: one, or one for each task)',
    },
    steps: { kind: 'integer', min: 1, max: MOST_STEPS, default: 20, help: 'actions after which an episode ends' },
    'output-dir': { kind: 'text', value: 'DIR', default: './episodes', help: 'folder of the episodes' },
    fresh,
    label,
    meta,
  }),
  ...under('World', {
    tasks: { kind: 'text', value: 'FILE', help: 'with an agent: tasks for --domain, one a line' },
    'from-rows': {
      kind: 'boolean',
      help: 'with an agent: start where trajectories of --data-dir begin, those of --domain or all, in turn',
    },
  }),
  ...under('Cost', {
    'dry-run': {
      kind: 'boolean',
      help: 'with an agent: show what the episodes take at most; nothing is asked or written',
    },
  }),
} as const satisfies OptionTable;

export type EpisodeSettings = SimulationSettings & Settings<typeof EPISODE_OPTIONS>;

/** Whether an agent is to act, as far as the flags name one. */
export function namesAgent({
  agentBaseUrl,
  agentModel,
}: Pick<EpisodeSettings, 'agentBaseUrl' | 'agentModel'>): boolean {
  return agentBaseUrl.length > 0 || agentModel !== undefined;
}

// The options of an environment for agents elsewhere: where it listens, what it speaks, and its caps.

export const ENVIRONMENT_OPTIONS = under('Environment', {
  listen: {
    kind: 'text',
    value: 'HOST:PORT',
    check: placeForm,
    help: 'serve worlds by the OpenEnv protocol there, such as 127.0.0.1:7860; port 0 takes a free one',
  },
  mcp: {
    kind: 'boolean',
    help: 'serve the tool act by MCP: over standard input and output, or with --listen over HTTP at /mcp',
  },
  'listen-key': {
    kind: 'text',
    value: 'KEY',
    secret: true,
    help: 'key that agents have to send; needed on any address but loopback',
  },
  record: { kind: 'text', value: 'DIR', help: 'keep every episode there as a row of the benchmark, step by step' },
  sessions: { kind: 'integer', min: 1, max: 100_000, default: 256, help: 'most sessions at once' },
  'session-idle': { kind: 'duration', min: 1, default: 1800, help: 'end a session without requests for so long' },
  'message-kib': {
    kind: 'integer',
    min: 1,
    max: 1_048_576,
    default: 1024,
    help: 'largest message of an agent, in KiB',
  },
} as const satisfies OptionTable);

export type EnvironmentSettings = Settings<typeof ENVIRONMENT_OPTIONS>;

/** Whether agents elsewhere are to be served. @throws UserError (2) for a flag that says something of that where they are not */
export function servesAgents({
  listen,
  mcp,
  listenKey,
  record,
}: Pick<EnvironmentSettings, 'listen' | 'mcp' | 'listenKey' | 'record'>): boolean {
  if (listenKey !== undefined && listen === undefined) throw new UserError('--listen-key belongs to --listen; add it');
  if (listen !== undefined || mcp) return true;
  if (record !== undefined) throw new UserError('--record belongs to --listen or --mcp; add one');
  return false;
}

/** The host and port of `HOST:PORT`; a host that holds colons stands in brackets. Undefined for another form. */
export function placeOf(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]\s/]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535 || (bracketed !== undefined && !isIPv6(bracketed))) return undefined;
  return { host, port };
}

function placeForm(text: string): string | undefined {
  return placeOf(text) === undefined ? 'HOST:PORT, such as 127.0.0.1:7860 or [::1]:7860' : undefined;
}
