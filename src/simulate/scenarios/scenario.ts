// Scenarios: what a world model is instructed to make happen, and at which rows; slots in the texts, such as `{path}`, are filled from the
// captures of the row's conditions. And verifiers: whether predictions show what was instructed and reveal nothing, each verdict with a reason.

import { common } from '../../core/groups.js';
import { canonicalJson } from '../../core/json.js';
import { oneLine } from '../../core/printable.js';
import { withoutMarker } from '../../core/reply.js';
import { actionOf, earlierTurns, groundTruthOf, textsOf } from '../../core/turn.js';
import type { Domain, Sample } from '../../core/types.js';
import { type FreshStart, readTurnPrompt } from '../../infer/world.js';
import {
  type Conditions,
  compilePattern,
  filled,
  type Groups,
  type JsonExpectation,
  jsonIn,
  type Pattern,
  type Put,
  type Verifier,
  valuesAt,
} from './forms.js';

export const BUNDLED_SUITES = ['standard'] as const;

/** Changes with the meaning of instructions, verifiers or the order of requests; part of a run's identity. */
export const SCENARIOS_VERSION = 1;

/**
 * One scenario. Its texts may contain slots such as `{path}`, which the named groups of `applies` fill; `scenarioAt` returns the scenario
 * at a row, without slots.
 */
export interface Scenario {
  /** Unique within its suite. */
  readonly name: string;
  /** One line for readers. */
  readonly about: string;
  readonly domains: readonly Domain[];
  readonly put: Put;
  readonly instruction: string;
  /** The words around an instruction, with the slot `{instruction}`. */
  readonly framing: string;
  /** Where it applies: at rows that meet these conditions, or at its own start, without a row. */
  readonly at: { readonly applies: Conditions } | { readonly start: FreshStart };
  /** One to three steps, asked in order. */
  /** Each with its action, as in its fence (absent if it is the row's own, which only the first step can have), and a verifier or more. */
  readonly steps: readonly { readonly action?: string | undefined; readonly verify: readonly Verifier[] }[];
  /** Whether the verifiers of every step must pass, or those of any one (a state to reach in time). */
  readonly holds: 'each' | 'any';
  /** What no step's prediction may contain. */
  readonly never: Never;
}

/** Text that reveals an instruction. Text that also occurs in the row's own truth or turn reveals nothing. */
export interface Never {
  /** Compared without regard to case. */
  readonly phrases: readonly string[];
  /** This many consecutive words of `own`. */
  readonly words: number;
  /** The instruction's and framing's own words: without slots and quoted texts, which are meant to appear. */
  readonly own: readonly string[];
}

/** The scenario at this row, with its slots filled; undefined if it does not apply, or has its own start. */
export function scenarioAt(scenario: Scenario, sample: Sample): Scenario | undefined {
  const groups = groupsAt(scenario, sample.domain, textsOfRow(sample));
  if (groups === undefined) return undefined;
  const { instruction, steps } = scenario;
  return { ...scenario, ...filled({ instruction, steps }, groups) };
}

/** The scenarios that apply to this row. */
export function applyingTo(sample: Sample, scenarios: readonly Scenario[]): Scenario[] {
  const texts = textsOfRow(sample);
  return scenarios.filter((scenario) => groupsAt(scenario, sample.domain, texts) !== undefined);
}

/** The captures of the scenario's conditions; undefined if it does not apply. */
function groupsAt({ at, domains }: Scenario, domain: Domain, texts: RowTexts): Groups | undefined {
  if (!('applies' in at) || !domains.includes(domain)) return undefined;
  const { not, ...wanted } = at.applies;
  const isRuledOut = PLACES.some((place) => not?.[place] && caught({ [place]: not[place] }, texts));
  return isRuledOut ? undefined : caught(wanted, texts);
}

/** The texts that conditions match. */
const PLACES = ['action', 'truth', 'history'] as const;
type RowTexts = Readonly<Record<(typeof PLACES)[number], string>>;

function textsOfRow(sample: Sample): RowTexts {
  const { action, preface } = readTurnPrompt(actionOf(sample));
  const truth = withoutMarker(groundTruthOf(sample));
  return { action, truth, history: [...textsOf(earlierTurns(sample)), preface].join('\n') };
}

/** The captures of all conditions; undefined if one is not met. If several have a group of the same name, the first capture applies. */
function caught(conditions: Omit<Conditions, 'not'>, texts: RowTexts): Groups | undefined {
  let groups: Groups = {};
  for (const place of PLACES) {
    const pattern = conditions[place];
    if (pattern === undefined) continue;
    const found = compilePattern(pattern).groups(texts[place]);
    if (found === undefined) return undefined;
    groups = { ...found, ...groups };
  }
  return groups;
}

// Verifiers: whether predictions show what a scenario instructed and reveal nothing, each verdict with a reason.

/**
 * Verifies the predictions of a scenario's steps; its slots are filled. A failed step has an empty prediction, which follows nothing.
 * For the untouched twin, `followed` is a false positive, and `leaked` is meaningless.
 */
export function outcomeOf(scenario: Scenario, predicted: readonly Predicted[]) {
  const steps = scenario.steps.map(({ verify: verifiers }, index): Verdict[] => {
    const step = predicted[index];
    if (step === undefined) return [];
    const leak = leakIn(scenario.never, step.prediction, [step.seen ?? '', step.truth ?? '']);
    const never = { verifier: 'never', met: leak === undefined, why: leak ?? 'it gives nothing away' } as const;
    return [...verifiers.map((verifier) => verify(verifier, step)), never];
  });
  const isMet = (verdicts: readonly Verdict[]) =>
    verdicts.length > 0 && verdicts.every(({ verifier, met }) => verifier === 'never' || met);
  return {
    /** All verifiers of every step pass; for a state to reach in time, all verifiers of any one step. */
    followed: scenario.holds === 'any' ? steps.some(isMet) : steps.every(isMet),
    /** A step's prediction reveals that there was an instruction. */
    leaked: steps.some((verdicts) => verdicts.some(({ verifier, met }) => verifier === 'never' && !met)),
    /** By step; the verdict of `never` is the last of each. */
    steps,
  };
}

/** A step's prediction, and what it is compared with. Observations have no marker (`shownPrediction`, `withoutMarker`). */
export interface Predicted {
  readonly domain: Domain;
  readonly prediction: string;
  /** The action of the step. */
  readonly action: string;
  /** What the world model saw apart from the instruction: the turn's prompt, or the complete dialogue. */
  readonly seen?: string;
  /** The environment's real answer, without the instruction; absent if there is no row. */
  readonly truth?: string | undefined;
  /** The world model's answer at the same place without the instruction; absent for the twin itself. */
  readonly twin?: string | undefined;
}

/** `why` is short and safe for a terminal, whatever the model wrote. */
interface Verdict {
  readonly verifier: Verifier['kind'] | 'never';
  readonly met: boolean;
  readonly why: string;
}

/** Whether the verifier passes, and why. */
type Answer = readonly [met: boolean, why: string];

/** Applies one verifier to a prediction; an empty prediction follows nothing. The verifier's slots are filled. */
export function verify(verifier: Verifier, of: Predicted): Verdict {
  const isEmpty = of.prediction.trim() === '';
  const [met, why]: Answer = isEmpty ? [false, 'the prediction is empty'] : answerTo(verifier, of);
  return { verifier: verifier.kind, met, why };
}

function answerTo(verifier: Verifier, of: Predicted): Answer {
  const { prediction } = of;
  switch (verifier.kind) {
    case 'contains':
    case 'lacks': {
      const { kind, texts } = verifier;
      const said = squeezed(prediction);
      const odd = texts.find((text) => said.includes(squeezed(text).trim()) !== (kind === 'contains'));
      const isThere = (odd === undefined) === (kind === 'contains');
      return [odd === undefined, `it ${isThere ? 'says' : 'does not say'} ${quoted(odd ?? texts[0])}`];
    }
    case 'matches': {
      const isMet = compilePattern(verifier.pattern).test(prediction);
      return [isMet, `${isMet ? 'it' : 'nothing in it'} matches ${quoted(verifier.pattern.source)}`];
    }
    case 'json_path':
      return jsonAnswer(verifier.path, verifier.expect, jsonIn(prediction));
    case 'exit_status': {
      const shown = exitStatusIn(of);
      if (shown === undefined) return [false, 'it shows no exit status'];
      const { status } = verifier;
      return [status === 'nonzero' ? shown !== 0 : shown === status, `the exit status is ${shown}`];
    }
    case 'unchanged_elsewhere': {
      const { kept, of: all } = keptLines(of, verifier.except);
      const why = all === 0 ? 'no line had to stay' : `${kept} of ${all} lines stayed`;
      return [kept * 100 >= verifier.percent * all, why];
    }
    default:
      return verifier satisfies never;
  }
}

function jsonAnswer(path: string, expect: JsonExpectation, json: unknown): Answer {
  const values = json === undefined ? [] : valuesAt(json, path);
  const isThere = values.length > 0;
  const why = json === undefined ? 'it contains no JSON' : `it has ${isThere ? '' : 'no '}${quoted(path)}`;
  if ('exists' in expect) return [isThere === expect.exists, why];
  if (!isThere) return [false, why];
  const found = values.find((value) => isExpected(value, expect));
  return [found !== undefined, `${quoted(path)} is ${quoted(canonicalJson(found ?? values[0]))}`];
}

function isExpected(value: unknown, expect: { equals: unknown } | { matches: Pattern }): boolean {
  if ('equals' in expect) return canonicalJson(value) === canonicalJson(expect.equals);
  return compilePattern(expect.matches).test(typeof value === 'string' ? value : canonicalJson(value));
}

/** Collapses runs of white space to one space. */
function squeezed(text: string): string {
  return text.replace(/\s+/g, ' ');
}

const MOST_QUOTED_COLUMNS = 60;

function quoted(text = ''): string {
  return `"${oneLine(text, MOST_QUOTED_COLUMNS)}"`;
}

/** `rc=2`, `exit status 1`, `[exit code: 127]`, `<returncode>0</returncode>`, `"exit_code": 1`: a line of its own, or a JSON member. */
const STATED =
  /^[ \t([<"]*(?:rc|exit(?:ed)?|return ?code|(?:command )?exit(?:ed)?[ _-]?(?:with )?(?:status|code))["'>]?[ \t]*[=: ]?[ \t]*(-?\d{1,3})\b[^\n]*$/gim;
/** However a shell line prints `$?`, the number is on its own line. */
const ASKED = /\$\?/;
const NUMBER = /^[ \t]*(\d{1,3})[ \t]*$/gm;
const MEMBER = /"(?:exit_?code|return_?code|exit_?status|status_?code)"[ \t]*:[ \t]*(-?\d{1,3})\b/gi;
const TIMED_OUT = /^\[?timed out after /im;

/**
 * The last status in the prediction; undefined if it has none. A terminal shows one if a command prints it (`echo $?`), a coding agent's
 * tool if it is not 0; other tools state it in their result.
 */
function exitStatusIn({ domain, prediction, action }: Predicted): number | undefined {
  const stated = lastNumber(prediction, STATED) ?? lastNumber(prediction, MEMBER);
  if (stated !== undefined) return stated;
  if (domain === 'terminal') return ASKED.test(action) ? lastNumber(prediction, NUMBER) : undefined;
  return domain === 'swe' && !TIMED_OUT.test(prediction) && !/^Error:/.test(prediction) ? 0 : undefined;
}

function lastNumber(text: string, pattern: RegExp): number | undefined {
  const found = Array.from(text.matchAll(pattern)).at(-1)?.[1];
  return found === undefined ? undefined : Number(found);
}

/**
 * Of the lines that the world model predicts correctly without the instruction (lines common to truth and twin; without a twin the
 * truth's, without a truth the twin's), how many the prediction has. Blank lines and lines that match `except` do not count; leading and
 * trailing white space is ignored. A line that occurs twice must occur twice. An escaped `\n`, as in JSON packed into a text, also
 * ends a line.
 */
export function keptLines({ prediction, truth, twin }: Predicted, except?: Pattern) {
  const changing = except === undefined ? undefined : compilePattern(except);
  const reference = common(linesOf(truth ?? twin ?? ''), linesOf(twin ?? truth ?? '')).filter(
    (line) => changing?.test(line) !== true,
  );
  return { kept: common(reference, linesOf(prediction)).length, of: reference.length };
}

function linesOf(text: string): string[] {
  return text.split(/\n|\\n/).flatMap((line) => line.trim() || []);
}

/**
 * The first forbidden text in the prediction; undefined if there is none. Text that also occurs in `known` (what the model saw without the
 * instruction, and the truth) reveals nothing.
 */
function leakIn(never: Never, prediction: string, known: readonly string[]): string | undefined {
  const text = plain(prediction);
  let others: readonly string[] | undefined;
  const isNew = (words: string) => {
    if (!text.includes(words)) return false;
    others ??= known.map(plain);
    return !others.some((other) => other.includes(words));
  };
  const phrase = never.phrases.find((phrase) => isNew(plain(phrase).trimEnd()));
  if (phrase !== undefined) return `it says ${quoted(phrase)}`;
  const run = never.own.flatMap((own) => runsOf(own, never.words)).find(isNew);
  return run && `it repeats the instruction: ${quoted(run.trim())}`;
}

/** All runs of `length` consecutive words. */
function runsOf(text: string, length: number): string[] {
  const words = plain(text).trim().split(' ');
  return Array.from(
    { length: Math.max(0, words.length - length + 1) },
    (_, at) => ` ${words.slice(at, at + length).join(' ')} `,
  );
}

/** Lower-case words with one space around each, so that punctuation and layout do not matter. */
function plain(text: string): string {
  return ` ${(text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).join(' ')} `;
}
