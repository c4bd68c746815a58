// Counting the tokens of a text by a tokenizer.json: the parts of @huggingface/tokenizers, with a memory around them.

import { isObject, type JsonObject } from '../json.js';
import { addedTokens } from './added-tokens.js';
import { partsOf, piecesOf, wordSplitter } from './cuts.js';
import { type AddedToken, type Library, Tokenizer } from './library.js';
import { byLines } from './lines.js';
import { Memo, ofItsOwn } from './memo.js';
import { splitsOf } from './splits.js';

/** Words that are remembered with their count: up to twice as many, and some 10 MB. */
const WORDS = { texts: 50_000, characters: 1_000_000 };

/**
 * A function that counts the tokens of a text as Hugging Face's `encode(text, add_special_tokens=False)` does: an added token that
 * stands in the text is one, and none is put around it. Where a text is cut (cuts.ts), a token or two may be counted more.
 * @param file a tokenizer.json; its vocabulary is emptied
 * @throws whatever the library says of a file that it cannot use
 */
export function tokenCounter(file: JsonObject): (text: string) => number {
  const complete = { normalizer: null, pre_tokenizer: null, post_processor: null, decoder: null, added_tokens: [] };
  const tokenizer = new Tokenizer({ ...complete, ...file }, {});
  const { normalizer } = tokenizer;
  const normalise = (text: string) => (normalizer === null ? text : normalizer.normalize(text));
  const { raw, normal } = addedOf(tokenizer, normalise);
  const countPlain = plainCounter(tokenizer, file);
  forget(file);
  const countText = (text: string) => {
    let count = 0;
    partsOf(text).forEach((part, index) => {
      const taken = raw(part);
      count += taken.found;
      taken.texts.forEach((section, at) => {
        const inner = normal(normalise(section));
        const isFirst = index === 0 && at === 0 && taken.leads && inner.leads;
        count += inner.found;
        inner.texts.forEach((plain, nth) => {
          count += countPlain(plain, isFirst && nth === 0);
        });
      });
    });
    return count;
  };
  return putsSpaces(file) ? countText : byLines(countText, notAtLines(tokenizer));
}

/** Whether a space is put before each text, and so would be before each line. */
function putsSpaces({ normalizer, pre_tokenizer }: JsonObject): boolean {
  return /"type":"(?:Prepend|Metaspace|Strip)"|"add_prefix_space":true/.test(
    JSON.stringify([normalizer, pre_tokenizer]),
  );
}

/** Characters that a token begins with which takes the newline before it, or spans one: no line is counted apart before these. */
function notAtLines(tokenizer: Library): ReadonlySet<string> {
  const added = [...tokenizer.get_added_tokens_decoder().values()];
  const spanning = added.flatMap(({ content }) => content.match(/(?<=\S\n)\S/g) ?? []);
  return new Set([...added.filter(({ lstrip }) => lstrip).map(({ content }) => content.charAt(0)), ...spanning]);
}

/** Added tokens that are looked for in the text as it is, and in the text as it is normalised. */
function addedOf(tokenizer: Library, normalise: (text: string) => string) {
  const isNormalised = ({ normalized }: AddedToken) => normalized && tokenizer.normalizer !== null;
  const all = [...tokenizer.get_added_tokens_decoder().values()];
  const asNormalised = all.filter(isNormalised);
  return {
    raw: addedTokens(all.filter((token) => !isNormalised(token))),
    normal: addedTokens(
      asNormalised.map(({ content, lstrip, rstrip }) => ({ content: normalise(content), lstrip, rstrip })),
    ),
  };
}

/** Counts the tokens of a normalised text without added tokens. */
function plainCounter({ pre_tokenizer, model }: Library, file: JsonObject) {
  const { split, spell } = splitsOf(pre_tokenizer);
  const { type, continuing_subword_suffix: suffix } = isObject(file.model) ? file.model : {};
  // A word of WordPiece is unknown as a whole, at once beyond 100 characters; and endings are told from beginnings.
  const isWhole = type === 'WordPiece';
  const isSplit = !isWhole && !model.end_of_word_suffix && !suffix;
  const splitWords = isSplit ? wordSplitter(model.tokens_to_ids.keys()) : undefined;
  const memo = new Memo(WORDS);
  const countWord = (word: string) => {
    const known = memo.get(word);
    if (known !== undefined) return known;
    let count = 0;
    for (const piece of isWhole ? [word] : piecesOf(word)) count += countPiece(piece);
    memo.set(ofItsOwn(word), count);
    return count;
  };
  const countPiece = (piece: string) => model._call(spell(piece)).length;
  return (text: string, isFirst: boolean) => {
    let count = 0;
    for (const word of split(text, isFirst)) {
      if (splitWords === undefined) count += countWord(word);
      else for (const part of splitWords(word)) count += countWord(part);
    }
    return count;
  };
}

/** The library keeps the file beside what it has made of it, which is as much again. */
function forget({ model }: JsonObject): void {
  if (!isObject(model)) return;
  for (const list of [model.vocab, model.merges]) if (Array.isArray(list)) list.length = 0;
  Object.assign(model, { vocab: {} });
}
