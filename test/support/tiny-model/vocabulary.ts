// The vocabulary of a made-up model: bytes, pieces of common words, a script's phrases, and the special tokens of Qwen3.5.

import { CHAT_TEMPLATE } from './chat-template.js';
import type { Metadata } from './gguf.js';

/** A scripted model's answer: its thinking, and what follows it. */
export interface Script {
  readonly thinking: string;
  readonly content: string;
}

export interface Vocabulary {
  /** Tokens by id, ordinary ones in GPT-2's byte-to-character spelling. */
  readonly tokens: readonly string[];
  readonly metadata: Metadata;
  /** The ids that a script runs through, including the end; empty without a script. */
  readonly chain: readonly number[];
  /** Whether a random model may say this token: whole words and printable characters. */
  readonly sayable: readonly boolean[];
  readonly end: number;
  /** The quotation mark, which ends a string in JSON. */
  readonly quote: number;
}

const KIND = { ordinary: 1, control: 3, userDefined: 4, unused: 5 } as const;
/** Special tokens by name, in Qwen3.5's order; those for tools and thinking are text to a reader. */
const SPECIAL = {
  '<|endoftext|>': KIND.control,
  '<|im_start|>': KIND.control,
  '<|im_end|>': KIND.control,
  '<|vision_start|>': KIND.control,
  '<|vision_end|>': KIND.control,
  '<|vision_pad|>': KIND.control,
  '<|image_pad|>': KIND.control,
  '<|video_pad|>': KIND.control,
  '<tool_call>': KIND.userDefined,
  '</tool_call>': KIND.userDefined,
  '<tool_response>': KIND.userDefined,
  '</tool_response>': KIND.userDefined,
  '<think>': KIND.userDefined,
  '</think>': KIND.userDefined,
} as const;

/** The blank line that ends the prompt if thinking is off; it is the first merge, so it is always one token. */
const BLANK_LINE = '\n\n';

/** Words worth their own tokens, so that a prompt is not one token per byte. */
const WORDS = [
  '    ',
  'the and that with this from have what when where which would there they them then than these those will your you',
  'not no none one only on or other over of off open option output out object observation press prediction predicted',
  'action after all also an any app application are argument as at an be before below bid box branch button by',
  'call can case cell change check click close code column command commit config content context could current',
  'data date default delete description dict directory disabled do document does echo edit element else empty end',
  'enter environment error event example exit expand expected fail false file find first focused folder for format',
  'found function get git given go group had has he heading help here home how http https id if image import in',
  'index input install instruction interface into is it item its key keyboard label last left length level line link',
  'list local log look made main make match may me menu merge message method minutes mode module more most move my',
  'name navigation new next number page paragraph parameter path please point position project prompt put python',
  'query read remove reply repository request require response result return right root row run save screen scroll',
  'search section see select selected server service set setting should show size so some source space start state',
  'static status step stop string success system tab table tag task terminal test text think thought time title to',
  'tool tree true turn two type under update url use used user value version view was we web were window word work',
  'world write yes',
].flatMap((line) => (line.trim() === '' ? [line] : line.split(' ').map((word) => ` ${word}`)));

/**
 * The vocabulary of `size` tokens, or of as many as the script needs. Throws RangeError for a script that is too short to be distinguished.
 */
export function vocabularyOf(size: number, script: Script | undefined): Vocabulary {
  const taken = new Set(BYTE_CHARACTERS);
  const blankLine = spelled(BLANK_LINE);
  taken.add(blankLine);
  const merges = ['Ċ Ċ'];
  const told = script === undefined ? undefined : phrasesOf(script, new Set([...taken, ...Object.keys(SPECIAL)]));
  const phrases = told === undefined ? [] : [...told.thinking, ...told.content];
  const room = size - phrases.length - Object.keys(SPECIAL).length;
  // With a script there are none: they could equal its phrases, and llama.cpp ends the process on equal tokens.
  const words = new Set(script === undefined ? WORDS.map(spelled) : []);
  for (const word of words) addMerges(word, room, taken, merges);

  const ordinary = [...taken, ...phrases];
  const unused = Array.from({ length: Math.max(0, room - taken.size) }, (_, index) => `[PAD${index}]`);
  const tokens = [...ordinary, ...unused, ...Object.keys(SPECIAL)];
  const kinds = [...ordinary.map(() => KIND.ordinary), ...unused.map(() => KIND.unused), ...Object.values(SPECIAL)];
  const id = (token: string): number => tokens.indexOf(token);
  const end = id('<|im_end|>');
  return {
    tokens,
    chain:
      told === undefined ? [] : [...told.thinking.map(id), id('</think>'), id(blankLine), ...told.content.map(id), end],
    sayable: tokens.map((token) => words.has(token) || /^[!-~ĠĊ]$/.test(token)),
    end,
    quote: id('"'),
    metadata: {
      'tokenizer.ggml.model': { text: 'gpt2' },
      'tokenizer.ggml.pre': { text: 'qwen35' },
      'tokenizer.ggml.tokens': { texts: tokens },
      'tokenizer.ggml.token_type': { i32s: kinds },
      'tokenizer.ggml.merges': { texts: merges },
      'tokenizer.ggml.eos_token_id': { u32: end },
      'tokenizer.ggml.padding_token_id': { u32: id('<|vision_pad|>') },
      'tokenizer.ggml.add_bos_token': { bool: false },
      'tokenizer.chat_template': { text: CHAT_TEMPLATE },
    },
  };
}

/** Merges that build a word from left to right, one token for each of its prefixes, while there is room. */
function addMerges(word: string, room: number, taken: Set<string>, merges: string[]): void {
  for (let length = 2; length <= word.length; length++) {
    const beginning = word.slice(0, length);
    if (taken.has(beginning)) continue;
    if (taken.size >= room) return;
    taken.add(beginning);
    merges.push(`${beginning.slice(0, -1)} ${beginning.slice(-1)}`);
  }
}

/**
 * Cuts a script into phrases that all differ, and none of which is a token already (Lempel and Ziv, 1978), so each identifies its position
 * in the script. No merge leads to them, so a prompt never contains one. They may end within a character, as tokens of real models do.
 */
function phrasesOf(script: Script, taken: Set<string>): { thinking: string[]; content: string[] } {
  const thinking = script.thinking === '' ? [] : cut(spelled(`${script.thinking}\n`), taken);
  return { thinking, content: cut(spelled(script.content), taken) };
}

function cut(text: string, taken: Set<string>): string[] {
  const phrases: string[] = [];
  let phrase = '';
  const keepIfNew = (): void => {
    if (taken.has(phrase)) return;
    taken.add(phrase);
    phrases.push(phrase);
    phrase = '';
  };
  for (const character of text) {
    phrase += character;
    keepIfNew();
  }
  // What is left at the end is a known phrase: it absorbs the phrases before it until the result is new.
  while (phrase !== '') {
    const before = phrases.pop();
    if (before === undefined) throw new RangeError('a script of so few bytes has no phrases of its own');
    phrase = before + phrase;
    keepIfNew();
  }
  return phrases;
}

/** GPT-2's characters for the 256 bytes: printable ones represent themselves, the others what follows U+00FF. */
const BYTE_CHARACTERS: readonly string[] = (() => {
  const printable = (byte: number): boolean =>
    (byte > 32 && byte < 127) || (byte > 160 && byte < 173) || (byte > 173 && byte < 256);
  let next = 256;
  return Array.from({ length: 256 }, (_, byte) => String.fromCharCode(printable(byte) ? byte : next++));
})();

function spelled(text: string): string {
  return Array.from(new TextEncoder().encode(text), (byte) => BYTE_CHARACTERS[byte]).join('');
}
