// Regular expressions whose time is bounded by pattern times text, whatever a model writes: RE2, in the syntax of JavaScript.

import { RE2JS, RE2JSException } from 're2js';

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
