// What `awb infer --scenarios` measures: what a world model makes of instructions. No judge makes these, and `--mode` does not choose them.

import { SCENARIO_MEASURES } from '../scenario-row.js';
import type { Mode } from './mode.js';

export const scenarios: Pick<Mode, 'asksJudge' | 'rates' | 'measures' | 'lead' | 'words'> = {
  asksJudge: false,
  rates: false,
  measures: SCENARIO_MEASURES,
  lead: 'followed',
  words: { one: 'scenario measure', many: 'scenario measures', of: 'of what the world model makes of instructions' },
};
