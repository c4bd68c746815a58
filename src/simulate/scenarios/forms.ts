// The form of a suite's file: which fields it has, and what may stand in each (docs/scenarios.md). Its patterns are regular expressions whose time
// is bounded by pattern times text, whatever a model writes (RE2, in the syntax of JavaScript); their named groups fill slots in texts; and paths
// are a small part of JSONPath (RFC 9535), which also goes into JSON that stands as a text inside JSON.

import { RE2JS, RE2JSException } from 're2js';
import { z } from 'zod';
import { messageOf } from '../../core/errors.js';
import { isContainer, isObject, parseJson } from '../../core/json.js';
import { escaped } from '../../core/printable.js';
import { keysError, mapping, oneOf } from '../../core/schema.js';

export interface Pattern {
  readonly source: string;
  readonly ignoreCase?: true;
}

/** What the named groups of a pattern caught; a group that took no part is absent. */
export type Groups = Readonly<Record<string, string>>;

/** Of patterns that are searched for again and again. */
const COMPILED = new WeakMap<Pattern, ReturnType<typeof compiledFrom>>();

/**
 * The pattern, ready to search texts: RE2's, with JavaScript's names for groups and its white space. `^` and `$` stand at line feeds
 * alone, and a count is at most 1000.
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

/** The source with `.` and `\s` spelled out as the characters that JavaScript takes for them. */
function forRe2(source: string): string {
  let isInSet = false;
  return source.replace(/\\.|[[\].]/gs, (piece) => {
    if (piece === '[' || piece === ']') isInSet = piece === '[';
    else if (piece === '\\s') return isInSet ? SPACES : `[${SPACES}]`;
    else if (piece === '\\S' && !isInSet) return `[^${SPACES}]`;
    else if (piece === '.' && !isInSet) return `[^${LINE_ENDS}]`;
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
    return key === 'source' ? withSlots(inner, values, escaped) : withSlots(inner, values);
  }) as T;
}

/** The text with its slots filled. */
export function withSlots(text: string, values: Groups, put: (value: string) => string = (value) => value): string {
  return text.replace(SLOT, (slot, name: string) => (Object.hasOwn(values, name) ? put(values[name] ?? '') : slot));
}

/** What a text says in words of its own: the pieces between slots, addresses and quoted texts, which are meant to appear elsewhere. */
export function ownWordsOf(text: string): string[] {
  return text.split(/\{[a-z]\w*\}|`[^`]*`|"[^"\n]*"|“[^”]*”|[a-z]+:\/\/\S+/).filter((piece) => /\p{L}/u.test(piece));
}

/** `.name`, `['name']`, `["name"]`, `[0]`, `[-1]`, `[*]` or `.*`. */
const SEGMENT =
  /\.(?:(?<name>[\p{L}_][\p{L}\p{N}_]*)|\*)|\[(?:'(?<single>(?:[^'\\]|\\.)*)'|"(?<double>(?:[^"\\]|\\.)*)"|(?<index>0|-?[1-9]\d*)|\*)\]/gu;
const PATH = new RegExp(`^\\$(?:${SEGMENT.source})*$`, 'u');

/** Whether `valuesAt` understands the path. */
export function isJsonPath(path: string): boolean {
  return PATH.test(path);
}

/** The values at a path, in their order; none where it leads nowhere. A text on the way that holds JSON is gone into. */
export function valuesAt(root: unknown, path: string): unknown[] {
  let values = [root];
  for (const { groups = {} } of path.matchAll(SEGMENT)) {
    const { name = (groups.single ?? groups.double)?.replace(/\\(.)/gu, '$1'), index } = groups;
    values = values.flatMap((packed) => {
      const value = unpacked(packed);
      if (name !== undefined) return isObject(value) && Object.hasOwn(value, name) ? [value[name]] : [];
      if (index === undefined) return isContainer(value) ? Object.values(value) : [];
      const at = Number(index);
      return Array.isArray(value) ? value.slice(at, at === -1 ? undefined : at + 1) : [];
    });
  }
  return values;
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

/** A state that has to be reached is asked for in three steps at most: the row's own action, and two of the suite's. */
const MOST_STEPS = 3;
const MOST_STATUS = 255;
/** The share of lines that have to stay, in percent, where the file does not say. */
const DEFAULT_PERCENT = 90;

/** Where an instruction stands: behind the system prompt, or in front of the action. */
const PUTS = ['system', 'before-action'] as const;
export type Put = (typeof PUTS)[number];

/** What is said of a field whose value is not as it has to be. A pattern alone is short for one in a mapping. */
function needs(form: string) {
  return {
    error: ({ input, path = [] }: z.core.$ZodRawIssue) => {
      const key = path.findLast((step) => typeof step === 'string' && step !== 'pattern');
      return `"${String(key)}" ${input === undefined ? 'is missing; it ' : ''}has to be ${form}`;
    },
  };
}

const SAYS = needs('a text that is not empty, in quotes where it reads as a number');
/** A text that says something. A number is not one: YAML would have changed how it is written. */
const text = z.string(SAYS).regex(/\S/, { ...SAYS, abort: true });
const trimmed = text.transform((value) => value.trim());

function list<Item extends z.ZodType>(item: Item, most = Number.MAX_SAFE_INTEGER) {
  const form = needs(most === Number.MAX_SAFE_INTEGER ? 'a list' : `a list of ${most} at most`);
  return z.array(item, form).min(1, form).max(most, form);
}

/** One text or a list of them. */
function texts(most?: number) {
  return z.preprocess((value) => (Array.isArray(value) ? value : [value]), list(text, most));
}

/** A text as it may be once its slots are filled: any text may fill one. */
function sampleOf<T>(value: T): T {
  return filled(value, Object.fromEntries(slotsIn(JSON.stringify(value)).map((slot) => [slot, 'x'])));
}

const TRUTH_VALUE = z.boolean(needs('true or false')).exactOptional();

/** A pattern as a text, or as `{pattern, ignore_case}`, tried at once: one that is wrong would say so in the middle of a run. */
function pattern(key: string) {
  return z
    .preprocess(
      (value) => (isObject(value) ? value : { pattern: value }),
      mapping(`"${key}"`, { pattern: text, ignore_case: TRUTH_VALUE }),
    )
    .transform(({ pattern: source, ignore_case }, context): Pattern => {
      const found: Pattern = { source, ...(ignore_case && { ignoreCase: true }) };
      try {
        compilePattern(sampleOf(found));
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        const message = `"${key}" has to be a pattern: ${messageOf(error)}`;
        context.addIssue({ code: 'custom', path: ['pattern'], message });
      }
      return found;
    });
}

/** What some value at a path has to be. */
export type JsonExpectation =
  | { readonly equals: unknown }
  | { readonly matches: Pattern }
  | { readonly exists: boolean };
const JSON_KEYS = ['equals', 'matches', 'exists'];

const jsonVerifier = mapping('"json_path"', {
  path: text.refine(
    (path) => isJsonPath(sampleOf(path)),
    needs("a path such as $.items[0].price, $['a key'] or $[*].id"),
  ),
  equals: z.unknown().exactOptional(),
  matches: pattern('matches').exactOptional(),
  exists: TRUTH_VALUE,
}).transform(({ path, ...given }, context) => {
  if (JSON_KEYS.filter((key) => Object.hasOwn(given, key)).length !== 1) {
    context.addIssue('"json_path" needs one of "equals", "matches" and "exists" beside its "path"');
  }
  // One of the three keys stands there.
  return { kind: 'json_path' as const, path, expect: given as JsonExpectation };
});

const WORDS = needs('a whole number of words of the instruction in a row, or 0 for none');
/** What a prediction must not give away: phrases, and how many words of the instruction in a row. */
const never = z.preprocess(
  (value) => (isObject(value) ? value : { phrases: value }),
  mapping('"never"', { phrases: texts().exactOptional(), words: z.int(WORDS).min(0, WORDS).exactOptional() }),
);
export type NeverForm = z.infer<typeof never>;

const STATUS = needs(`a whole number of 0 to ${MOST_STATUS}, or nonzero`);
const PERCENT = needs('a number above 0 and up to 100');

/** How a prediction shows that an instruction was followed, by kind. */
const VERIFIERS = {
  /** Every text stands in it; runs of white space are as good as one space. */
  contains: texts().transform((found) => ({ kind: 'contains' as const, texts: found })),
  /** No text stands in it. */
  lacks: texts().transform((found) => ({ kind: 'lacks' as const, texts: found })),
  matches: pattern('matches').transform((found) => ({ kind: 'matches' as const, pattern: found })),
  json_path: jsonVerifier,
  /** The status of the command that the action ran, as the domain shows one. */
  exit_status: z
    .union([z.literal('nonzero'), z.int(STATUS).min(0, STATUS).max(MOST_STATUS, STATUS)], STATUS)
    .transform((status) => ({ kind: 'exit_status' as const, status })),
  /**
   * Lines that the world model predicts rightly without the instruction (of the truth alone, where there is no such prediction) are
   * still there, in at least `percent` of cases; lines in which `except` is found do not count.
   */
  unchanged_elsewhere: mapping('"unchanged_elsewhere"', {
    except: pattern('except').exactOptional(),
    percent: z.number(PERCENT).gt(0, PERCENT).lte(100, PERCENT).default(DEFAULT_PERCENT),
  }).transform((found) => ({ kind: 'unchanged_elsewhere' as const, ...found })),
  /** What no prediction may say: of the scenario, in addition to what the file says for all. */
  never: never.transform((found) => ({ kind: 'never' as const, ...found })),
};

const VERIFIER_NAMES = Object.keys(VERIFIERS);
const ONE_KEY = `a verifier has one key, such as "contains: TEXT"; write one of ${VERIFIER_NAMES.join(', ')}`;

/** Mappings of one key, which names the kind. */
const verifier = z
  .strictObject(VERIFIERS, { error: keysError(VERIFIER_NAMES, ONE_KEY, 'verifier') })
  .partial()
  .transform((given, context) => {
    const [found, ...others] = Object.values(given);
    if (found !== undefined && others.length === 0) return found;
    // Of a name that is not known its own fault tells.
    if (context.issues.length === 0) context.addIssue(ONE_KEY);
    return z.NEVER;
  });
const verify = list(verifier).refine((found) => found.some(({ kind }) => kind !== 'never'), {
  error: `"verify" has to hold a verifier by which one sees that it was followed: one of ${VERIFIER_NAMES.filter((name) => name !== 'never').join(', ')}`,
});
export type VerifierForms = z.infer<typeof verify>;
export type Verifier = Exclude<VerifierForms[number], { kind: 'never' }>;

const places = {
  action: pattern('action').exactOptional(),
  truth: pattern('truth').exactOptional(),
  history: pattern('history').exactOptional(),
};

/** Patterns: each of them has to be found, and none of `not`. `history` is the text of the earlier turns, and what stands before the row's own action. */
const applies = mapping('"applies"', { ...places, not: mapping('"not"', places).exactOptional() });
export type Conditions = z.infer<typeof applies>;

const NAME = needs('small letters, digits and dashes, such as disk-full');
const name = z.string(NAME).regex(/^[a-z0-9][a-z0-9-]*$/, NAME);

/** The members that scenarios at rows and at a start of their own share. */
const head = {
  name,
  about: trimmed.default(''),
  put: oneOf('place', PUTS).default('before-action'),
  instruction: trimmed,
};

export const scenarioForm = mapping('a scenario', {
  ...head,
  domains: texts().exactOptional(),
  applies: applies.default({}),
  // biome-ignore lint/suspicious/noThenProperty: the file has this key, and schemas are not awaited.
  then: texts(MOST_STEPS - 1).default([]),
  verify,
});

export const worldForm = mapping('"world"', {
  ...head,
  domain: text,
  system: trimmed,
  task: trimmed.exactOptional(),
  state: trimmed.exactOptional(),
  facts: list(mapping('a fact', { subject: text, relation: text, object: text })),
  verify: verify.exactOptional(),
  questions: list(
    mapping('a question', { name, steps: list(mapping('a step', { action: trimmed, asks: list(text) }), MOST_STEPS) }),
  ),
});

/** A whole file; its scenarios and its world are read one by one, so that a fault in one hides none of another. */
export const fileForm = mapping('a suite', {
  domains: texts().exactOptional(),
  never: never.exactOptional(),
  scenarios: list(z.unknown()).default([]),
  world: z.unknown().exactOptional(),
}).refine((file) => file.scenarios.length > 0 || file.world !== undefined, {
  error: 'the file has neither "scenarios" nor "world"; write one of them',
});
