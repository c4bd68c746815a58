// The options of the commands on a batch folder: the server that has its batches, or whom to ask here, and how fast.

import { ASKING_OPTIONS } from '../../run/options.js';
import { httpUrl } from '../../settings/address.js';
import type { OptionTable, Settings } from '../../settings/command.js';

const FOLDER_OPTION = {
  'batch-dir': {
    kind: 'text',
    value: 'B',
    required: true,
    help: 'the batch folder, as awb infer, judge or calibrate --batch-dir wrote it',
  },
} as const satisfies OptionTable;

export const SERVER_OPTIONS = {
  ...FOLDER_OPTION,
  'base-url': {
    kind: 'text',
    value: 'URL',
    group: 'Server',
    check: httpUrl,
    help: 'server with the Files and Batches API (default: where the folder was submitted, else where it was tried out)',
  },
  'api-key': {
    kind: 'text',
    value: 'KEY',
    secret: true,
    group: 'Server',
    help: 'key, sent as bearer token to the server of --base-url; for api.openai.com OPENAI_API_KEY does as well',
  },
  'retry-minutes': {
    kind: 'number',
    min: 0,
    default: 10,
    group: 'Server',
    help: 'longest time of trying again where the server fails or limits',
  },
} as const satisfies OptionTable;

export type ServerSettings = Settings<typeof SERVER_OPTIONS>;

export const RUN_OPTIONS = {
  ...FOLDER_OPTION,
  local: {
    ...ASKING_OPTIONS.local,
    help: 'serve this GGUF file or hub model here, under the name that the requests have; AWB_… variables of awb serve apply',
  },
  'model-base-url': {
    kind: 'list',
    value: 'URL',
    group: 'Model',
    check: httpUrl,
    help: 'OpenAI-compatible endpoint; several share the requests',
  },
  'model-api-key': { kind: 'text', value: 'KEY', secret: true, group: 'Model', help: 'key, sent as bearer token' },
  concurrency: ASKING_OPTIONS.concurrency,
  'call-timeout': ASKING_OPTIONS['call-timeout'],
  'max-attempts': ASKING_OPTIONS['max-attempts'],
  'retry-minutes': ASKING_OPTIONS['retry-minutes'],
  'wait-ready': ASKING_OPTIONS['wait-ready'],
  'keep-going': ASKING_OPTIONS['keep-going'],
  rpm: ASKING_OPTIONS.rpm,
  tpm: ASKING_OPTIONS.tpm,
} as const satisfies OptionTable;

export type RunSettings = Settings<typeof RUN_OPTIONS>;
