// The form of a suite's file: which fields it has, and what may stand in each. docs/scenarios.md describes it.

import { z } from 'zod';
import { messageOf } from '../../core/errors.js';
import { isObject } from '../../core/json.js';
import { keysError, mapping, unknownName } from '../../core/schema.js';
import { isJsonPath } from './json-path.js';
import { compilePattern, type Pattern } from './pattern.js';
import { slotsIn, sourceWithSlots } from './slots.js';

/** A state that has to be reached is asked for in three steps at most: the row's own action, and two of the suite's. */
const MOST_FOLLOWING = 2;
const MOST_STEPS = 3;
const MOST_STATUS = 255;
/** The share of lines that have to stay, in percent, where the file does not say. */
const DEFAULT_PERCENT = 90;

/** Where an instruction stands: behind the system prompt, or in front of the action. */
const PUTS = ['system', 'before-action'] as const;
export type Put = (typeof PUTS)[number];

/** A text that says something. A number is not one: YAML would have changed how it is written. */
function text(what: string, missing?: string) {
  const error = ({ input }: { readonly input?: unknown }): string => {
    if (input === undefined && missing !== undefined) return missing;
    return typeof input === 'string' || input === null || input === undefined
      ? `${what} is empty; write it`
      : `${what} is no text; put it in quotes`;
  };
  return z.string({ error }).refine((value) => value.trim() !== '', { error, abort: true });
}

function trimmed(what: string, missing?: string) {
  return text(what, missing).transform((value) => value.trim());
}

function list<Item extends z.ZodType>(what: string, item: Item, missing?: string) {
  const wrong = `${what} has to be a list`;
  const error = ({ input }: { readonly input?: unknown }) => (input === undefined ? (missing ?? wrong) : wrong);
  return z.array(item, { error }).min(1, { error });
}

/** One text or a list of them. */
function texts(what: string) {
  return z.preprocess((value) => (Array.isArray(value) ? value : [value]), list(what, text(what)));
}

function filledForm(source: string): string {
  return sourceWithSlots(source, Object.fromEntries(slotsIn(source).map((slot) => [slot, 'x'])));
}

/** A pattern as a text, or as `{pattern, ignore_case}`, tried at once: one that is wrong would say so in the middle of a run. */
function pattern(what: string) {
  const form = mapping(what, {
    pattern: text(what, `${what} has no "pattern"; write one`),
    ignore_case: z.boolean({ error: '"ignore_case" has to be true or false' }).exactOptional(),
  });
  return z
    .preprocess((value) => (isObject(value) ? value : { pattern: value }), form)
    .transform(({ pattern: source, ignore_case }, context): Pattern => {
      const found: Pattern = { source, ...(ignore_case && { ignoreCase: true }) };
      try {
        // Any text may fill a slot.
        compilePattern({ ...found, source: filledForm(source) });
      } catch (error) {
        if (!(error instanceof SyntaxError)) throw error;
        const message = `${what} is no pattern: ${messageOf(error)}; mend it`;
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
  path: text('"path"', '"json_path" has no "path"; write one such as $.error.code').refine(
    (path) => isJsonPath(filledForm(path)),
    { error: ({ input }) => `"${input}" is no path; write one such as $.items[0].price, $['a key'] or $[*].id` },
  ),
  equals: z.unknown().exactOptional(),
  matches: pattern('"matches"').exactOptional(),
  exists: z.boolean({ error: '"exists" has to be true or false' }).exactOptional(),
}).transform(({ path, ...given }, context) => {
  if (JSON_KEYS.filter((key) => Object.hasOwn(given, key)).length !== 1) {
    context.addIssue('"json_path" needs one of "equals", "matches" and "exists" beside its "path"');
  }
  // One of the three keys stands there.
  return { kind: 'json_path' as const, path, expect: given as JsonExpectation };
});

const WORDS = {
  error: '"words" has to be a whole number: so many words of the instruction in a row, or 0 for none',
};
/** What a prediction must not give away: phrases, and how many words of the instruction in a row. */
const never = z.preprocess(
  (value) => (isObject(value) ? value : { phrases: value }),
  mapping('"never"', {
    phrases: texts('"never"').exactOptional(),
    words: z.int(WORDS).min(0, WORDS).exactOptional(),
  }),
);
export type NeverForm = z.infer<typeof never>;

const STATUS = { error: `"exit_status" has to be a whole number of 0 to ${MOST_STATUS}, or nonzero` };
const PERCENT = { error: '"percent" has to be a number above 0 and up to 100' };

/** How a prediction shows that an instruction was followed, by kind. */
const VERIFIERS = {
  /** Every text stands in it; runs of white space are as good as one space. */
  contains: texts('"contains"').transform((found) => ({ kind: 'contains' as const, texts: found })),
  /** No text stands in it. */
  lacks: texts('"lacks"').transform((found) => ({ kind: 'lacks' as const, texts: found })),
  matches: pattern('"matches"').transform((found) => ({ kind: 'matches' as const, pattern: found })),
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
    except: pattern('"except"').exactOptional(),
    percent: z.number(PERCENT).gt(0, PERCENT).lte(100, PERCENT).default(DEFAULT_PERCENT),
  }).transform((found) => ({ kind: 'unchanged_elsewhere' as const, ...found })),
  /** What no prediction may say: of the scenario, in addition to what the file says for all. */
  never: never.transform((found) => ({ kind: 'never' as const, ...found })),
};

const VERIFIER_NAMES = Object.keys(VERIFIERS);
const ONE_KEY = `a verifier has one key, such as "contains: TEXT"; write one of ${VERIFIER_NAMES.join(', ')}`;

/** The verifiers of a list: mappings of one key, which names the kind. `what` is named where it has none. */
function verifiers(what: string, missing?: string) {
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
  return list('"verify"', verifier, missing).refine((found) => found.some(({ kind }) => kind !== 'never'), {
    error: `${what} has no verifier by which one sees that it was followed; add one of ${VERIFIER_NAMES.filter((name) => name !== 'never').join(', ')}`,
  });
}
export type VerifierForms = z.infer<ReturnType<typeof verifiers>>;
export type Verifier = Exclude<VerifierForms[number], { kind: 'never' }>;

function condition(what: string) {
  return pattern(what).superRefine(({ source }, context) => {
    const [slot] = slotsIn(source);
    if (slot === undefined) return;
    context.addIssue(
      `${what} holds the slot {${slot}}; conditions fill slots and have none, so write \\{${slot}\\} for the text`,
    );
  });
}

const places = {
  action: condition('"action"').exactOptional(),
  truth: condition('"truth"').exactOptional(),
  history: condition('"history"').exactOptional(),
};

/** Patterns: each of them has to be found, and none of `not`. `history` is the text of the earlier turns, and what stands before the row's own action. */
const applies = mapping('"applies"', { ...places, not: mapping('"not"', places).exactOptional() });
export type Conditions = z.infer<typeof applies>;

const name = text('"name"', 'it has no "name"; give it one, such as disk-full').regex(
  /^[a-z0-9][a-z0-9-]*$/,
  '"name" has to be of small letters, digits and dashes, such as disk-full',
);

/** The members that scenarios at rows and at a start of their own share. */
const head = {
  about: trimmed('"about"').default(''),
  put: z
    .enum(PUTS, {
      error: ({ input }) =>
        typeof input === 'string'
          ? unknownName(`place "${input}" to put an instruction`, input, PUTS)
          : `"put" has to be one of ${PUTS.join(', ')}`,
    })
    .default('before-action'),
  instruction: trimmed('"instruction"', 'it has no "instruction"; write what the world model is to let happen'),
};

export const scenarioForm = mapping('a scenario', {
  name,
  domains: texts('"domains"').exactOptional(),
  ...head,
  applies: applies.default({}),
  // biome-ignore lint/suspicious/noThenProperty: the file has this key, and schemas are not awaited.
  then: texts('"then"')
    .refine(({ length }) => length <= MOST_FOLLOWING, {
      error: ({ input }) =>
        // What is refined is a list of texts.
        `"then" has ${(input as string[]).length} actions; three steps are the most, so name ${MOST_FOLLOWING}`,
    })
    .default([]),
  verify: verifiers('the scenario', 'the scenario has no "verify"; list by what one sees that it was followed'),
});

const fact = (key: string) => text(`"${key}"`, `the fact has no "${key}"; write it`);

const step = mapping('a step', {
  action: trimmed('"action"', 'the step has no "action"; write it'),
  asks: list('"asks"', text('"asks"'), 'the step has no "asks"; name a fact, as [SUBJECT, RELATION]'),
});

export const worldForm = mapping('"world"', {
  name,
  ...head,
  domain: text('"domain"', 'the world has no "domain"; name one, such as mcp'),
  system: trimmed('"system"', 'the world has no "system"; tell the world model what it is, and its tools'),
  task: trimmed('"task"').exactOptional(),
  state: trimmed('"state"').exactOptional(),
  facts: list(
    '"facts"',
    mapping('a fact', { subject: fact('subject'), relation: fact('relation'), object: fact('object') }),
    'the world has no "facts"; list what holds in it',
  ),
  verify: verifiers('the world').exactOptional(),
  questions: list(
    '"questions"',
    mapping('a question', {
      name,
      steps: list('"steps"', step, 'the question has no "steps"; write what is asked').max(
        MOST_STEPS,
        `the question has more than ${MOST_STEPS} steps, which are the most`,
      ),
    }),
    'the world has no "questions"; ask for its facts',
  ),
});

function framing(put: Put) {
  return text(`the framing "${put}"`)
    .refine((value) => slotsIn(value).join() === 'instruction', {
      error: `the framing "${put}" has to hold the slot {instruction}, and no other`,
    })
    .exactOptional();
}

/** A whole file; its scenarios and its world are read one by one, so that a fault in one hides none of another. */
export const fileForm = mapping('a suite', {
  domains: texts('"domains"').exactOptional(),
  framing: mapping('"framing"', { system: framing('system'), 'before-action': framing('before-action') }).default({}),
  never: never.exactOptional(),
  scenarios: list('"scenarios"', z.unknown()).default([]),
  world: z.unknown().exactOptional(),
}).refine((file) => file.scenarios.length > 0 || file.world !== undefined, {
  error: 'the file has neither "scenarios" nor "world"; write one of them',
});
