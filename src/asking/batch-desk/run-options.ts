// The options by which a batch folder is answered here: whom to ask, and how fast.

import { httpUrl } from '../../settings/address.js';
import type { OptionTable, Settings } from '../../settings/options.js';
import { ASKING_OPTIONS } from '../options.js';
import { FOLDER_OPTION } from './options.js';

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
