// The known order: one small damage, and about half of the content damaged, the small damage among it.

import { present } from '../present.js';
import { drawn, type Random } from '../random.js';
import { type Content, contentOf, isPrompt, stringIn, wordsOf } from './content.js';
import { applied, type Edit, editsOf } from './edits.js';
import { type Surroundings, surroundingsOf } from './surroundings.js';
import { changed } from './truth.js';
import type { Subject, Variant } from './variant.js';

export const ORDER = {
  light: {
    family: 'order',
    help: 'one state, number or word changed',
    isRepeated: true,
    make: (subject) => changed(subject.sample, (text) => lightDamage(subject, text)?.text),
  },
  heavy: {
    family: 'order',
    help: 'the same, and half of the content changed, left out or taken from elsewhere',
    isRepeated: true,
    make: (subject) => changed(subject.sample, (text) => heavyDamage(subject, text)),
  },
} satisfies Record<string, Variant>;

interface Damage {
  readonly content: Content;
  readonly surroundings: Surroundings;
  /** Places of the pieces that may be damaged. */
  readonly places: readonly number[];
  /** Where the small damage is, what stands there now, and the whole text with it. */
  readonly place: number;
  readonly piece: string;
  readonly text: string;
}

/** Of all small changes one of those that are most surely wrong. */
function lightDamage({ sample, donor, rowRandom }: Subject, text: string): Damage | undefined {
  const surroundings = surroundingsOf({ sample, donor });
  const content = contentOf(text);
  for (const places of damageable(content, surroundings)) {
    const surest = surestChanges(content, places, surroundings, rowRandom);
    if (surest.length === 0) continue;
    const chosen = drawn(surest, rowRandom);
    const damaged = content.with(new Map([[chosen.place, chosen.piece]]));
    return { ...chosen, content, surroundings, places, text: damaged };
  }
  return undefined;
}

function surestChanges(
  content: Content,
  places: readonly number[],
  surroundings: Surroundings,
  random: Random,
): { readonly place: number; readonly piece: string }[] {
  let best: { readonly place: number; readonly piece: string }[] = [];
  let highest = Number.NEGATIVE_INFINITY;
  for (const place of places) {
    const piece = present(content.pieces[place]);
    const news = surroundings.previous.has(piece) ? 0 : 1;
    for (const { edit, result } of changesOf(piece, content.kind, surroundings, random)) {
      const certainty = certaintyOf(edit, surroundings) + news;
      if (certainty > highest) best = [];
      highest = Math.max(highest, certainty);
      if (certainty === highest) best.push({ place, piece: result });
    }
  }
  return best;
}

/** States follow from what was done, and names from what was told. A word of the format would be another damage. */
function certaintyOf({ kind, old, isSpecific }: Edit, { known, form }: Surroundings): number {
  if (kind === 'state') return 3;
  const word = old.toLowerCase();
  if (kind === 'word' && form.has(word)) return -2;
  if (known.has(word)) return isSpecific ? 3 : 1;
  return kind === 'number' ? 2 : 0;
}

/** The pieces that say something: no shell prompts, and nothing that another row has too; then those and more. */
function damageable({ kind, pieces }: Content, { form }: Surroundings): number[][] {
  const places = [...pieces.keys()];
  if (kind !== 'lines') return [places];
  const plain = places.filter((place) => !isPrompt(present(pieces[place])));
  return [plain.filter((place) => !form.has(present(pieces[place]))), plain, places];
}

/** Each single change of a piece, with the piece that it makes. */
function changesOf(
  piece: string,
  kind: Content['kind'],
  { strange }: Surroundings,
  random: Random,
): { readonly edit: Edit; readonly result: string }[] {
  // Letters behind a backslash are no words, so such a string is changed as what it says.
  const isEscaped = kind === 'values' && piece.includes('\\');
  const text = isEscaped ? stringIn(piece) : piece;
  const words = kind === 'values' && !piece.startsWith('"') ? [] : strange;
  return editsOf(text, words, random).map((edit) => {
    const result = applied(text, edit);
    return { edit, result: isEscaped ? JSON.stringify(result) : result };
  });
}

function heavyDamage(subject: Subject, text: string): string | undefined {
  const light = lightDamage(subject, text);
  if (light === undefined) return undefined;
  const { content, surroundings, places, place, piece } = light;
  const { random } = subject;
  const own = places.filter((other) => other !== place);
  const plain = damageable(content, surroundings)[1] ?? places;
  // Of a single piece, half of the words.
  if (own.length === 0 && plain.length <= 1) return content.with(new Map([[place, garbled(light, random)]]));
  const changes = new Map<number, string | undefined>([[place, piece]]);
  const isOwn = new Set(places);
  const further = plain.filter((other) => !isOwn.has(other));
  const most = Math.max(1, Math.round(plain.length / 2) - 1);
  for (const other of [...inAnyOrder(own, random), ...inAnyOrder(further, random)].slice(0, most)) {
    changes.set(other, otherPiece(present(content.pieces[other]), content.kind, surroundings, random));
  }
  return content.with(changes);
}

/** A line is left out, taken from elsewhere or changed, each as likely; anything else is taken from elsewhere or changed. */
function otherPiece(
  piece: string,
  kind: Content['kind'],
  surroundings: Surroundings,
  random: Random,
): string | undefined {
  const draw = random.uniform();
  if (kind === 'lines' && draw < 1 / 3) return undefined;
  const edits = changesOf(piece, kind, surroundings, random);
  const foreign = foreignPiece(piece, kind, surroundings, random);
  if (foreign !== undefined && (draw < 2 / 3 || edits.length === 0)) return foreign;
  if (edits.length > 0) return drawn(edits, random).result;
  const strange = drawn(surroundings.strange, random);
  return { lines: undefined, values: JSON.stringify(strange), words: strange }[kind];
}

/** What stands in another row: a line as far to the right as this one, a value of JSON of the same kind. */
function foreignPiece(
  piece: string,
  kind: Content['kind'],
  { foreign }: Surroundings,
  random: Random,
): string | undefined {
  const fitting = foreign[kind === 'values' ? (piece.startsWith('"') ? 'texts' : 'others') : kind];
  if (fitting.length === 0) return undefined;
  const other = drawn(fitting, random);
  if (other === piece) return undefined;
  return kind === 'lines' ? other.replace(/^\s*/, /^\s*/.exec(piece)?.[0] ?? '') : other;
}

/** The only piece with half of its words replaced, beside the one that is changed already. */
function garbled({ content, surroundings, place, piece }: Damage, random: Random): string {
  const isString = content.kind === 'values' && piece.startsWith('"');
  const [before, now] = [present(content.pieces[place]), piece].map((text) => (isString ? stringIn(text) : text));
  const words = wordsOf(now ?? '');
  const original = wordsOf(before ?? '').pieces;
  const same = [...words.pieces.keys()].filter((word) => words.pieces[word] === original[word]);
  const chosen = inAnyOrder(same, random).slice(0, Math.ceil(words.pieces.length / 2));
  const text = words.with(new Map(chosen.map((word) => [word, drawn(surroundings.strange, random)])));
  return isString ? JSON.stringify(text) : text;
}

function inAnyOrder<T>(items: readonly T[], random: Random): T[] {
  return items
    .map((item) => ({ item, rank: random.bits() }))
    .sort((a, b) => a.rank - b.rank)
    .map(({ item }) => item);
}
