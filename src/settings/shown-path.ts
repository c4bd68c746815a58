// Paths as people are shown them.

import { isAbsolute, relative, resolve, sep } from 'node:path';
import { printable } from '../core/printable.js';
import type { Io } from '../core/types.js';

/** What decides how a path is shown. */
type Place = Pick<Io, 'cwd' | 'typed'>;

/** A path for people: below the working folder without it, beside it as it was typed, elsewhere whole. */
export function shownPath(path: string, { cwd, typed = [] }: Place): string {
  const below = relative(cwd, path);
  if (below !== '' && !below.startsWith('..') && !isAbsolute(below)) return printable(below);
  const [whole = '', word = ''] = typed.find(([whole]) => `${path}${sep}`.startsWith(`${whole}${sep}`)) ?? [];
  return printable(word + path.slice(whole.length));
}

/** The paths among a command line's words that lead out of the working folder, the longest first. */
export function typedPaths(argv: readonly string[], cwd: string): (readonly [whole: string, typed: string])[] {
  const words = argv.flatMap((word) => word.split(/[=,]/)).filter((word) => word.split(/[\\/]/)[0] === '..');
  const paths = words.map((word) => [resolve(cwd, word), word.replace(/[\\/]+$/, '')] as const);
  return paths.filter(([whole]) => !whole.endsWith(sep)).sort(([a], [b]) => b.length - a.length);
}

/** A text in which each path stands as `shownPath` has it. */
export function withShownPaths(text: string, { cwd, typed = [] }: Place): string {
  // Below the root every path is.
  const below = cwd.endsWith(sep) ? text : replaced(text, cwd, /[\\/](?=\S)/, '');
  return typed.reduce((shown, [whole, word]) => replaced(shown, whole, /(?![\w.-])/, word), below);
}

/** A text with this path replaced where it begins a word, not inside another path or an address. */
function replaced(text: string, path: string, end: RegExp, by: string): string {
  if (!text.includes(path)) return text;
  const escaped = path.replace(/[.*+?^${}()|[\]\\]/g, '\\$&');
  return text.replace(new RegExp(`(?<![\\w.~\\\\/-])${escaped}${end.source}`, 'g'), () => by);
}
