// Neutral rewrites of the truth: what another run would have said in other words, and what must cost nothing.

import type { Random } from '../random.js';
import { withOtherKeys } from './rewrites/keys.js';
import { withOtherRuntime } from './rewrites/runtime.js';
import { withOtherSpace } from './rewrites/space.js';
import { tokensOf } from './tokens/truth-tokens.js';
import { changed } from './truth.js';
import type { Variant } from './variant.js';

export const REWRITES = {
  'rewrite-runtime': {
    family: 'rewrite',
    help: 'times, durations, process ids, hashes and temporary names of another run',
    make: ({ sample, random }) => changed(sample, () => withOtherRuntime(tokensOf(sample), random)),
  },
  'rewrite-keys': rewrite('keys of JSON in another order', withOtherKeys),
  'rewrite-space': rewrite('white space at the ends of lines', withOtherSpace),
} satisfies Record<string, Variant>;

function rewrite(help: string, write: (text: string, random: Random) => string | undefined): Variant {
  return {
    family: 'rewrite',
    help,
    make: ({ sample, random }) => changed(sample, (text) => write(text, random)),
  };
}
