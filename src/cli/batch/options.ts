// The options of the commands on a batch folder: the server that has its batches, or whom to ask here, and how fast.

import { ASKING_OPTIONS } from '../../run/options.js';
import { httpUrl } from '../../settings/address.js';
import { type OptionTable, option, type Settings, under } from '../../settings/command.js';

const FOLDER_OPTION = {
  'batch-dir': option.text('B', 'the batch folder, as awb infer, judge or calibrate --batch-dir wrote it', {
    required: true,
  }),
} as const satisfies OptionTable;

export const SERVER_OPTIONS = {
  ...FOLDER_OPTION,
  ...under('Server', {
    'base-url': option.text(
      'URL',
      'server with the Files and Batches API (default: where the folder was submitted, else where it was tried out)',
      { check: httpUrl },
    ),
    'api-key': option.text(
      'KEY',
      'key, sent as bearer token to the server of --base-url; for api.openai.com OPENAI_API_KEY does as well',
      { secret: true },
    ),
    'retry-minutes': option.number('longest time of trying again where the server fails or limits', {
      min: 0,
      default: 10,
    }),
  }),
} as const satisfies OptionTable;

export type ServerSettings = Settings<typeof SERVER_OPTIONS>;

export const RUN_OPTIONS = {
  ...FOLDER_OPTION,
  local: {
    ...ASKING_OPTIONS.local,
    help: 'serve this GGUF file or hub model here, under the name that the requests have; AWB_… variables of awb serve apply',
  },
  ...under('Model', {
    'model-base-url': option.list('URL', 'OpenAI-compatible endpoint; several share the requests', { check: httpUrl }),
    'model-api-key': option.text('KEY', 'key, sent as bearer token', { secret: true }),
  }),
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
