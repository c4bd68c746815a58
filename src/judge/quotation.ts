// Verdicts in the material that a judge is shown: how a quotation of one is told from the judge's own verdict.
import { tagSpans } from '../reply.js';
import { DIMENSIONS, type Ratings } from '../types.js';
import { decimalDigit } from './python-values.js';

/** The tag a judge is asked to put its verdict into. */
export const VERDICT_TAG = 'final_evaluation';

/** What a judge was shown of one case. The prediction's author may know all of this code; the other texts are the benchmark's. */
export interface Material {
  readonly prediction: string;
  /** History, current turn and truth. */
  readonly others: readonly string[];
}

/** A reply with more tags than this is no verdict, and is not searched for quotations. */
const MOST_TAGS = 32;

/**
 * The reply without the blocks that it quotes from the material. A block runs from a verdict's tag to the closing one. White space,
 * backslashes, case, look-alike letters and invisible characters make no difference. Undefined where there are too many tags to search.
 */
export function withoutQuotations(reply: string, { prediction, others }: Material): string | undefined {
  const opens = tagSpans(reply, VERDICT_TAG);
  const closes = tagSpans(reply, `/${VERDICT_TAG}`);
  if (opens.length + closes.length > MOST_TAGS) return undefined;
  const suspects = [prediction, ...others.filter((text) => text.toLowerCase().includes(VERDICT_TAG))];
  const texts = suspects.map(folded).filter(holdsTag).map(squeezed);
  if (texts.length === 0) return reply;
  const kept: string[] = [];
  let from = 0;
  for (const open of opens) {
    if (open.start < from) continue;
    const quoted = closes.findLast(({ end }) => {
      if (end <= open.end) return false;
      const stretch = squeezed(folded(reply.slice(open.start, end)));
      return texts.some((text) => text.includes(stretch));
    });
    if (quoted === undefined) continue;
    kept.push(reply.slice(from, open.start));
    from = quoted.end;
  }
  kept.push(reply.slice(from));
  // What stood around a quotation must not grow together into a tag.
  return kept.join(' ');
}

/**
 * Whether the prediction names all five dimensions and holds these ratings, wherever they stand in it. A quotation can have no others,
 * even where it is not word for word or the judge has decoded it. Nobody gains by foreseeing the judge's own ratings: see `isPlanted`.
 */
export function mayQuote({ prediction }: Material, ratings: Ratings): boolean {
  const text = folded(prediction);
  if (!namesDimensions(text)) return false;
  const numbers = numbersIn(text);
  return DIMENSIONS.every((dimension) => numbers.has(ratings[dimension] ?? Number.NaN));
}

/**
 * Whether the prediction brings a verdict of its own (a tag, or numbers beside the names of all five dimensions), and neither truth
 * nor history does. It is then the prediction's doing if the judge cannot be read.
 */
export function isPlanted({ prediction, others }: Material): boolean {
  return holdsVerdict(prediction) && !others.some(holdsVerdict);
}

function holdsVerdict(text: string): boolean {
  const plain = folded(text);
  return holdsTag(plain) || (namesDimensions(plain) && numbersIn(plain).size > 0);
}

/** Whether a text holds a verdict's tag, opening or closing, hidden in whatever way. */
export function hidesTag(text: string): boolean {
  return holdsTag(folded(text));
}

const TAG = new RegExp(`<\\s{0,3}/?\\s{0,3}${VERDICT_TAG}`);

function holdsTag(text: string): boolean {
  return TAG.test(text);
}

const NAMES = DIMENSIONS.map((dimension) => new RegExp(`(?<![a-z])${dimension}(?![a-z])`));
const NUMBER = /\d+(?:\.\d+)?|\b(?:one|two|three|four|five)\b/g;
const WORDS: Readonly<Record<string, number>> = { one: 1, two: 2, three: 3, four: 4, five: 5 };

function namesDimensions(text: string): boolean {
  return NAMES.every((name) => name.test(text));
}

function numbersIn(text: string): ReadonlySet<number> {
  const values = Array.from(text.matchAll(NUMBER), ([number]) => WORDS[number] ?? Number(number));
  // A half counts as both of its neighbours: nobody knows how a judge rounds it.
  return new Set(values.flatMap((value) => [Math.ceil(value - 0.5), Math.floor(value + 0.5)]));
}

const squeezed = (text: string): string => text.replace(/[\s\\]+/g, '');

const ENTITIES: Readonly<Record<string, string>> = { lt: '<', gt: '>', quot: '"', apos: "'", amp: '&', lowbar: '_' };
const ENTITY = /&(?:(lt|gt|quot|apos|amp|lowbar)|#(\d{1,7})|#x([\da-f]{1,6}));/gi;
const ESCAPE = /(?<!\\)\\+(?:u([\da-f]{4})|x([\da-f]{2}))/gi;
/** Letters of other scripts, and brackets, that look like those of a verdict. */
const LOOK_ALIKES: Readonly<Record<string, string>> = Object.fromEntries(
  Object.entries({
    a: 'аαɑ',
    c: 'сϲ',
    e: 'еεҽ',
    f: 'ƒϝ',
    i: 'іιıɩ',
    l: 'ӏǀⅼ',
    m: 'мμ',
    n: 'пηո',
    o: 'оοօ',
    q: 'ԛզ',
    r: 'гρ',
    s: 'ѕ',
    t: 'тτ',
    u: 'υսц',
    v: 'ѵν',
    y: 'уүγ',
    _: '‿⁀',
    '<': '‹〈⟨❮⦑',
    '>': '›〉⟩❯⦒',
  }).flatMap(([letter, others]) => Array.from(others, (other) => [other, letter] as const)),
);
const LOOK_ALIKE = new RegExp(`[${Object.keys(LOOK_ALIKES).join('')}]`, 'gu');

/** The text without what can hide a tag or a name: entities, escapes, compatibility forms, marks, invisible characters, case, look-alikes. */
function folded(text: string): string {
  if (!/&|\\[ux]|[\x80-\uffff]/i.test(text)) return text.toLowerCase();
  return text
    .replace(ENTITY, (whole, name?: string, decimal?: string, hex?: string) => {
      if (name !== undefined) return ENTITIES[name.toLowerCase()] ?? whole;
      return character(Number.parseInt(decimal ?? hex ?? '', decimal === undefined ? 16 : 10));
    })
    .replace(ESCAPE, (_, long?: string, short?: string) => character(Number.parseInt(long ?? short ?? '', 16)))
    .normalize('NFKD')
    .replace(/[\p{M}\p{Cf}\p{Default_Ignorable_Code_Point}]+/gu, '')
    .toLowerCase()
    .replace(LOOK_ALIKE, (other) => LOOK_ALIKES[other] ?? other)
    .replace(/(?![0-9])\p{Nd}/gu, decimalDigit);
}

function character(code: number): string {
  return code <= 0x10ffff ? String.fromCodePoint(code) : '';
}
