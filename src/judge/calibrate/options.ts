// The options of awb calibrate: the rows to make predictions of, what is made of them, and the judge to calibrate.

import { MOST_JUDGEMENTS } from '../../core/judgement.js';
import { INFER_OPTIONS } from '../../infer/options.js';
import { BATCH_OPTIONS } from '../../run/batch/options.js';
import { ASKING_OPTIONS } from '../../run/options.js';
import { type OptionTable, type Settings, under } from '../../settings/options.js';
import { JUDGE_INSTRUMENT } from '../options.js';

const { 'data-dir': dataDir, domains, shard, 'skip-invalid': skipInvalid, fresh } = INFER_OPTIONS;

export const CALIBRATE_OPTIONS = {
  'data-dir': dataDir,
  'output-dir': {
    kind: 'text',
    value: 'DIR',
    default: './calibration',
    group: 'Data',
    help: 'folder of calibration.jsonl',
  },
  domains,
  shard,
  'skip-invalid': { ...skipInvalid, help: 'leave unusable rows out' },
  'sample-seed': {
    kind: 'integer',
    min: 0,
    default: 0,
    group: 'Data',
    help: 'seed of the choice of rows, and of what is made of them',
  },
  fresh,
  ...under('Calibration', {
    'max-calls': {
      kind: 'integer',
      min: 1,
      default: 3000,
      help: 'judgements at most; as many rows are taken as that allows, every domain alike',
    },
    trajectories: {
      kind: 'integer',
      min: 1,
      help: 'trajectories of each domain at most; as many as --max-calls allows by default',
    },
    damages: { kind: 'list', value: 'LIST', help: 'only these damages, or none; all by default' },
    canaries: {
      kind: 'list',
      value: 'LIST',
      help: 'only these canaries (predictions with a trick), or none; all by default',
    },
    'judge-repeats': {
      kind: 'integer',
      min: 1,
      max: MOST_JUDGEMENTS,
      default: 2,
      help: 'judge the truth, light and heavy damage and another row N times each, for the noise of the judge',
    },
  }),
  ...JUDGE_INSTRUMENT,
  ...ASKING_OPTIONS,
  ...BATCH_OPTIONS,
} as const satisfies OptionTable;

export type CalibrateSettings = Settings<typeof CALIBRATE_OPTIONS>;
