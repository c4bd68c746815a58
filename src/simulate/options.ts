// The options of awb simulate: the start of a simulation and the world model; with an agent, who acts and how long episodes are; for
// external agents, where an environment listens, its protocols, and its limits.

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
    task: option.text('TEXT', 'the task in this world; sent to the world model'),
    state: option.text('FILE|TEXT', 'initial state of the world: a file, or the text itself'),
    from: option.text(
      'ROW',
      'start at this row of --data-dir, after its true earlier turns: a key, DOMAIN:ID:TURN, or an id',
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
  context: option.integer("model's context in tokens, prompt and reply, if its server does not report it", {
    min: 1,
    group: 'Model',
  }),
  ...asking,
  'budget-usd': { ...asking['budget-usd'], help: 'ask nothing more once X US dollars are spent (exit 75)' },
  'budget-tokens': { ...asking['budget-tokens'], help: 'ask nothing more once N tokens are spent, prompt and output' },
} as const satisfies OptionTable;

export type SimulationSettings = Settings<typeof SIMULATION_OPTIONS>;

// Options with an agent: who acts, where episodes start, and how long they are.

export const MOST_EPISODES = 10_000;
/** Tries per turn; must stay below the distance between the seeds of turns. */
const MOST_TRIES = 9;

export const EPISODE_OPTIONS = {
  ...under('Agent', {
    'agent-base-url': option.list('URL', 'OpenAI-compatible endpoint of an agent model that acts in the world', {
      check: httpUrl,
    }),
    'agent-model': option.text('NAME', 'name of the agent model'),
    'agent-api-key': option.text('KEY', 'key, sent as bearer token', { secret: true }),
    'agent-max-tokens': option.integer('output budget of an action', { min: 1, default: 8192 }),
    'agent-temperature': option.number("agent's sampling temperature; default sends none", {
      min: 0,
      words: ['default'],
      default: 'default',
    }),
    'agent-extra-body': option.json("merged into the body of the agent's requests", { value: 'JSON' }),
    'agent-tries': option.integer('maximum tries for a readable action, and for an observation', {
      min: 1,
      max: MOST_TRIES,
      default: 3,
    }),
    episodes: option.integer('episodes to play, cycling through the tasks or rows (default: one, or one per task)', {
      min: 1,
      max: MOST_EPISODES,
      belongsTo: 'agent-model',
    }),
    steps: option.integer('actions after which an episode ends', { min: 1, max: 1_000, default: 20 }),
    'output-dir': option.text('DIR', 'folder for the episodes', { default: './episodes' }),
    fresh: INFER_OPTIONS.fresh,
    label: INFER_OPTIONS.label,
    meta: INFER_OPTIONS.meta,
  }),
  ...under('World', {
    tasks: option.text('FILE', 'with an agent: tasks for --domain, one per line', { belongsTo: 'agent-model' }),
  }),
  ...under('Cost', {
    'dry-run': option.flag('with an agent: show the most that the episodes can cost; nothing is asked or written', {
      belongsTo: 'agent-model',
    }),
  }),
} as const satisfies OptionTable;

export type EpisodeSettings = SimulationSettings & Settings<typeof EPISODE_OPTIONS>;

/** Whether the flags name an agent. */
export function namesAgent({ agentBaseUrl, agentModel }: Settings<typeof EPISODE_OPTIONS>): boolean {
  return agentBaseUrl.length > 0 || agentModel !== undefined;
}

// Options of an environment for external agents: where it listens, its protocols, and its limits.

export const ENVIRONMENT_OPTIONS = under('Environment', {
  listen: option.text(
    'HOST:PORT',
    'serve worlds over the OpenEnv protocol here, such as 127.0.0.1:7860; port 0 takes a free one',
    { check: (text) => (placeOf(text) === undefined ? 'HOST:PORT, such as 127.0.0.1:7860 or [::1]:7860' : undefined) },
  ),
  mcp: option.flag('serve the tool act over MCP: on standard input and output, or with --listen over HTTP at /mcp'),
  'listen-key': option.text('KEY', 'key that agents must send; required on any address but loopback', {
    secret: true,
    belongsTo: 'listen',
  }),
  record: option.text('DIR', 'save every episode here as a row of the benchmark, step by step'),
  sessions: option.integer('most sessions at once', { min: 1, max: 100_000, default: 256 }),
  'session-idle': option.duration('end a session after this long without requests', { min: 1, default: 1800 }),
  'message-kib': option.integer('largest message of an agent, in KiB', { min: 1, max: 1_048_576, default: 1024 }),
} as const satisfies OptionTable);

export type EnvironmentSettings = Settings<typeof ENVIRONMENT_OPTIONS>;

/** Whether to serve external agents. @throws UserError (2) for a flag that only applies then */
export function servesAgents({ listen, mcp, record }: Partial<EnvironmentSettings>): boolean {
  if (listen !== undefined || mcp === true) return true;
  if (record !== undefined) throw new UserError('--record belongs to --listen or --mcp; add one');
  return false;
}

/** The host and port of `HOST:PORT`; a host with colons is in brackets. Undefined for any other form. */
export function placeOf(text: string): { readonly host: string; readonly port: number } | undefined {
  const [, bracketed, plain, digits] = /^(?:\[([^\]]+)\]|([^:[\]\s/]+)):(\d{1,5})$/.exec(text) ?? [];
  const host = bracketed ?? plain;
  const port = Number(digits);
  if (host === undefined || port > 65_535 || (bracketed !== undefined && !isIPv6(bracketed))) return undefined;
  return { host, port };
}
