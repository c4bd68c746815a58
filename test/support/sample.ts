// One turn for a world model, for tests that just need some sample.

import type { Sample } from '../../src/core/types.js';

export const SAMPLE: Sample = {
  key: 'k',
  trajectory: 't',
  domain: 'web',
  turnIdx: 1,
  prompts: ['p'],
  responses: ['r'],
  currentPrompt: '',
  systemPrompt: '',
};
