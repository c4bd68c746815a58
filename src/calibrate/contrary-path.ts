// A path of the truth that action or history name, changed so that it contradicts them.

import { drawn } from '../random.js';
import { actionOf, earlierTurns, textsOf } from '../turn.js';
import type { Subject } from './variant.js';

/** Addresses, absolute paths and such of two parts or more, and names of files with a known ending. */
const PATH =
  /https?:\/\/[\w.-]+(?:\/[\w.@%+~-]+)+|(?<![\w/.<])(?!(?:HTTP|application|text|image|audio|video|multipart)\/)(?:~|\.{0,2}[\w@][\w.@+-]*|\.{1,2})?(?:\/\.?[\w@][\w.@+-]*)+|(?<![\w/.-])[\w-]+\.(?:py|js|ts|tsx|json|txt|md|html?|css|csv|toml|ya?ml|sh|c|h|cpp|go|rs|java|rb|log|xml|sql|ini|cfg|conf|png|jpe?g|pdf|docx?|xlsx?|pptx?|zip|gz|tar)(?![\w/-]|\.\w)/g;

/** Parts of paths that are hardly ever there; one that the texts know is not taken. */
const OTHER_PARTS = ['backup', 'old', 'legacy', 'staging', 'archive2', 'copy', 'tmp_store', 'mirror'];

/** Every mention of one path is changed alike, so that the observation still agrees with itself. */
export function contraryPath({ sample, random }: Subject, text: string): string | undefined {
  const told = [...textsOf(earlierTurns(sample)), actionOf(sample)];
  const known = new Set(told.flatMap(pathsIn));
  const paths = [...new Set(pathsIn(text))].filter((path) => known.has(path));
  if (paths.length === 0) return undefined;
  const parts = OTHER_PARTS.filter((part) => ![text, ...told].some((each) => each.includes(part)));
  if (parts.length === 0) return undefined;
  // The more parts a path has, the less it can be mistaken for anything else.
  const depth = (path: string) => path.split('/').length;
  const deepest = Math.max(...paths.map(depth));
  const path = drawn(
    paths.filter((each) => depth(each) === deepest),
    random,
  );
  const other = elsewhere(path, drawn(parts, random));
  return text.replace(PATH, (found) => (trimmed(found) === path ? other + found.slice(path.length) : found));
}

/** A full stop behind a path ends a sentence. */
function trimmed(path: string): string {
  return path.replace(/\.+$/, '');
}

/** The paths in a text; parts without a letter, as in 3/4, make none. */
function pathsIn(text: string): string[] {
  return (text.match(PATH) ?? []).map(trimmed).filter((path) => /\p{L}/u.test(path));
}

/** The path with another last folder; where it has none, another name. */
function elsewhere(path: string, part: string): string {
  const [whole, start = '', last = ''] = /^(.*\/)([^/]+)$/.exec(path) ?? [];
  if (whole === undefined) return path.replace(/^[\w-]+/, part);
  const folder = /^(.*[\w~]\/)?([\w@+.-]+)\/$/.exec(start);
  const isHost = /^https?:\/\/[^/]*\/$/.test(start);
  if (isHost || folder === null) return last.includes('.') ? `${start}${part}/${last}` : start + part;
  return `${folder[1] ?? (start.startsWith('/') ? '/' : '')}${part}/${last}`;
}
