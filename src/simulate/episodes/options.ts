// The options of awb simulate with an agent: who acts, where episodes start, and how long they are.

import { INFER_OPTIONS } from '../../infer/options.js';
import { httpUrl } from '../../settings/address.js';
import { type OptionTable, type Settings, under } from '../../settings/options.js';
import type { SimulationSettings } from '../options.js';

const { fresh, label, meta } = INFER_OPTIONS;

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
