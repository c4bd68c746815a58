// The options of awb infer: the rows to take, the world model to ask, and how.

import { BASELINES } from '../benchmark/baselines.js';
import { ORDERS } from '../benchmark/selection.js';
import { keysOf } from '../core/keys.js';
import { MOST_REPEATS } from '../core/prediction.js';
import { DOMAINS } from '../core/types.js';
import type { BatchSettings } from '../run/batch/options.js';
import { ASKING_OPTIONS } from '../run/options.js';
import { SYSTEM_PROMPT_OPTIONS } from '../run/system-prompts.js';
import { httpUrl } from '../settings/address.js';
import { type OptionTable, type Settings, under } from '../settings/options.js';
import { shortLabel } from '../settings/value.js';
import { PROTOCOLS } from './messages.js';
import { shardForm } from './shard.js';

export const INFER_OPTIONS = {
  ...under('Data', {
    'data-dir': { kind: 'text', value: 'DIR', default: 'data', help: 'folder of *_test.jsonl files' },
    'output-dir': { kind: 'text', value: 'DIR', default: './results', help: "the run's folder" },
    domains: { kind: 'list', value: 'LIST', help: `only these of ${DOMAINS.join(', ')}, or your own` },
    limit: { kind: 'integer', min: 1, help: 'only the first N rows of each domain' },
    sample: { kind: 'integer', min: 1, help: 'N rows of each domain, the same for the same seed' },
    'sample-seed': { kind: 'integer', min: 0, default: 0, help: 'seed of --sample and --order random' },
    ids: { kind: 'list', value: 'LIST', help: 'only rows with these ids or keys' },
    shard: {
      kind: 'text',
      value: 'I/N',
      check: shardForm,
      help: 'part I of N, of whole trajectories; slurm/N and k8s/N take I from the array task or Job index',
    },
    'skip-invalid': { kind: 'boolean', help: 'leave unusable rows out, counted against coverage' },
    lean: { kind: 'boolean', help: 'leave the trajectory text out of predictions.jsonl' },
    fresh: { kind: 'boolean', help: 'start over; the old files are kept aside' },
    label: {
      kind: 'text',
      value: 'NAME',
      check: shortLabel,
      help: "the checkpoint's name in manifest, database and tables",
    },
    meta: { kind: 'map', value: 'K=V', help: 'further facts on the checkpoint, such as step=100' },
  }),
  ...under('Model', {
    'model-base-url': {
      kind: 'list',
      value: 'URL',
      check: httpUrl,
      help: 'OpenAI-compatible endpoint; several share the rows',
    },
    'model-name': { kind: 'text', value: 'NAME', help: 'model to ask for' },
    'model-api-key': { kind: 'text', value: 'KEY', secret: true, help: 'key, sent as bearer token' },
    baseline: {
      kind: 'choice',
      choices: keysOf(BASELINES),
      help: 'a world model that needs no model, for calibration',
    },
    protocol: {
      kind: 'choice',
      choices: keysOf(PROTOCOLS),
      default: 'history',
      help: 'message layout; history is the official one',
    },
  }),
  ...SYSTEM_PROMPT_OPTIONS,
  repeats: { kind: 'integer', min: 1, max: MOST_REPEATS, default: 1, group: 'Model', help: 'ask every row N times' },
  ...under('Simulation', {
    rollout: {
      kind: 'boolean',
      help: "ask every turn of a trajectory in order, behind the model's own earlier predictions",
    },
    'rollout-from': {
      kind: 'integer',
      min: 0,
      help: 'under --rollout, give the first N turns as they were (default: 0)',
    },
  }),
  order: {
    kind: 'choice',
    choices: keysOf(ORDERS),
    default: 'prefix',
    group: 'Speed',
    help: 'prefix: turns of a trajectory together, so that prefix caches hit',
  },
  ...ASKING_OPTIONS,
} as const satisfies OptionTable;

export type InferSettings = Settings<typeof INFER_OPTIONS> & BatchSettings;
