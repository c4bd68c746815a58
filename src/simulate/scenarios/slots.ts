// Slots in the texts of a scenario: `{path}` stands for what a named group of its conditions caught. Any other brace is itself.

import type { Groups } from './pattern.js';

/** Not what a pattern says of characters, such as `\p{sc}` and `\u{e9}`. */
const SLOT = /(?<!\\[pPu])\{([a-z]\w*)\}/g;

/** The names of the slots in a text, each once. */
export function slotsIn(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(SLOT), ([, name = '']) => name))];
}

/** The text with its slots filled; one without a value stays as it is. */
export function withSlots(text: string, values: Groups, put: (value: string) => string = (value) => value): string {
  return text.replace(SLOT, (slot, name: string) => (Object.hasOwn(values, name) ? put(values[name] ?? '') : slot));
}

/** A pattern's source with its slots filled by values that stand for themselves. */
export function sourceWithSlots(source: string, values: Groups): string {
  return withSlots(source, values, (value) => value.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
}

/** What a text says in words of its own: the pieces between slots, addresses and quoted texts, which are meant to appear elsewhere. */
export function ownWordsOf(text: string): string[] {
  return text.split(/\{[a-z]\w*\}|`[^`]*`|"[^"\n]*"|“[^”]*”|[a-z]+:\/\/\S+/).filter((piece) => /\p{L}/u.test(piece));
}
