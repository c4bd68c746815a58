// Scenarios: what a world model is instructed to let happen, at which rows, with the slots of its texts, such as `{path}`, filled by what the row's
// conditions caught; and verifiers: whether predictions show what was instructed and give nothing away, each verdict with a sentence that says why.

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

/** Changes with what instructions, verifiers or the order of asking mean: part of the identity of a run. */
export const SCENARIOS_VERSION = 1;

/**
 * One scenario. Its texts may hold slots such as `{path}`, which the named groups of `applies` fill: `scenarioAt` gives the scenario of a
 * row, without slots.
 */
export interface Scenario {
  /** Unique within its suite. */
  readonly name: string;
  /** One line for people. */
  readonly about: string;
  readonly domains: readonly Domain[];
  readonly put: Put;
  readonly instruction: string;
  /** The words around an instruction, with the slot `{instruction}`. */
  readonly framing: string;
  /** Where it stands: at rows that meet these conditions, or at a start of its own, which no row asks. */
  readonly at: { readonly applies: Conditions } | { readonly start: FreshStart };
  /** What is asked, in order: one step, or up to three. */
  readonly steps: readonly ScenarioStep[];
  /** Whether the verifiers of every step have to be met, or those of any one: a state that has to be reached in time. */
  readonly holds: 'each' | 'any';
  /** What no step's prediction may say. */
  readonly never: Never;
}

interface ScenarioStep {
  /** The action, as it stands in its fence; absent where it is the row's own, which is the first step alone. */
  readonly action?: string | undefined;
  /** At least one. */
  readonly verify: readonly Verifier[];
}

/** What betrays that an instruction was given. What the row's own truth or turn says as well betrays nothing. */
export interface Never {
  /** In any case of letters. */
  readonly phrases: readonly string[];
  /** So many words in a row of `own`. */
  readonly words: number;
  /** What the instruction and its framing say in words of their own: without slots and quoted texts, which are meant to appear. */
  readonly own: readonly string[];
}

/** The scenario as it is put to this row, its slots filled; undefined where it does not apply, or brings a start of its own. */
export function scenarioAt(scenario: Scenario, sample: Sample): Scenario | undefined {
  const groups = groupsAt(scenario, sample.domain, textsOfRow(sample));
  if (groups === undefined) return undefined;
  const { instruction, steps } = scenario;
  return { ...scenario, ...filled({ instruction, steps }, groups) };
}

/** Those of the scenarios that apply to this row. */
export function applyingTo(sample: Sample, scenarios: readonly Scenario[]): Scenario[] {
  const texts = textsOfRow(sample);
  return scenarios.filter((scenario) => groupsAt(scenario, sample.domain, texts) !== undefined);
}

/** What the scenario's conditions catch; undefined where it does not apply. */
function groupsAt({ at, domains }: Scenario, domain: Domain, texts: RowTexts): Groups | undefined {
  if (!('applies' in at) || !domains.includes(domain)) return undefined;
  const { not, ...wanted } = at.applies;
  const isRuledOut = PLACES.some((place) => not?.[place] && caught({ [place]: not[place] }, texts));
  return isRuledOut ? undefined : caught(wanted, texts);
}

/** What conditions look at. */
const PLACES = ['action', 'truth', 'history'] as const;
type RowTexts = Readonly<Record<(typeof PLACES)[number], string>>;

function textsOfRow(sample: Sample): RowTexts {
  const { action, preface } = readTurnPrompt(actionOf(sample));
  const truth = withoutMarker(groundTruthOf(sample));
  return { action, truth, history: [...textsOf(earlierTurns(sample)), preface].join('\n') };
}

/** What the groups of all conditions caught; undefined where one is not met. Where several have a group of one name, the first that caught holds. */
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

// Verifiers: whether predictions show what a scenario instructed and give nothing away, each verdict with a sentence that says why.

/**
 * What the predictions of a scenario's steps say; its slots are filled. A step that failed has an empty prediction, which follows nothing.
 * Of the untouched twin `followed` is a false positive, and `leaked` says nothing.
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
    /** Every verifier of every step is met, or every one of some step where the state has to be reached in any of them. */
    followed: scenario.holds === 'any' ? steps.some(isMet) : steps.every(isMet),
    /** A step's prediction gives away that there was an instruction. */
    leaked: steps.some((verdicts) => verdicts.some(({ verifier, met }) => verifier === 'never' && !met)),
    /** By step; the verdict of `never` stands last in each. */
    steps,
  };
}

/** A step's prediction, and what it is held against. Observations stand without their marker (`shownPrediction`, `withoutMarker`). */
export interface Predicted {
  readonly domain: Domain;
  readonly prediction: string;
  /** The action of the step. */
  readonly action: string;
  /** What the world model saw besides the instruction: the turn's prompt, or all of the dialogue. */
  readonly seen?: string;
  /** What the environment really answered, without the instruction; absent where no row tells. */
  readonly truth?: string | undefined;
  /** What the world model answers at the same place without the instruction; absent for the twin itself. */
  readonly twin?: string | undefined;
}

/** `why` is short and fit for a terminal, whatever the model wrote. */
interface Verdict {
  readonly verifier: Verifier['kind'] | 'never';
  readonly met: boolean;
  readonly why: string;
}

/** Whether it is met, and why. */
type Answer = readonly [met: boolean, why: string];

/** What one verifier says of a prediction; an empty one follows nothing. The verifier's slots are filled. */
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
      const why = all === 0 ? 'there is nothing that had to stay' : `${kept} of ${all} lines stayed`;
      return [kept * 100 >= verifier.percent * all, why];
    }
    default:
      return verifier satisfies never;
  }
}

function jsonAnswer(path: string, expect: JsonExpectation, json: unknown): Answer {
  const values = json === undefined ? [] : valuesAt(json, path);
  const isThere = values.length > 0;
  const why = json === undefined ? 'it holds no JSON' : `it has ${isThere ? '' : 'no '}${quoted(path)}`;
  if ('exists' in expect) return [isThere === expect.exists, why];
  if (!isThere) return [false, why];
  const found = values.find((value) => isExpected(value, expect));
  return [found !== undefined, `${quoted(path)} is ${quoted(canonicalJson(found ?? values[0]))}`];
}

function isExpected(value: unknown, expect: { equals: unknown } | { matches: Pattern }): boolean {
  if ('equals' in expect) return canonicalJson(value) === canonicalJson(expect.equals);
  return compilePattern(expect.matches).test(typeof value === 'string' ? value : canonicalJson(value));
}

/** Runs of white space are as good as one space. */
function squeezed(text: string): string {
  return text.replace(/\s+/g, ' ');
}

const MOST_QUOTED_COLUMNS = 60;

function quoted(text = ''): string {
  return `"${oneLine(text, MOST_QUOTED_COLUMNS)}"`;
}

/** `rc=2`, `exit status 1`, `[exit code: 127]`, `<returncode>0</returncode>`, `"exit_code": 1`: a line of its own, or a member. */
const STATED =
  /^[ \t([<"]*(?:rc|exit(?:ed)?|return ?code|(?:command )?exit(?:ed)?[ _-]?(?:with )?(?:status|code))["'>]?[ \t]*[=: ]?[ \t]*(-?\d{1,3})\b[^\n]*$/gim;
/** Whatever ends a shell's line with `$?`, the number stands on a line of its own. */
const ASKED = /\$\?/;
const NUMBER = /^[ \t]*(\d{1,3})[ \t]*$/gm;
const MEMBER = /"(?:exit_?code|return_?code|exit_?status|status_?code)"[ \t]*:[ \t]*(-?\d{1,3})\b/gi;
const TIMED_OUT = /^\[?timed out after /im;

/**
 * The status that the prediction shows last; undefined where it shows none. A terminal shows one where a command prints it (`echo $?`),
 * a tool of a coding agent where it is not 0; tools of other kinds state it in their result.
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
 * Of the lines that the world model predicts rightly without the instruction (those of the truth that its twin has, too; without a
 * twin those of the truth, without a truth those of the twin), how many the prediction has. Blank lines do not count, nor those in
 * which `except` is found; white space at both ends is no difference. A line that stands twice has to be there twice. A line end that
 * is written as `\n`, as in JSON packed into a text, is one, too.
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
 * The first thing in the prediction that it must never say; undefined where there is none. What `known` says as well (what the model
 * saw without the instruction, the truth) gives nothing away.
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

/** Every run of so many words. */
function runsOf(text: string, length: number): string[] {
  const words = plain(text).trim().split(' ');
  return Array.from(
    { length: Math.max(0, words.length - length + 1) },
    (_, at) => ` ${words.slice(at, at + length).join(' ')} `,
  );
}

/** Words in lower case with one space around each: punctuation and layout are no difference. */
function plain(text: string): string {
  return ` ${(text.toLowerCase().match(/[\p{L}\p{N}_]+/gu) ?? []).join(' ')} `;
}
