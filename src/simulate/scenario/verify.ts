// Verifiers: whether a prediction shows what a scenario instructed, each with a sentence that says why.

import { canonicalJson } from '../../json.js';
import { oneLine } from '../../printable.js';
import type { JsonExpectation, Pattern, Verifier } from '../../scenario.js';
import type { Domain } from '../../types.js';
import { exitStatusIn } from './exit-status.js';
import { jsonIn, valuesAt } from './json-path.js';
import { keptLines } from './kept-lines.js';
import { compilePattern } from './pattern.js';

/** A step's prediction, and what it is held against. Observations stand without their marker (`shownPrediction`, `withoutMarker`). */
export interface Predicted {
  readonly domain: Domain;
  readonly prediction: string;
  /** The action of the step. */
  readonly action: string;
  /** What the environment really answered, without the instruction; absent where no row tells. */
  readonly truth?: string;
  /** What the world model answers at the same place without the instruction; absent for the twin itself. */
  readonly twin?: string;
}

/** `why` is short and fit for a terminal, whatever the model wrote. */
export interface Verdict {
  readonly verifier: Verifier['kind'] | 'never';
  readonly met: boolean;
  readonly why: string;
}

type Checks = {
  readonly [Kind in Verifier['kind']]: (verifier: Extract<Verifier, { kind: Kind }>, of: Predicted) => Answer;
};
/** Whether it is met, and why. */
type Answer = readonly [met: boolean, why: string];

const CHECKS: Checks = {
  contains: ({ texts }, { prediction }) => {
    const missing = texts.find((text) => !includes(prediction, text));
    return missing === undefined
      ? [true, `it says ${quoted(texts[0])}`]
      : [false, `it does not say ${quoted(missing)}`];
  },
  lacks: ({ texts }, { prediction }) => {
    const found = texts.find((text) => includes(prediction, text));
    return found === undefined ? [true, `it does not say ${quoted(texts[0])}`] : [false, `it says ${quoted(found)}`];
  },
  matches: ({ pattern }, { prediction }) =>
    compilePattern(pattern).test(prediction)
      ? [true, `it matches ${quoted(pattern.source)}`]
      : [false, `nothing in it matches ${quoted(pattern.source)}`],
  json_path: ({ path, expect }, { prediction }) => jsonAnswer(path, expect, jsonIn(prediction)),
  exit_status: ({ status }, of) => {
    const shown = exitStatusIn(of);
    if (shown === undefined) return [false, 'it shows no exit status'];
    return [status === 'nonzero' ? shown !== 0 : shown === status, `the exit status is ${shown}`];
  },
  unchanged_elsewhere: ({ except, percent }, of) => {
    const { kept, of: all } = keptLines(of, except);
    const why = all === 0 ? 'there is nothing that had to stay' : `${kept} of ${all} lines stayed`;
    return [kept * 100 >= percent * all, why];
  },
};

/** What one verifier says of a prediction. Its slots are filled. */
export function verify<Kind extends Verifier['kind']>(
  verifier: Extract<Verifier, { kind: Kind }>,
  of: Predicted,
): Verdict {
  // The table has a check of each kind for the verifiers of that kind.
  const check = CHECKS[verifier.kind] as (verifier: Verifier, of: Predicted) => Answer;
  const [met, why] = check(verifier, of);
  return { verifier: verifier.kind, met, why };
}

function jsonAnswer(path: string, expect: JsonExpectation, json: unknown): Answer {
  if (json === undefined)
    return 'exists' in expect && !expect.exists ? [true, 'it holds no JSON'] : [false, 'it holds no JSON'];
  const values = valuesAt(json, path);
  if ('exists' in expect) {
    return [
      values.length > 0 === expect.exists,
      values.length > 0 ? `it has ${quoted(path)}` : `it has no ${quoted(path)}`,
    ];
  }
  if (values.length === 0) return [false, `it has no ${quoted(path)}`];
  const found = values.find((value) => isExpected(value, expect));
  return [found !== undefined, `${quoted(path)} is ${quoted(canonicalJson(found ?? values[0]))}`];
}

function isExpected(value: unknown, expect: { equals: unknown } | { matches: Pattern }): boolean {
  if ('equals' in expect) return canonicalJson(value) === canonicalJson(expect.equals);
  return compilePattern(expect.matches).test(typeof value === 'string' ? value : canonicalJson(value));
}

/** Whether a text stands in another; runs of white space are as good as one space. */
function includes(text: string, wanted: string): boolean {
  return squeezed(text).includes(squeezed(wanted).trim());
}

function squeezed(text: string): string {
  return text.replace(/\s+/g, ' ');
}

const MOST_QUOTED_COLUMNS = 60;

function quoted(text = ''): string {
  return `"${oneLine(text, MOST_QUOTED_COLUMNS)}"`;
}
