// The form of a suite's file: its fields and their values (docs/scenarios.md). Patterns are regular expressions whose time is bounded by
// pattern times text, whatever a model writes (RE2, in JavaScript's syntax); their named groups fill slots in texts. Paths are a small
// subset of JSONPath (RFC 9535), which also descends into JSON encoded as text inside JSON.

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

/** Captures of a pattern's named groups; a group that did not match is absent. */
export type Groups = Readonly<Record<string, string>>;

/** Cache of compiled patterns, which are searched repeatedly. */
const COMPILED = new WeakMap<Pattern, ReturnType<typeof compiledFrom>>();

/**
 * Compiles a pattern for RE2, with JavaScript's group names and white space. `^` and `$` match only at line feeds, and a count is at
 * most 1000.
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
    /** Names of the groups, without duplicates. */
    names,
    test: (text: string) => regex.test(text),
    /** The groups of the first match; undefined if there is none. */
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

/** JavaScript's white space and line ends: RE2 only knows ASCII and line feeds. */
const SPACES = '\\t-\\r\\p{Z}\\x{FEFF}';
const LINE_ENDS = '\\n\\r\\x{2028}\\x{2029}';

/** The source with `.` and `\s` replaced by the character sets that they mean in JavaScript. */
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

/** Excludes character escapes of patterns, such as `\p{sc}` and `\u{e9}`. */
const SLOT = /(?<!\\[pPu])\{([a-z]\w*)\}/g;

/** The names of the slots in a text, without duplicates. */
export function slotsIn(text: string): string[] {
  return [...new Set(Array.from(text.matchAll(SLOT), ([, name = '']) => name))];
}

/**
 * Fills slots in texts at any depth; a slot without a value stays. In the sources of patterns, values are escaped to match literally.
 */
export function filled<T>(value: T, values: Groups): T {
  // Only texts change.
  return JSON.parse(JSON.stringify(value), (key, inner: unknown) => {
    if (typeof inner !== 'string') return inner;
    return key === 'source' ? withSlots(inner, values, escaped) : withSlots(inner, values);
  }) as T;
}

/** The text with its slots filled. */
export function withSlots(text: string, values: Groups, put: (value: string) => string = (value) => value): string {
  return text.replace(SLOT, (slot, name: string) => (Object.hasOwn(values, name) ? put(values[name] ?? '') : slot));
}

/** A text's own words: the pieces between slots, addresses and quoted texts, which are meant to appear elsewhere. */
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

/** The values at a path, in order; none if it does not exist. Descends into texts that contain JSON. */
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

/** MCP packs a result's JSON as text into a block. */
function unpacked(value: unknown): unknown {
  return typeof value === 'string' && /^\s*[[{]/.test(value) ? (parseJson(value) ?? value) : value;
}

/**
 * The JSON in a text: the complete text, or from the first line that begins with a bracket to the last bracket of its kind, if that
 * parses. Undefined if there is none.
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

/** A state to reach takes at most three steps: the row's own action, and two of the suite's. */
const MOST_STEPS = 3;
const MOST_STATUS = 255;
/** Default share of lines that must stay, in percent. */
const DEFAULT_PERCENT = 90;

/** The place of an instruction: after the system prompt, or before the action. */
const PUTS = ['system', 'before-action'] as const;
export type Put = (typeof PUTS)[number];

/** The message for a field with an invalid value. A plain pattern is short for one in a mapping. */
function needs(form: string) {
  return {
    error: ({ input, path = [] }: z.core.$ZodRawIssue) => {
      const key = path.findLast((step) => typeof step === 'string' && step !== 'pattern');
      return `"${String(key)}" ${input === undefined ? 'is missing; it ' : ''}must be ${form}`;
    },
  };
}

const SAYS = needs('a text that is not empty, in quotes if it reads as a number');
/** A non-blank text. A number is not accepted: YAML would have changed its spelling. */
const text = z.string(SAYS).regex(/\S/, { ...SAYS, abort: true });
const trimmed = text.transform((value) => value.trim());

function list<Item extends z.ZodType>(item: Item, most = Number.MAX_SAFE_INTEGER) {
  const form = needs(most === Number.MAX_SAFE_INTEGER ? 'a list, not empty' : `a list of at most ${most}`);
  return z.array(item, form).min(1, form).max(most, form);
}

/** One text or a list of them. */
function texts(most?: number) {
  return z.preprocess((value) => (Array.isArray(value) ? value : [value]), list(text, most));
}

/** A sample of a text with filled slots: any text may fill one. */
function sampleOf<T>(value: T): T {
  return filled(value, Object.fromEntries(slotsIn(JSON.stringify(value)).map((slot) => [slot, 'x'])));
}

const TRUTH_VALUE = z.boolean(needs('true or false')).exactOptional();

/** A pattern as a text, or as `{pattern, ignore_case}`, compiled at once: otherwise a wrong one would only fail in the middle of a run. */
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
        const message = `"${key}" must be a pattern: ${messageOf(error)}`;
        context.addIssue({ code: 'custom', path: ['pattern'], message });
      }
      return found;
    });
}

/** What a value at a path must be. */
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
    context.addIssue('"json_path" needs one of "equals", "matches" and "exists" in addition to its "path"');
  }
  // Exactly one of the three keys is present.
  return { kind: 'json_path' as const, path, expect: given as JsonExpectation };
});

const WORDS = needs("a whole number of the instruction's words in a row, or 0 for none");
/** What a prediction must not reveal: phrases, and how many consecutive words of the instruction. */
const never = z.preprocess(
  (value) => (isObject(value) ? value : { phrases: value }),
  mapping('"never"', { phrases: texts().exactOptional(), words: z.int(WORDS).min(0, WORDS).exactOptional() }),
);
export type NeverForm = z.infer<typeof never>;

const STATUS = needs(`a whole number of 0 to ${MOST_STATUS}, or nonzero`);
const PERCENT = needs('a number above 0 and up to 100');

/** How a prediction shows that an instruction was followed, by kind. */
const VERIFIERS = {
  /** Contains every text; runs of white space count as one space. */
  contains: texts().transform((found) => ({ kind: 'contains' as const, texts: found })),
  /** Contains none of the texts. */
  lacks: texts().transform((found) => ({ kind: 'lacks' as const, texts: found })),
  matches: pattern('matches').transform((found) => ({ kind: 'matches' as const, pattern: found })),
  json_path: jsonVerifier,
  /** The status of the action's command, in the domain's form. */
  exit_status: z
    .union([z.literal('nonzero'), z.int(STATUS).min(0, STATUS).max(MOST_STATUS, STATUS)], STATUS)
    .transform((status) => ({ kind: 'exit_status' as const, status })),
  /**
   * At least `percent` of the lines that the world model predicts correctly without the instruction (or of the truth's, if there is no
   * such prediction) are still there; lines that match `except` do not count.
   */
  unchanged_elsewhere: mapping('"unchanged_elsewhere"', {
    except: pattern('except').exactOptional(),
    percent: z.number(PERCENT).gt(0, PERCENT).lte(100, PERCENT).default(DEFAULT_PERCENT),
  }).transform((found) => ({ kind: 'unchanged_elsewhere' as const, ...found })),
  /** What no prediction may contain, in addition to the file's own list. */
  never: never.transform((found) => ({ kind: 'never' as const, ...found })),
};

const VERIFIER_NAMES = Object.keys(VERIFIERS);
const ONE_KEY = `a verifier has one key, such as "contains: TEXT"; write one of ${VERIFIER_NAMES.join(', ')}`;

/** Mappings with one key, which names the kind. */
const verifier = z
  .strictObject(VERIFIERS, { error: keysError(VERIFIER_NAMES, ONE_KEY, 'verifier') })
  .partial()
  .transform((given, context) => {
    const [found, ...others] = Object.values(given);
    if (found !== undefined && others.length === 0) return found;
    // An unknown name has its own fault.
    if (context.issues.length === 0) context.addIssue(ONE_KEY);
    return z.NEVER;
  });
const verify = list(verifier).refine((found) => found.some(({ kind }) => kind !== 'never'), {
  error: `"verify" needs a verifier that shows that the instruction was followed: one of ${VERIFIER_NAMES.filter((name) => name !== 'never').join(', ')}`,
});
export type VerifierForms = z.infer<typeof verify>;
export type Verifier = Exclude<VerifierForms[number], { kind: 'never' }>;

const places = {
  action: pattern('action').exactOptional(),
  truth: pattern('truth').exactOptional(),
  history: pattern('history').exactOptional(),
};

/** Patterns: all must match, and none of `not`. `history` is the text of the earlier turns, and everything before the row's own action. */
const applies = mapping('"applies"', { ...places, not: mapping('"not"', places).exactOptional() });
export type Conditions = z.infer<typeof applies>;

const NAME = needs('small letters, digits and dashes, such as disk-full');
const name = z.string(NAME).regex(/^[a-z0-9][a-z0-9-]*$/, NAME);

/** Members common to scenarios at rows and at their own start. */
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

/** A complete file; scenarios and world are read one by one, so that a fault in one does not hide faults in others. */
export const fileForm = mapping('a suite', {
  domains: texts().exactOptional(),
  never: never.exactOptional(),
  scenarios: list(z.unknown()).default([]),
  world: z.unknown().exactOptional(),
}).refine((file) => file.scenarios.length > 0 || file.world !== undefined, {
  error: 'the file has neither "scenarios" nor "world"; write one of them',
});
