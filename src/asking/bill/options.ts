// The options of the bill before a run.

import type { OptionTable } from '../../settings/options.js';

export const BILL_OPTIONS = {
  'dry-run': {
    kind: 'boolean',
    group: 'Cost',
    help: 'show what is still to be asked, its tokens, cost and time; nothing is asked or written',
  },
  'estimate-from': {
    kind: 'list',
    value: 'RUN',
    group: 'Cost',
    belongsTo: 'dry-run',
    help: '--dry-run: estimate by these runs (folders or files)',
  },
  rate: {
    kind: 'number',
    min: 0.001,
    value: 'N',
    group: 'Cost',
    belongsTo: 'dry-run',
    help: '--dry-run: calls a minute, for the time',
  },
} as const satisfies OptionTable;
