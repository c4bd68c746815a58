// What stands around an observation: what is known from action and history, and what another row of the domain looks like.

import { actionOf, earlierTurns } from '../turn.js';
import { type Content, contentOf } from './content.js';
import { observationOf, otherTruth } from './truth.js';
import type { Subject } from './variant.js';

export interface Surroundings {
  /** The words of action and history, in small letters. */
  readonly known: ReadonlySet<string>;
  /** The lines of the observation before. */
  readonly previous: ReadonlySet<string>;
  /** Lines and words that another row's observation has too: they belong to the format. Words are in small letters. */
  readonly form: ReadonlySet<string>;
  /** Words that nothing here has, to be put in the place of others. */
  readonly strange: readonly string[];
  /** The pieces of another row's observation that this one does not have, by what they are. */
  readonly foreign: Readonly<Record<Content['kind'], readonly string[]>>;
}

export function surroundingsOf({ sample, donor }: Pick<Subject, 'sample' | 'donor'>): Surroundings {
  const turns = earlierTurns(sample);
  const told = [...turns.flatMap(({ prompt, response }) => [prompt, response]), actionOf(sample)];
  const known = new Set(told.flatMap(wordsIn));
  const own = new Set(wordsIn(observationOf(sample)));
  const other = otherTruth({ sample, donor }) === undefined || donor === undefined ? undefined : observationOf(donor);
  return {
    known,
    previous: new Set((turns.at(-1)?.response ?? '').split('\n')),
    form: new Set(other === undefined ? [] : [...other.split('\n'), ...wordsIn(other)]),
    strange: WORDS.filter((word) => !known.has(word) && !own.has(word)),
    foreign: {
      values: [],
      lines: [],
      words: [],
      ...(other === undefined ? {} : foreignPieces(other, observationOf(sample))),
    },
  };
}

/** Nouns that few environments print, so that one in the place of another word is no near miss. */
const WORDS = [
  ...['harbour', 'lantern', 'meadow', 'walnut', 'compass', 'thimble', 'orchid', 'gravel', 'saddle', 'violin', 'pebble'],
  ...[
    'anchor',
    'bonfire',
    'cinnamon',
    'feather',
    'glacier',
    'hammock',
    'lagoon',
    'mitten',
    'parsley',
    'quarry',
    'raven',
  ],
];

function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

function foreignPieces(other: string, own: string): Partial<Record<Content['kind'], readonly string[]>> {
  const { kind, pieces } = contentOf(other);
  const mine = new Set(own.split('\n'));
  return { [kind]: pieces.filter((piece) => !mine.has(piece)) };
}
