// What stands around an observation: what is known from action and history, and what another row of the domain looks like.

import { actionOf, earlierTurns, textsOf } from '../turn.js';
import { contentOf, isPrompt } from './content.js';
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
  /** What another row's observation has and this one does not, so far as the two are of one kind: JSON, lines, or one line. */
  readonly foreign: Foreign;
}

export function surroundingsOf({ sample, donor }: Pick<Subject, 'sample' | 'donor'>): Surroundings {
  const turns = earlierTurns(sample);
  const told = [...textsOf(turns), actionOf(sample)];
  const known = new Set(told.flatMap(wordsIn));
  const own = new Set(wordsIn(observationOf(sample)));
  const other = otherTruth({ sample, donor }) === undefined || donor === undefined ? undefined : observationOf(donor);
  const strange = WORDS.filter((word) => !known.has(word) && !own.has(word));
  return {
    known,
    previous: new Set((turns.at(-1)?.response ?? '').split('\n')),
    form: new Set(other === undefined ? [] : [...other.split('\n'), ...wordsIn(other)]),
    strange: strange.length > 0 ? strange : WORDS,
    foreign: other === undefined ? NOTHING : foreignTo(observationOf(sample), other),
  };
}

/** Nouns that few environments print, so that one in the place of another word is no near miss. */
const WORDS =
  'harbour lantern meadow walnut compass thimble orchid gravel saddle violin pebble anchor bonfire cinnamon feather glacier hammock lagoon mitten parsley quarry raven'.split(
    ' ',
  );

function wordsIn(text: string): string[] {
  return text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? [];
}

/** Strings and other values of JSON, lines, and words. */
type Foreign = Readonly<Record<'texts' | 'others' | 'lines' | 'words', readonly string[]>>;
const NOTHING: Foreign = { texts: [], others: [], lines: [], words: [] };

function foreignTo(own: string, other: string): Foreign {
  const { kind, pieces } = contentOf(other);
  const mine = new Set(kind === 'lines' ? own.split('\n') : contentOf(own).pieces);
  const strange = pieces.filter((piece) => !mine.has(piece));
  if (kind !== 'values') return { ...NOTHING, [kind]: strange.filter((piece) => kind !== 'lines' || !isPrompt(piece)) };
  const isText = (piece: string) => piece.startsWith('"');
  return { ...NOTHING, texts: strange.filter(isText), others: strange.filter((piece) => !isText(piece)) };
}
