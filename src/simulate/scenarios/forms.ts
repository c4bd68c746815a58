// The form of a suite's file: which fields it has, and what may stand in each. docs/scenarios.md describes it.

import { z } from 'zod';
import { messageOf } from '../../core/errors.js';
import { isObject } from '../../core/json.js';
import { keysError, mapping, oneOf } from '../../core/schema.js';
import { compilePattern, filled, isJsonPath, type Pattern, slotsIn } from './pattern.js';

/** A state that has to be reached is asked for in three steps at most: the row's own action, and two of the suite's. */
const MOST_STEPS = 3;
const MOST_STATUS = 255;
/** The share of lines that have to stay, in percent, where the file does not say. */
const DEFAULT_PERCENT = 90;

/** Where an instruction stands: behind the system prompt, or in front of the action. */
const PUTS = ['system', 'before-action'] as const;
export type Put = (typeof PUTS)[number];

/** What is said of a field whose value is not as it has to be; where there is none, that it is missing. */
function expected(key: string, form: string) {
  return {
    error: ({ input }: { readonly input?: unknown }) =>
      input === undefined ? `"${key}" is missing; it has to be ${form}` : `"${key}" has to be ${form}`,
  };
}

/** A text that says something. A number is not one: YAML would have changed how it is written. */
function text(key: string) {
  const form = expected(key, 'a text that is not empty, in quotes where it reads as a number');
  return z.string(form).regex(/\S/, { ...form, abort: true });
}

function trimmed(key: string) {
  return text(key).transform((value) => value.trim());
}

function list<Item extends z.ZodType>(key: string, item: Item, most = Number.MAX_SAFE_INTEGER) {
  const form = expected(key, most === Number.MAX_SAFE_INTEGER ? 'a list' : `a list of ${most} at most`);
  return z.array(item, form).min(1, form).max(most, form);
}

/** One text or a list of them. */
function texts(key: string, most?: number) {
  return z.preprocess((value) => (Array.isArray(value) ? value : [value]), list(key, text(key), most));
}

/** A text as it may be once its slots are filled: any text may fill one. */
function sampleOf<T>(value: T): T {
  return filled(value, Object.fromEntries(slotsIn(JSON.stringify(value)).map((slot) => [slot, 'x'])));
}

/** A pattern as a text, or as `{pattern, ignore_case}`, tried at once: one that is wrong would say so in the middle of a run. */
function pattern(key: string) {
  const ignore_case = z.boolean(expected('ignore_case', 'true or false')).exactOptional();
  return z
    .preprocess(
      (value) => (isObject(value) ? value : { pattern: value }),
      mapping(`"${key}"`, { pattern: text(key), ignore_case }),
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
  path: text('path').refine(
    (path) => isJsonPath(sampleOf(path)),
    expected('path', "a path such as $.items[0].price, $['a key'] or $[*].id"),
  ),
  equals: z.unknown().exactOptional(),
  matches: pattern('matches').exactOptional(),
  exists: z.boolean(expected('exists', 'true or false')).exactOptional(),
}).transform(({ path, ...given }, context) => {
  if (JSON_KEYS.filter((key) => Object.hasOwn(given, key)).length !== 1) {
    context.addIssue('"json_path" needs one of "equals", "matches" and "exists" beside its "path"');
  }
  // One of the three keys stands there.
  return { kind: 'json_path' as const, path, expect: given as JsonExpectation };
});

const WORDS = expected('words', 'a whole number of words of the instruction in a row, or 0 for none');
/** What a prediction must not give away: phrases, and how many words of the instruction in a row. */
const never = z.preprocess(
  (value) => (isObject(value) ? value : { phrases: value }),
  mapping('"never"', {
    phrases: texts('never').exactOptional(),
    words: z.int(WORDS).min(0, WORDS).exactOptional(),
  }),
);
export type NeverForm = z.infer<typeof never>;

const STATUS = expected('exit_status', `a whole number of 0 to ${MOST_STATUS}, or nonzero`);
const PERCENT = expected('percent', 'a number above 0 and up to 100');

/** How a prediction shows that an instruction was followed, by kind. */
const VERIFIERS = {
  /** Every text stands in it; runs of white space are as good as one space. */
  contains: texts('contains').transform((found) => ({ kind: 'contains' as const, texts: found })),
  /** No text stands in it. */
  lacks: texts('lacks').transform((found) => ({ kind: 'lacks' as const, texts: found })),
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
const verify = list('verify', verifier).refine((found) => found.some(({ kind }) => kind !== 'never'), {
  error: `"verify" has to hold a verifier by which one sees that it was followed: one of ${VERIFIER_NAMES.filter((name) => name !== 'never').join(', ')}`,
});
export type VerifierForms = z.infer<typeof verify>;
export type Verifier = Exclude<VerifierForms[number], { kind: 'never' }>;

function condition(key: string) {
  return pattern(key)
    .superRefine(({ source }, context) => {
      const [slot] = slotsIn(source);
      if (slot === undefined) return;
      context.addIssue(
        `"${key}" holds the slot {${slot}}; conditions fill slots and have none, so write \\{${slot}\\} for the text`,
      );
    })
    .exactOptional();
}

const places = { action: condition('action'), truth: condition('truth'), history: condition('history') };

/** Patterns: each of them has to be found, and none of `not`. `history` is the text of the earlier turns, and what stands before the row's own action. */
const applies = mapping('"applies"', { ...places, not: mapping('"not"', places).exactOptional() });
export type Conditions = z.infer<typeof applies>;

const NAME = expected('name', 'small letters, digits and dashes, such as disk-full');
const name = z.string(NAME).regex(/^[a-z0-9][a-z0-9-]*$/, NAME);

/** The members that scenarios at rows and at a start of their own share. */
const head = {
  name,
  about: trimmed('about').default(''),
  put: oneOf('place', PUTS).default('before-action'),
  instruction: trimmed('instruction'),
};

export const scenarioForm = mapping('a scenario', {
  ...head,
  domains: texts('domains').exactOptional(),
  applies: applies.default({}),
  // biome-ignore lint/suspicious/noThenProperty: the file has this key, and schemas are not awaited.
  then: texts('then', MOST_STEPS - 1).default([]),
  verify,
});

export const worldForm = mapping('"world"', {
  ...head,
  domain: text('domain'),
  system: trimmed('system'),
  task: trimmed('task').exactOptional(),
  state: trimmed('state').exactOptional(),
  facts: list(
    'facts',
    mapping('a fact', { subject: text('subject'), relation: text('relation'), object: text('object') }),
  ),
  verify: verify.exactOptional(),
  questions: list(
    'questions',
    mapping('a question', {
      name,
      steps: list(
        'steps',
        mapping('a step', { action: trimmed('action'), asks: list('asks', text('asks')) }),
        MOST_STEPS,
      ),
    }),
  ),
});

function framing(put: Put) {
  return text(put)
    .refine((value) => slotsIn(value).join() === 'instruction', {
      error: `the framing "${put}" has to hold the slot {instruction}, and no other`,
    })
    .exactOptional();
}

/** A whole file; its scenarios and its world are read one by one, so that a fault in one hides none of another. */
export const fileForm = mapping('a suite', {
  domains: texts('domains').exactOptional(),
  framing: mapping('"framing"', { system: framing('system'), 'before-action': framing('before-action') }).default({}),
  never: never.exactOptional(),
  scenarios: list('scenarios', z.unknown()).default([]),
  world: z.unknown().exactOptional(),
}).refine((file) => file.scenarios.length > 0 || file.world !== undefined, {
  error: 'the file has neither "scenarios" nor "world"; write one of them',
});
