// How a tokenizer splits a text into words before it looks for tokens in them, with what can wait until a word is new left out.

import { ByteLevelPreTokenizer, type PreTokenizer, SequencePreTokenizer } from './library.js';

interface Splits {
  /** The words of a text; `isFirst` where the text is the beginning of everything. */
  split(text: string, isFirst: boolean): readonly string[];
  /** A word as the vocabulary writes it. */
  spell(word: string): readonly string[];
}

export function splitsOf(preTokenizer: PreTokenizer | null): Splits {
  const steps = preTokenizer === null ? [] : stepsOf(preTokenizer);
  const last = steps.at(-1);
  // A sort of letters for each byte comes last, takes most of the time, and is the same whenever a word comes again.
  const bytes = last instanceof ByteLevelPreTokenizer ? last : undefined;
  const before = bytes === undefined ? steps : steps.slice(0, -1);
  const speller = bytes && new ByteLevelPreTokenizer({ ...bytes.config, use_regex: false, add_prefix_space: false });
  return {
    split(text, isFirst) {
      const options = { section_index: isFirst ? 0 : 1 };
      let words: readonly string[] = [text];
      for (const step of before) words = words.flatMap((word) => step.pre_tokenize_text(word, options));
      return bytes === undefined ? words : words.flatMap((word) => gptWords(bytes, word));
    },
    spell: (word) => (speller === undefined ? [word] : speller.pre_tokenize_text(word)),
  };
}

function stepsOf(preTokenizer: PreTokenizer): readonly PreTokenizer[] {
  if (!(preTokenizer instanceof SequencePreTokenizer)) return [preTokenizer];
  return preTokenizer.tokenizers.flatMap((step) => (step === null ? [] : stepsOf(step)));
}

function gptWords({ add_prefix_space, use_regex, pattern }: ByteLevelPreTokenizer, text: string): readonly string[] {
  const spaced = add_prefix_space && !text.startsWith(' ') ? ` ${text}` : text;
  return use_regex ? (spaced.match(pattern) ?? []) : [spaced];
}
