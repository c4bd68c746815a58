// What an agent types into a terminal: JSON with keystrokes; and when two inputs are the same.

import { isObject } from '../json.js';

/** What is typed, in its order. How long is waited in between does not matter. */
export interface Typed {
  readonly entries: readonly string[];
}

/** The input that a value is, or what keeps it from being one. One entry may stand without its list. */
export function typedKeys(value: unknown): Typed | { readonly flaw: string } {
  const items = Array.isArray(value) ? value : [value];
  const entries: string[] = [];
  for (const item of items) {
    if (!isObject(item) || typeof item.keystrokes !== 'string') {
      return { flaw: 'the action is no JSON array of objects with "keystrokes"' };
    }
    entries.push(item.keystrokes);
  }
  return entries.length === 0 ? { flaw: 'the action types nothing: its array is empty' } : { entries };
}

/** Whether both type the same, in however many entries: white space squeezed, a line's end still told from a blank. */
export function isSameTyping(a: Typed, b: Typed): boolean {
  return squeezed(a) === squeezed(b);
}

/** An entry that is the name of a key presses that key. */
const KEY_NAME =
  /^(?:[CMS]-\S{1,9}|\^\S|F\d{1,2}|Escape|Tab|BTab|Space|BSpace|Up|Down|Left|Right|Home|End|PageUp|PageDown|PgUp|PgDn|PPage|NPage|Delete|Insert|DC|IC)$/;
/** The names of Enter; they do what a line's end does. */
const ENTER = new Set(['Enter', 'C-m', 'C-j', '^M', '^J']);

function squeezed({ entries }: Typed): string {
  return entries
    .map((entry) => (ENTER.has(entry) ? '\n' : KEY_NAME.test(entry) ? `\0${entry}\0` : entry))
    .join('')
    .replace(/\s+/g, (run) => (/[\n\r]/.test(run) ? '\n' : ' '))
    .replace(/^ | $/g, '');
}
