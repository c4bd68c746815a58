// One turn put to a world model, for tests that need no more of it than that it is one.

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
