// The options of awb merge.

import type { OptionTable, Settings } from '../../settings/options.js';

export const MERGE_OPTIONS = {
  runs: {
    kind: 'list',
    value: 'OUT',
    required: true,
    help: 'output folders of the parts: predictions, judgings, likelihoods',
  },
  'output-dir': {
    kind: 'text',
    value: 'DIR',
    required: true,
    help: 'folder of the whole run; merging more parts into it goes on',
  },
  'data-dir': {
    kind: 'text',
    value: 'DIR',
    help: 'folder of *_test.jsonl files; that which the parts were run on by default',
  },
  predictions: {
    kind: 'text',
    value: 'FILE',
    help: 'the whole predictions, where only judgings are merged and the predictions lie elsewhere',
  },
} as const satisfies OptionTable;

export type MergeSettings = Settings<typeof MERGE_OPTIONS>;
