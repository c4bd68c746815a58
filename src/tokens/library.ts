// What is used of @huggingface/tokenizers. Its own declarations name their files in a way that Node's rules do not resolve.

import * as tokenizers from '@huggingface/tokenizers';

export interface AddedToken {
  readonly content: string;
  /** Whether it is looked for in the normalised text. */
  readonly normalized: boolean;
  /** White space on this side belongs to the token. */
  readonly lstrip: boolean;
  readonly rstrip: boolean;
}

export interface PreTokenizer {
  pre_tokenize_text(text: string, options?: { readonly section_index: number }): readonly string[];
}

interface SequencePreTokenizer extends PreTokenizer {
  readonly tokenizers: readonly (PreTokenizer | null)[];
}

export interface ByteLevelPreTokenizer extends PreTokenizer {
  readonly config: object;
  readonly add_prefix_space: boolean;
  readonly use_regex: boolean;
  readonly pattern: RegExp;
}

export interface Library {
  readonly normalizer: { normalize(text: string): string } | null;
  readonly pre_tokenizer: PreTokenizer | null;
  readonly model: {
    readonly tokens_to_ids: ReadonlyMap<string, number>;
    readonly end_of_word_suffix?: string;
    /** The tokens of words. */
    _call(words: readonly string[]): readonly string[];
  };
  get_added_tokens_decoder(): ReadonlyMap<number, AddedToken>;
}

interface Exports {
  readonly Tokenizer: new (file: object, config: object) => Library;
  readonly ByteLevelPreTokenizer: new (config: object) => ByteLevelPreTokenizer;
  readonly SequencePreTokenizer: new (config: object) => SequencePreTokenizer;
}

// Checked against the sources of 0.2.0, and by every count of the tests.
export const { Tokenizer, ByteLevelPreTokenizer, SequencePreTokenizer } = tokenizers as unknown as Exports;
