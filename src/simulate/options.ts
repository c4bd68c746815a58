// The options of awb simulate: where a simulation starts and the world model that is asked; with an agent, who acts and how long episodes are;
// and with agents elsewhere, where an environment listens, what it speaks, and its caps.

import { isIPv6 } from 'node:net';
import { UserError } from '../core/errors.js';
import { INFER_OPTIONS, without } from '../infer/options.js';
import { ASKING_OPTIONS } from '../run/options.js';
import { httpUrl } from '../settings/address.js';
import { type OptionTable, option, type Settings, under } from '../settings/command.js';

const asking = without(
  ASKING_OPTIONS,
  ...(['fit-max-tokens', 'keep-going', 'tokenizer', 'dry-run', 'estimate-from', 'rate', 'events'] as const),
);

export const SIMULATION_OPTIONS = {
  ...under('World', {
    domain: option.text('NAME', 'start an empty world of this domain, such as terminal', { short: 'd' }),
    task: option.text('TEXT', 'what is to be done there; told to the world model'),
    state: option.text('FILE|TEXT', 'what is there before the first action: a file of it, or the text itself'),
    from: option.text(
      'ROW',
      'start where this row of --data-dir stands, its earlier turns true: a key, DOMAIN:ID:TURN, or an id',
    ),
    'data-dir': INFER_OPTIONS['data-dir'],
  }),
  'model-base-url': {
    ...INFER_OPTIONS['model-base-url'],
    help: 'OpenAI-compatible endpoint; several share the worlds',
  },
  'model-name': INFER_OPTIONS['model-name'],
  'model-api-key': INFER_OPTIONS['model-api-key'],
  'system-prompt': {
    ...INFER_OPTIONS['system-prompt'],
    help: "row: the row's own, and bundled without a row; bundled: its domain's; bundled+row: both; or a FILE",
  },
  'domain-prompts': INFER_OPTIONS['domain-prompts'],
  context: option.integer('tokens that the model takes, prompt and reply, where its server does not tell', {
    min: 1,
    group: 'Model',
  }),
  ...asking,
  'budget-usd': { ...asking['budget-usd'], help: 'ask nothing more once X US dollars are spent (exit 75)' },
  'budget-tokens': { ...asking['budget-tokens'], help: 'ask nothing more once N tokens are spent, prompt and output' },
} as const satisfies OptionTable;

export type SimulationSettings = Settings<typeof SIMULATION_OPTIONS>;

// The options of awb simulate with an agent: who acts, where episodes start, and how long they are.

export const MOST_EPISODES = 10_000;
/** Tries of one turn; seeds of turns lie further apart than that. */
const MOST_TRIES = 9;

export const EPISODE_OPTIONS = {
  ...under('Agent', {
    'agent-base-url': option.list('URL', 'OpenAI-compatible endpoint of an agent model, which then acts in the world', {
      check: httpUrl,
    }),
    'agent-model': option.text('NAME', 'agent to ask for'),
    'agent-api-key': option.text('KEY', 'key, sent as bearer token', { secret: true }),
    'agent-max-tokens': option.integer('output budget of an action', { min: 1, default: 8192 }),
    'agent-temperature': option.number('its sampling temperature; the word default sends none', {
      min: 0,
      words: ['default'],
      default: 'default',
    }),
    'agent-extra-body': option.json("merged into the body of the agent's requests", { value: 'JSON' }),
    'agent-tries': option.integer('tries in all for an action that can be read, and for an observation', {
      min: 1,
      max: MOST_TRIES,
      default: 3,
    }),
    episodes: option.integer('episodes to play, over the tasks or rows in turn (default: one, or one for each task)', {
      min: 1,
      max: MOST_EPISODES,
      belongsTo: 'agent-model',
    }),
    steps: option.integer('actions after which an episode ends', { min: 1, max: 1_000, default: 20 }),
    'output-dir': option.text('DIR', 'folder of the episodes', { default: './episodes' }),
    fresh: INFER_OPTIONS.fresh,
    label: INFER_OPTIONS.label,
    meta: INFER_OPTIONS.meta,
  }),
  ...under('World', {
    tasks: option.text('FILE', 'with an agent: tasks for --domain, one a line', { belongsTo: 'agent-model' }),
  }),
  ...under('Cost', {
    'dry-run': option.flag('with an agent: show what the episodes take at most; nothing is asked or written', {
      belongsTo: 'agent-model',
    }),
  }),
} as const satisfies OptionTable;

export type EpisodeSettings = SimulationSettings & Settings<typeof EPISODE_OPTIONS>;

/** Whether an agent is to act, as far as the flags name one. */
export function namesAgent({ agentBaseUrl, agentModel }: Settings<typeof EPISODE_OPTIONS>): boolean {
  return agentBaseUrl.length > 0 || agentModel !== undefined;
}

// The options of an environment for agents elsewhere: where it listens, what it speaks, and its caps.

export const ENVIRONMENT_OPTIONS = under('Environment', {
  listen: option.text(
    'HOST:PORT',
    'serve worlds by the OpenEnv protocol there, such as 127.0.0.1:7860; port 0 takes a free one',
    { check: (text) => (placeOf(text) === undefined ? 'HOST:PORT, such as 127.0.0.1:7860 or [::1]:7860' : undefined) },
  ),
  mcp: option.flag('serve the tool act by MCP: over standard input and output, or with --listen over HTTP at /mcp'),
  'listen-key': option.text('KEY', 'key that agents have to send; needed on any address but loopback', {
    secret: true,
    belongsTo: 'listen',
  }),
  record: option.text('DIR', 'keep every episode there as a row of the benchmark, step by step'),
  sessions: option.integer('most sessions at once', { min: 1, max: 100_000, default: 256 }),
  'session-idle': option.duration('end a session without requests for so long', { min: 1, default: 1800 }),
  'message-kib': option.integer('largest message of an agent, in KiB', { min: 1, max: 1_048_576, default: 1024 }),
} as const satisfies OptionTable);

export type EnvironmentSettings = Settings<typeof ENVIRONMENT_OPTIONS>;

/** Whether agents elsewhere are to be served. @throws UserError (2) for a flag that says something of that where they are not */
export function servesAgents({ listen, mcp, record }: Partial<EnvironmentSettings>): boolean {
  if (listen !== undefined || mcp === true) return true;
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
