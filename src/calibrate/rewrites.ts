// Neutral rewrites of the truth: what another run would have said in other words, and what must cost nothing.

import { observationOf, replyWith } from './observation.js';
import { withOtherKeys } from './rewrites/keys.js';
import { withOtherRuntime } from './rewrites/runtime.js';
import { withOtherSpace } from './rewrites/space.js';
import { contentOf } from './tokens/content.js';
import type { Subject, Variant } from './variant.js';

export const REWRITES = {
  'rewrite-runtime': rewrite('times, process ids, hashes and temporary names of another run', ({ sample, random }) =>
    withOtherRuntime(contentOf(sample), random),
  ),
  'rewrite-keys': rewrite('keys of JSON in another order', ({ sample, random }) =>
    withOtherKeys(observationOf(sample), random),
  ),
  'rewrite-space': rewrite('white space at the ends of lines', ({ sample, random }) =>
    withOtherSpace(observationOf(sample), random),
  ),
} satisfies Record<string, Variant>;

function rewrite(help: string, make: (subject: Subject) => string | undefined): Variant {
  return {
    family: 'rewrite',
    help,
    make: (subject) => {
      const text = make(subject);
      return text === undefined ? undefined : replyWith(subject.sample, text);
    },
  };
}
