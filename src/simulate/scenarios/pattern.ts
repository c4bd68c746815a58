// Regular expressions whose time is bounded by pattern times text, whatever a model writes: RE2, in the syntax of JavaScript; and slots, which
// the named groups of such patterns fill (any other brace than a slot's is itself). And a small part of JSONPath (RFC 9535): names, indexes and
// wildcards, which find values in JSON and in JSON that stands as a text inside it.

import { RE2JS, RE2JSException } from 're2js';
import { isContainer, isObject, parseJson } from '../../core/json.js';

export interface Pattern {
  readonly source: string;
  readonly ignoreCase?: true;
}

/** What the named groups of a pattern caught; a group that took no part is absent. */
export type Groups = Readonly<Record<string, string>>;

/** Of patterns that are searched for again and again. */
const COMPILED = new WeakMap<Pattern, ReturnType<typeof compiledFrom>>();

/**
 * The pattern, ready to search texts. It reads as JavaScript's with the flags `u` and `m`, without back-references and looking around;
 * `^` and `$` stand at line feeds alone, and a count is at most 1000.
 * @throws SyntaxError with the reason
 */
export function compilePattern(pattern: Pattern) {
  const compiled = COMPILED.get(pattern) ?? compiledFrom(pattern);
  COMPILED.set(pattern, compiled);
  return compiled;
}

function compiledFrom({ source, ignoreCase }: Pattern) {
  const regex = regexOf(source, ignoreCase === true);
  const names = Object.keys(regex.namedGroups());
  return {
    /** Names of the groups, each once. */
    names,
    test: (text: string) => regex.test(text),
    /** The groups of the first match; undefined where there is none. */
    groups(text: string): Groups | undefined {
      if (names.length === 0) return regex.test(text) ? {} : undefined;
      const matcher = regex.matcher(text);
      if (!matcher.find()) return undefined;
      const caught = names.map((name) => [name, matcher.group(name)] as const);
      return Object.fromEntries(caught.flatMap(([name, value]) => (value === null ? [] : [[name, value]])));
    },
  };
}

function regexOf(source: string, ignoreCase: boolean): RE2JS {
  try {
    new RegExp(source, 'um');
  } catch (error) {
    // JavaScript throws nothing but a SyntaxError here, whose reason stands behind the pattern.
    throw new SyntaxError((error as SyntaxError).message.replace(/^.*: (?=[^:]+$)/s, ''));
  }
  try {
    const flags = RE2JS.MULTILINE | (ignoreCase ? RE2JS.CASE_INSENSITIVE : 0);
    return RE2JS.compile(RE2JS.translateRegExp(forRe2(source)), flags);
  } catch (error) {
    if (!(error instanceof RE2JSException)) throw error;
    throw new SyntaxError(error.message.replace(/^error parsing regexp: /, ''));
  }
}

/** White space as JavaScript knows it, and what ends its lines: RE2 keeps to ASCII, and to line feeds. */
const SPACES = '\\t-\\r\\p{Z}\\x{FEFF}';
const LINE_ENDS = '\\n\\r\\x{2028}\\x{2029}';

/**
 * The source with `.` and `\s` spelled out as the characters that JavaScript takes for them.
 * @throws SyntaxError for what JavaScript takes and RE2 does not, or reads as something else
 */
function forRe2(source: string): string {
  let isInSet = false;
  return source.replace(/\\u\w\w|\\.|\(\?<?[=!]|[[\].]/gs, (piece) => {
    if (/^\\[1-9k]/.test(piece)) throw new SyntaxError('it refers back to a group; write out what may stand there');
    if (/^\\ud[89a-f]/i.test(piece)) {
      throw new SyntaxError('it names half of a character; write the whole one, such as \\u{1F600}');
    }
    if (piece === '[' || piece === ']') isInSet = piece === '[';
    else if (piece === '\\s') return isInSet ? SPACES : `[${SPACES}]`;
    else if (isInSet) return piece;
    else if (piece.startsWith('(')) throw new SyntaxError('it looks ahead or behind; use "lacks" or "not"');
    else if (piece === '\\S') return `[^${SPACES}]`;
    else if (piece === '.') return `[^${LINE_ENDS}]`;
    return piece;
  });
}

/** Not what a pattern says of characters, such as `\p{sc}` and `\u{e9}`. */
const SLOT = /(?<!\\[pPu])\{([a-z]\w*)\}/g;

/** The names of the slots in a text, each once. */
export function slotsIn(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(SLOT), ([, name = '']) => name))];
}

/**
 * Texts with their slots filled, at whatever depth; one without a value stays as it is. In the sources of patterns, values stand for
 * themselves.
 */
export function filled<T>(value: T, values: Groups): T {
  // Nothing but texts changes in it.
  return JSON.parse(JSON.stringify(value), (key, inner: unknown) => {
    if (typeof inner !== 'string') return inner;
    return key === 'source' ? sourceWithSlots(inner, values) : withSlots(inner, values);
  }) as T;
}

/** The text with its slots filled. */
export function withSlots(text: string, values: Groups, put: (value: string) => string = (value) => value): string {
  return text.replace(SLOT, (slot, name: string) => (Object.hasOwn(values, name) ? put(values[name] ?? '') : slot));
}

/** A pattern's source with its slots filled by values that stand for themselves. */
function sourceWithSlots(source: string, values: Groups): string {
  return withSlots(source, values, (value) => value.replace(/[\\^$.*+?()[\]{}|/]/g, '\\$&'));
}

/** What a text says in words of its own: the pieces between slots, addresses and quoted texts, which are meant to appear elsewhere. */
export function ownWordsOf(text: string): string[] {
  return text.split(/\{[a-z]\w*\}|`[^`]*`|"[^"\n]*"|“[^”]*”|[a-z]+:\/\/\S+/).filter((piece) => /\p{L}/u.test(piece));
}

type Segment = { readonly name: string } | { readonly index: number } | 'all';

/** `.name`, `['name']`, `["name"]`, `[0]`, `[-1]`, `[*]` or `.*`. */
const SEGMENT =
  /\.(?:(?<name>[\p{L}_][\p{L}\p{N}_]*)|\*)|\[(?:'(?<single>(?:[^'\\]|\\.)*)'|"(?<double>(?:[^"\\]|\\.)*)"|(?<index>0|-?[1-9]\d*)|\*)\]/uy;

/** The path's segments; undefined where it is none of these. */
function segmentsOf(path: string): Segment[] | undefined {
  if (!path.startsWith('$')) return undefined;
  const found: Segment[] = [];
  let at = 1;
  while (at < path.length) {
    SEGMENT.lastIndex = at;
    const match = SEGMENT.exec(path);
    if (match === null) return undefined;
    const { name, single, double, index } = match.groups ?? {};
    const quoted = single ?? double;
    if (quoted !== undefined) found.push({ name: quoted.replace(/\\(.)/gu, '$1') });
    else if (name !== undefined) found.push({ name });
    else found.push(index === undefined ? 'all' : { index: Number(index) });
    at += match[0].length;
  }
  return found;
}

/** Whether `valuesAt` understands the path. */
export function isJsonPath(path: string): boolean {
  return segmentsOf(path) !== undefined;
}

/** The values at a path, in their order; none where it leads nowhere. A text on the way that holds JSON is gone into. */
export function valuesAt(root: unknown, path: string): unknown[] {
  let values = [root];
  for (const segment of segmentsOf(path) ?? []) values = values.flatMap((value) => inside(unpacked(value), segment));
  return values;
}

function inside(value: unknown, segment: Segment): unknown[] {
  if (segment === 'all') return isContainer(value) ? Object.values(value) : [];
  if ('name' in segment) return isObject(value) && Object.hasOwn(value, segment.name) ? [value[segment.name]] : [];
  if (!Array.isArray(value)) return [];
  const index = segment.index < 0 ? value.length + segment.index : segment.index;
  return index in value ? [value[index]] : [];
}

/** MCP packs the JSON of a result as a text into a block. */
function unpacked(value: unknown): unknown {
  return typeof value === 'string' && /^\s*[[{]/.test(value) ? (parseJson(value) ?? value) : value;
}

/**
 * The JSON that a text is or holds: the whole text, or the first lines that begin with a bracket and parse, to the last bracket of
 * their kind. Undefined where there is none.
 */
export function jsonIn(text: string): unknown {
  const whole = parseJson(text.trim());
  if (whole !== undefined) return whole;
  const start = /^[ \t]*[[{]/m.exec(text);
  if (start === null) return undefined;
  const rest = text.slice(start.index).trimStart();
  const end = rest.lastIndexOf(rest.startsWith('{') ? '}' : ']');
  return end < 0 ? undefined : parseJson(rest.slice(0, end + 1));
}
