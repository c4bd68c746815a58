// The options by which batches are submitted and looked after: the folder, the server that has them, and patience.

import { httpUrl } from '../../settings/address.js';
import type { OptionTable, Settings } from '../../settings/options.js';

export const FOLDER_OPTION = {
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
