// Where a calibration is told, and what the judge is held to.

import { EXPLAIN, type OptionTable } from '../../settings/options.js';
import { DEFAULT_DB } from '../databases.js';

export const TELLING_OPTIONS = {
  db: {
    kind: 'text',
    value: 'FILE',
    default: DEFAULT_DB,
    group: 'Output',
    help: 'SQLite file that keeps it, so that tables of runs with this judge tell how far it can be trusted',
  },
  html: { kind: 'text', value: 'FILE', group: 'Output', help: 'write a page about it, with dose curves' },
  ...EXPLAIN,
  'min-ceiling': {
    kind: 'number',
    min: 0,
    max: 100,
    value: 'X',
    group: 'Limits',
    help: 'least score of neutral rewrites of the truth (each limit: exit 4 where it is broken, 5 where it is undecided)',
  },
  'max-noise': {
    kind: 'number',
    min: 0,
    value: 'X',
    group: 'Limits',
    help: 'largest SD of judgements of one prediction, in points',
  },
  'max-blind': { kind: 'integer', min: 0, group: 'Limits', help: 'how many damages the judge may not see' },
  'max-gullible': { kind: 'number', value: 'X', group: 'Limits', help: 'most points that a trick may buy' },
} as const satisfies OptionTable;
