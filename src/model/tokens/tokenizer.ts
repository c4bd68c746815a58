// How many tokens texts have: counted by a model's own tokenizer, from the tokenizer.json next to its weights, in pieces and by samples.

import { readFile, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { badData, codeOf, inputMissing, messageOf } from '../../core/errors.js';
import { asObject, isContainer, parseObject } from '../../core/json.js';
import { oneLine } from '../../core/printable.js';
import { type Question, textsOf } from '../../core/types.js';

const FILE = 'tokenizer.json';

/**
 * Opens a Hugging Face tokenizer.json, or the one in a folder. The library is loaded here.
 * @param path absolute; `shown` is the path as the user gave it
 * @throws UserError: 66 for a file that cannot be read, 65 for one that is not a tokenizer or is of an unknown kind
 */
export async function openTokenizer(path: string, shown: string = path) {
  const isFolder = (await stat(path).catch(() => undefined))?.isDirectory();
  const text = await readFile(isFolder ? join(path, FILE) : path, 'utf8').catch((error: unknown) => {
    throw inputMissing(
      `cannot read the tokenizer ${shown} (--tokenizer): ${codeOf(error)}; give the ${FILE} of the model's repository, or its folder`,
    );
  });
  const file = parseObject(text);
  const model = asObject(file?.model);
  // Early files do not name the kind; the library treats unknown kinds as words between spaces.
  const { type = Array.isArray(model.merges) ? 'BPE' : undefined, vocab } = model;
  const isKnown = isContainer(vocab) && KINDS.some((kind) => kind === type);
  const { Tokenizer } = await import('@huggingface/tokenizers');
  try {
    if (!isKnown) throw new Error(`it has no model of a known kind (${KINDS.join(', ')}) with a vocabulary`);
    const complete = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, added_tokens: [] };
    const tokenizer = new Tokenizer({ ...complete, ...file, model: { ...model, type } }, {});
    const countPiece = (piece: string): number => tokenizer.encode(piece, { add_special_tokens: false }).ids.length;
    // Some missing parts of a file show only when counting.
    countPiece('It counts.\n');
    return {
      /**
       * Tokens of a text as Hugging Face's `encode(text, add_special_tokens=False)` counts them: an added token in the text counts as
       * one, and none is put around it. Cutting a long text may add a token or two.
       */
      count: (text: string) => piecesOf(text).reduce((sum, piece) => sum + countPiece(piece), 0),
    };
  } catch (error) {
    const reason = oneLine(messageOf(error), 200);
    throw badData(
      `${shown}: this tokenizer cannot be used: ${reason}; use the ${FILE} of the model's repository, or leave --tokenizer out`,
    );
  }
}

const KINDS = ['BPE', 'Unigram', 'WordPiece'] as const;
/** Texts are cut into pieces of at most this many characters. */
const LONGEST = 2_048;

/**
 * The pieces of a text, to be counted separately, so that no time grows with the square of a text. A cut comes after a newline, or else
 * before a space, between characters that are not white space: no token in use crosses that. Without such a place, the two pieces may
 * have one token more than the original. Texts with the same beginning share their first pieces.
 */
export function piecesOf(text: string): readonly string[] {
  const pieces: string[] = [];
  let start = 0;
  while (text.length - start > LONGEST) {
    const end = cutIn(text, start + LONGEST / 2, start + LONGEST);
    pieces.push(text.slice(start, end));
    start = end;
  }
  pieces.push(text.slice(start));
  return pieces;
}

function cutIn(text: string, first: number, last: number): number {
  for (let at = text.lastIndexOf('\n', last - 1); at >= first; at = text.lastIndexOf('\n', at - 1)) {
    if (/\S/.test(text.charAt(at + 1))) return at + 1;
  }
  for (let at = text.lastIndexOf(' ', last); at >= first; at = text.lastIndexOf(' ', at - 1)) {
    if (/\S \S/.test(text.slice(at - 1, at + 2))) return at;
  }
  // A surrogate pair is not split.
  return /[\ud800-\udbff]/.test(text.charAt(last - 1)) ? last - 1 : last;
}

/**
 * Sizes of questions in tokens, not rounded, each compared with the previous one: turns of a trajectory follow each other and begin
 * alike, so that what they share is counted once. `sharedTokens` are those at the start that both have in common, to within a piece: a
 * prefix cache contains them.
 */
export function openSizes(count: (text: string) => number) {
  let before: readonly { readonly text: string; readonly tokens: number }[] = [];
  return (question: Question) => {
    let isShared = true;
    let [tokens, sharedTokens] = [0, 0];
    before = textsOf(question)
      .flatMap(piecesOf)
      .map((text, place) => {
        const known = before[place];
        const piece = known?.text === text ? known : { text, tokens: count(text) };
        tokens += piece.tokens;
        if (isShared) sharedTokens += piece.tokens * sharedPart(text, known?.text);
        isShared &&= piece === known;
        return piece;
      });
    return { tokens, sharedTokens };
  };
}

/** The share of a text, 0 to 1, with which the other one begins. */
function sharedPart(text: string, other = ''): number {
  if (other.startsWith(text)) return 1;
  let at = 0;
  while (at < text.length && text.charCodeAt(at) === other.charCodeAt(at)) at++;
  return at / text.length;
}

/** This many characters of a kind are counted in full, and then only some of the texts that follow. */
const COUNTED_IN_FULL = 400_000;
const PART_COUNTED = 16;

/**
 * Counts for estimates: a tokenizer counts about a MB a second, so only a part of much text is counted, and the rest is assumed to have
 * the same tokens per character. `kindOf` returns the kind of the text being counted.
 */
export function openSample(count: (text: string) => number, kindOf: () => string): (text: string) => number {
  const kinds = new Map<string, { texts: number; characters: number; tokens: number }>();
  return (text) => {
    const sums = kinds.get(kindOf()) ?? { texts: 0, characters: 0, tokens: 0 };
    kinds.set(kindOf(), sums);
    if (sums.characters >= COUNTED_IN_FULL && sums.texts++ % PART_COUNTED > 0) {
      return (text.length * sums.tokens) / sums.characters;
    }
    const tokens = count(text);
    sums.characters += text.length;
    sums.tokens += tokens;
    return tokens;
  };
}
