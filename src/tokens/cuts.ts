// Where a text can be cut so that its parts have as many tokens as the whole, or nearly: no time may grow with the square of a text.

/** Texts are normalised and split in parts of about this many characters. */
const PART = 16_384;
/** Beyond this a word is cut: merging takes memory and time that grow faster than the word. */
const LONGEST_WORD = 512;
/** SentencePiece's space. */
const SPACE = '\u2581';

/**
 * The parts of a text. Where there is one, a cut comes between a newline and what is no white space: no token in use reaches over
 * that. Elsewhere the two parts may have a token more than the whole.
 */
export function partsOf(text: string): readonly string[] {
  if (text.length <= PART) return [text];
  const parts: string[] = [];
  let start = 0;
  while (text.length - start > PART) {
    const end = lineEnd(text, start + PART / 2, start + PART) ?? wholeCharacter(text, start + PART);
    parts.push(text.slice(start, end));
    start = end;
  }
  parts.push(text.slice(start));
  return parts;
}

function lineEnd(text: string, first: number, last: number): number | undefined {
  for (let at = text.lastIndexOf('\n', last - 1); at >= first; at = text.lastIndexOf('\n', at - 1)) {
    if (/\S/.test(text.charAt(at + 1))) return at + 1;
  }
  return undefined;
}

/** The place itself, or the one before it where a pair of surrogates would be torn apart. */
function wholeCharacter(text: string, at: number): number {
  return /[\ud800-\udbff]/.test(text.charAt(at - 1)) ? at - 1 : at;
}

/** The pieces of a word that is too long to be merged at once. */
export function piecesOf(word: string): readonly string[] {
  if (word.length <= LONGEST_WORD) return [word];
  const pieces: string[] = [];
  let start = 0;
  while (start < word.length) {
    const end = Math.min(start + LONGEST_WORD, word.length);
    const whole = end === word.length ? end : wholeCharacter(word, end);
    pieces.push(word.slice(start, whole));
    start = whole;
  }
  return pieces;
}

/**
 * Splits texts before SentencePiece's spaces, wherever no token of the vocabulary reaches over that place: the tokens of the words
 * are then those of the text, and words come again where texts do not. Undefined for a vocabulary without such spaces.
 */
export function wordSplitter(vocabulary: Iterable<string>): ((text: string) => readonly string[]) | undefined {
  const joined = new Set<string>([SPACE]);
  let hasSpaces = false;
  for (const token of vocabulary) {
    hasSpaces ||= token.startsWith(SPACE);
    for (let at = token.indexOf(SPACE, 1); at > 0; at = token.indexOf(SPACE, at + 1)) joined.add(token.charAt(at - 1));
  }
  if (!hasSpaces) return undefined;
  return (text) => {
    const words: string[] = [];
    let start = 0;
    for (let at = text.indexOf(SPACE, 1); at > 0; at = text.indexOf(SPACE, at + 1)) {
      if (joined.has(text.charAt(at - 1))) continue;
      words.push(text.slice(start, at));
      start = at;
    }
    words.push(text.slice(start));
    return words;
  };
}
