// What `awb likelihood` measures: how likely the world model held the truth to be. No judge makes these, and `--mode` does not choose them.

import type { Mode } from './mode.js';

const COST = { range: [0, Number.POSITIVE_INFINITY], better: 'smaller' } as const;

export const likelihood: Pick<Mode, 'asksJudge' | 'rates' | 'measures' | 'lead' | 'words'> = {
  asksJudge: false,
  rates: false,
  // Tokens differ between models, and bytes do not: bits a byte stand for a run.
  measures: { bits_per_byte: COST, nats_per_token: COST },
  lead: 'bits_per_byte',
  words: {
    one: 'likelihood measure',
    many: 'likelihood measures',
    of: 'of the true observation under the world model',
  },
};
