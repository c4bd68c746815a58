// The options of awb infer that put instructions to the world model, beside those of every inference.

import type { OptionTable } from '../../settings/options.js';

export const SCENARIO_OPTIONS = {
  scenarios: {
    kind: 'text',
    value: 'SUITE',
    group: 'Simulation',
    help: 'put instructions to the world model and verify what it makes of them: standard, or a folder of scenarios',
  },
  'scenario-rows': {
    kind: 'integer',
    min: 1,
    default: 20,
    group: 'Simulation',
    help: 'rows of each domain that a scenario takes at most, one of every trajectory first',
  },
  'max-calls': {
    kind: 'integer',
    min: 1,
    group: 'Simulation',
    help: 'calls at most; every scenario gives up rows alike',
  },
  'list-scenarios': {
    kind: 'boolean',
    group: 'Simulation',
    help: 'list the scenarios of the suite, and to how many rows of --data-dir each applies; nothing is asked',
  },
} as const satisfies OptionTable;
