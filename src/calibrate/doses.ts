// Graded damage: a share of what action and history determine is replaced by what is wrong; the rest stays byte for byte the truth.

import { shuffled } from '../random.js';
import type { Span } from './json-spans.js';
import { replacerFor } from './replacement.js';
import { tokensOf } from './tokens/truth-tokens.js';
import { changed } from './truth.js';
import type { Subject, Variant } from './variant.js';

/** A row with fewer has no eighth of them. */
const FEWEST_TOKENS = 8;

export const DOSES = {
  'determined-1of8': dose(1 / 8, 'an eighth of what action and history determine is wrong'),
  'determined-1of3': dose(1 / 3, 'a third of what action and history determine is wrong'),
  'determined-2of3': dose(2 / 3, 'two thirds of what action and history determine are wrong'),
} satisfies Record<string, Variant>;

function dose(share: number, help: string): Variant {
  return { family: 'dose', help, dose: share, make: (subject) => damaged(subject, share) };
}

/** The tokens of a smaller share are among those of a larger one, and are replaced by the same: all draw from the row's stream. */
function damaged({ sample, rowRandom }: Subject, share: number): string | undefined {
  const { text, determined, told } = tokensOf(sample);
  if (determined.length < FEWEST_TOKENS) return undefined;
  const order = shuffled(determined, rowRandom);
  const replacer = replacerFor([...told, text], rowRandom);
  const changes = order.slice(0, Math.round(determined.length * share)).map(({ kind, start, end }) => {
    return { start, end, by: replacer.replace(kind, text.slice(start, end)) };
  });
  return changed(sample, () => withChanges(text, changes));
}

function withChanges(text: string, changes: readonly (Span & { readonly by: string })[]): string {
  let made = '';
  let at = 0;
  for (const { start, end, by } of [...changes].sort((a, b) => a.start - b.start)) {
    made += text.slice(at, start) + by;
    at = end;
  }
  return made + text.slice(at);
}
