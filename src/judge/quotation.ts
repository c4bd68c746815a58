// Verdicts in the material that a judge is shown: how a quotation of one is told from the judge's own verdict.

import { folded } from '../folded.js';
import { holdsTag, holdsVerdict, namesDimensions, numbersIn, VERDICT_TAG } from '../planted.js';
import { tagSpans } from '../reply.js';
import { DIMENSIONS, type Ratings } from '../types.js';

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
  return holdsVerdict(folded(prediction)) && !others.some((text) => holdsVerdict(folded(text)));
}

/** Whether a text holds a verdict's tag, opening or closing, hidden in whatever way. */
export function hidesTag(text: string): boolean {
  return holdsTag(folded(text));
}

const squeezed = (text: string): string => text.replace(/[\s\\]+/g, '');
