// What a true observation is made of: what action and history determine, what only a run can know, and what is merely plausible.

import { type SpecificToken, specificTokens, tokensOfValue } from '../../benchmark/specific-tokens.js';
import { isContainer, parseJson } from '../../core/json.js';
import { withoutMarker } from '../../core/reply.js';
import { actionOf, earlierTurns, type Turn, textsOf, withoutRequest } from '../../core/turn.js';
import type { Sample } from '../../core/types.js';
import { type RuntimeToken, runtimeTokens } from './runtime.js';
import { inOrder, type JsonSpan, readJson, type Span, type Unit, unitsOf } from './units.js';
import { observationOf } from './variant.js';

/** Kinds of what can be wrong. */
export type TokenKind = 'number' | 'path' | 'name' | 'state' | 'line';

/** How it is told that a token is determined. */
type Ground =
  /** The same line stands in the action, or the same key with the same value. */
  | 'action-line'
  /** The token stands in the action. */
  | 'action-token'
  /** The same line follows the same line, the last time that the history has it. */
  | 'history-line'
  /** The same words stand before it in its line, the last time that the history has them. */
  | 'history-label'
  /** A prompt that the last observation ended with. */
  | 'prompt'
  | 'rule';

export interface DeterminedToken extends Span {
  readonly kind: TokenKind;
  readonly ground: Ground;
}

/** Anything of an observation that can be wrong while its format stays: a specific token, or a plain word or number. */
export interface ContentToken extends Span {
  readonly kind: TokenKind;
  /** How sure it is that another one would be wrong: a plain one (0), a specific one (1), a state or what is determined (2). */
  readonly certainty: number;
  /** Whether it stands in a line in which an interactive program waits for input, or shows what it was given. */
  readonly isPrompt: boolean;
}

interface TruthTokens {
  /** The truth without its marker. Places are in it. */
  readonly text: string;
  /** In their order; none overlaps another, nor a runtime token. */
  readonly determined: readonly DeterminedToken[];
  readonly runtime: readonly RuntimeToken[];
  /** In their order; none overlaps another, nor a runtime token. */
  readonly content: readonly ContentToken[];
  /** Everything that the row says, the truth left out. */
  readonly told: readonly string[];
}

/** Rows are asked for variant by variant: what was found of one is kept as long as the row itself. */
const FOUND = new WeakMap<Sample, TruthTokens>();

/** What a row's truth is made of. Time grows with the row's length alone. */
export function tokensOf(sample: Sample): TruthTokens {
  const found = FOUND.get(sample) ?? read(sample);
  FOUND.set(sample, found);
  return found;
}

function read(sample: Sample): TruthTokens {
  const text = observationOf(sample);
  const earlier = earlierTurns(sample);
  const action = withoutRequest(actionOf(sample));
  const known = knownOf(earlier, action);
  const runtime = runtimeTokens(text);
  const units = unitsOf(text).map((unit) => ({ ...unit, tokens: tokensIn(text, unit) }));
  const determined = withoutOverlaps(inOrder([...tokensByRule(text), ...determinedIn(text, units, known)]), runtime);
  return {
    text,
    determined,
    runtime,
    content: withoutOverlaps(contentIn(text, units, determined), runtime),
    told: [sample.systemPrompt, action, ...textsOf(earlier)],
  };
}

/** A unit with its specific tokens. */
interface ReadUnit extends Unit {
  readonly tokens: readonly SpecificToken[];
}

function determinedIn(text: string, units: readonly ReadUnit[], known: Known): DeterminedToken[] {
  let context = FIRST;
  return units.flatMap((unit) => {
    const { tokens } = unit;
    const ground = known.groundOf(unit, context);
    context = contextAfter(context, unit);
    if (ground === undefined) return tokens.flatMap((token) => tokenGround(text, unit, token, known));
    return tokens.length > 0 ? tokens.map((token) => ({ ...token, ground })) : wholly(text, unit, ground);
  });
}

/** A line of one word is mostly form: what holds other lines together. */
const TWO_WORDS = /[\p{L}\p{N}][^\p{L}\p{N}]+[\p{L}\p{N}]/u;

/** A line without a specific token can be dropped; of JSON, a number under the key of the action can be another. */
function wholly(text: string, unit: Unit, ground: Ground): DeterminedToken[] {
  if (unit.kind === 'line') return TWO_WORDS.test(unit.words) ? [{ kind: 'line', ground, ...unit.whole }] : [];
  const isNumber = ground === 'action-line' && /^-?\d+(?:\.\d+)?$/.test(text.slice(unit.start, unit.end));
  return isNumber ? [{ kind: 'number', ground, start: unit.start, end: unit.end }] : [];
}

function tokenGround(text: string, unit: Unit, token: SpecificToken, known: Known): DeterminedToken[] {
  const said = text.slice(token.start, token.end);
  if (token.kind === 'state') return [];
  if (known.actionHas(said)) return [{ ...token, ground: 'action-token' }];
  const isPrompt = unit.words.startsWith(known.prompt) && token.end <= unit.start + known.prompt.length;
  if (isPrompt) return [{ ...token, ground: 'prompt' }];
  const label = labelOf(text, unit, token);
  return label !== undefined && known.historyHas(label, said) ? [{ ...token, ground: 'history-label' }] : [];
}

/** A shell's prompt with what was typed behind it, or that of an interpreter. */
const PROMPT_LINE = /^(?:\([^()\s]+\) ?)?[\w.-]+@[\w.-]+:\S*[#$](?: |$)|^(?:>{1,3}|\.\.\.|\$|PS \S*>)(?: |$)/;
/** A value under such a key says of what kind the rest is: with another, the format is another. */
const FORMAL_LABELS: ReadonlySet<string> = new Set(['"type": ', '"jsonrpc": ', '"object": ']);
/** Behind a key of JSON that stands in a string of JSON. */
const KEY_END = /^\\?"\s*:/;

/** The specific tokens of each unit, or its plain ones; both together where the text has fewer than two otherwise. */
function contentIn(text: string, units: readonly ReadUnit[], determined: readonly DeterminedToken[]): ContentToken[] {
  const grounds = new Set(determined.map(({ start }) => start));
  const open = units.filter(({ label }) => !FORMAL_LABELS.has(label));
  const contentOf = (unit: ReadUnit, isAll: boolean): ContentToken[] => {
    const isPrompt = unit.kind === 'line' && PROMPT_LINE.test(unit.words);
    const specific = unit.tokens.filter(({ end }) => !KEY_END.test(text.slice(end, end + 10)));
    const content = specific
      // That something stands a little elsewhere is hardly a fault.
      .filter(({ kind, start, end }) => kind !== 'number' || !isCoordinate(text, start, end))
      .map((token) => ({ ...token, certainty: token.kind === 'state' || grounds.has(token.start) ? 2 : 1, isPrompt }));
    if (specific.length > 0 && !isAll) return content;
    return inOrder([...content, ...plainTokens(text, unit).map((token) => ({ ...token, certainty: 0, isPrompt }))]);
  };
  const usual = open.flatMap((unit) => contentOf(unit, false));
  return usual.length >= 2 ? usual : open.flatMap((unit) => contentOf(unit, true));
}

/** Numbers that count or measure something: not those of versions, paths and the like. */
const NUMBER = String.raw`(?<![\p{L}\p{N}_.,:/\-#@([])\d{1,9}(?:\.\d+)?(?![\p{L}\p{N}_:/\-)\]]|[.,]\d)`;
/** Neither a letter behind a backslash nor a label, a key or a head begins a word. */
const WORD = String.raw`(?<![\p{L}\p{N}_\\])\p{L}[\p{L}\p{N}_]{3,}(?![\p{L}\p{N}_]|\\?["']?\s*[:=]|\t)`;
const PLAIN = new RegExp(`(${NUMBER})|${WORD}`, 'gu');

/** Words and numbers of a unit that has no specific token. An element that says nothing is form, and so is JSON but for what is a string. */
function plainTokens(text: string, { kind, start, end, whole }: Unit): Pick<ContentToken, 'kind' | 'start' | 'end'>[] {
  const said = text.slice(start, end);
  const isValue = kind === 'leaf' && text.charAt(whole.start) !== '"';
  if (/^<\w/.test(said)) return [];
  return Array.from(said.matchAll(PLAIN))
    .filter(([, number]) => number !== undefined || !isValue)
    .map(({ 0: { length }, 1: number, index }) => ({
      kind: number === undefined ? 'name' : 'number',
      start: start + index,
      end: start + index + length,
    }));
}

/** The tokens that overlap none before them, and no runtime token. */
function withoutOverlaps<T extends Span>(tokens: readonly T[], runtime: readonly Span[]): T[] {
  const kept: T[] = [];
  let next = 0;
  for (const token of tokens) {
    while (next < runtime.length && (runtime[next]?.end ?? 0) <= token.start) next++;
    const isRuntime = (runtime[next]?.start ?? Infinity) < token.end;
    if (!isRuntime && token.start >= (kept.at(-1)?.end ?? 0)) kept.push(token);
  }
  return kept;
}

interface Known {
  /** Whether the action or the history has the unit, and how. */
  groundOf(unit: Unit, context: Context): 'action-line' | 'history-line' | undefined;
  actionHas(token: string): boolean;
  /** Whether the history last had this token behind these words. */
  historyHas(label: string, token: string): boolean;
  /** What the last observation ended with, where that is a shell's prompt; else empty. */
  readonly prompt: string;
}

/** What stands before a unit: the unit before it, and the two before it. */
interface Context {
  readonly near: string;
  readonly far: string;
}

/** Before the first unit of an observation, and of any other text. */
const FIRST: Context = { near: '^', far: '^' };
const NOWHERE: Context = { near: '', far: '' };
/** A line of less than this says nothing of what follows it. */
const SAYS_SOMETHING = /\w.*\w.*\w.*\w/;
/** What is left out of an excerpt depends on what was asked, and so does what is left. */
const EXCERPT = /(?:^|\s)(?:\.\.\.|…)(?=\s|$)/;
const LONGEST_LABEL = 120;
const PROMPT = /^\S*(?:[@:~/]|>>>).{0,80}[$#>%]$/;
const ACTION = '**Action:**';
const FENCE = /^```\w*\n([\s\S]*?)\n?```/gm;

/** What stands before the unit after this one. A unit that says little counts together with the one before. */
function contextAfter({ near }: Context, { words }: Unit): Context {
  const before = near.slice(-LONGEST_LABEL);
  const both = `${before}\n${words}`;
  return { near: SAYS_SOMETHING.test(words) ? words : both, far: both };
}

/** The words before a token in its unit; undefined where they are too many, or fewer than two: many a line starts with the same one. */
function labelOf(text: string, unit: Unit, { kind, start }: SpecificToken): string | undefined {
  if (start - unit.start > LONGEST_LABEL || EXCERPT.test(unit.words)) return undefined;
  const label = unit.label + text.slice(unit.start, start);
  // A key is two words, but what has a name may well have another one the next time.
  const isKey = unit.label !== '' && kind !== 'name';
  return isKey || /[A-Za-z]{2}.*?[^A-Za-z].*?[A-Za-z]{2}/.test(label) ? label : undefined;
}

/** The specific tokens of a unit, placed in the text. Of numbers that say where something is, the first stands for all. */
function tokensIn(text: string, unit: Unit): SpecificToken[] {
  const words = text.slice(unit.start, unit.end);
  const tokens = unit.kind === 'leaf' && unit.label !== '' ? tokensOfValue(words) : specificTokens(words);
  let places = 0;
  return tokens
    .filter(({ kind, start, end }) => {
      if (isForm(words, start, end)) return false;
      return kind !== 'number' || !isCoordinate(words, start, end) || ++places === 1;
    })
    .map(({ kind, start, end }) => ({ kind, start: unit.start + start, end: unit.start + end }));
}

/** Names of elements and of their attributes are the form of an observation, not what it says. */
function isForm(words: string, start: number, end: number): boolean {
  return words.charAt(end) === '=' || (start === 0 && /^(?:\t| ['"])/.test(words.slice(end, end + 2)));
}

/** `action` is the prompt of the turn to predict, without the request to predict. */
function knownOf(earlier: readonly Turn[], action: string): Known {
  const next = new Latest();
  const further = new Latest();
  const labelled = new Latest();
  const learn = (text: string, turn: number, first: Context) => {
    let context = first;
    for (const unit of unitsOf(text)) {
      next.put(context.near, unit.words, turn);
      further.put(context.far, unit.words, turn);
      context = contextAfter(context, unit);
      for (const token of tokensIn(text, unit)) {
        const label = labelOf(text, unit, token);
        if (label !== undefined) labelled.put(label, text.slice(token.start, token.end), turn);
      }
    }
  };
  const place = action.lastIndexOf(ACTION);
  const [state, last] = place === -1 ? ['', action] : [action.slice(0, place), action.slice(place)];
  for (const [turn, { prompt, response }] of earlier.entries()) {
    for (const text of partsOf(prompt)) learn(text, 2 * turn, NOWHERE);
    learn(withoutMarker(response), 2 * turn + 1, FIRST);
  }
  for (const text of partsOf(state)) learn(text, 2 * earlier.length, NOWHERE);
  const asked = askedIn(last);
  return {
    groundOf({ words }, { near, far }) {
      if (asked.words.has(words)) return 'action-line';
      if (EXCERPT.test(words)) return undefined;
      const isNext = next.isUndecided(near) ? further.get(far) === words : next.get(near) === words;
      return isNext ? 'history-line' : undefined;
    },
    actionHas: (token) => asked.tokens.has(token),
    historyHas: (label, token) => labelled.get(label) === token,
    prompt: promptIn(earlier.at(-1)?.response ?? state),
  };
}

/** What stood behind something the last time: of two in one turn, neither is known. */
class Latest {
  readonly #entries = new Map<string, { turn: number; value: string | undefined }>();

  put(key: string, value: string, turn: number): void {
    const entry = this.#entries.get(key);
    if (entry?.turn === turn) {
      if (entry.value !== value) entry.value = undefined;
    } else this.#entries.set(key, { turn, value });
  }

  isUndecided(key: string): boolean {
    const entry = this.#entries.get(key);
    return entry !== undefined && entry.value === undefined;
  }

  get(key: string): string | undefined {
    return this.#entries.get(key)?.value;
  }
}

/** What stands in fences, each by itself, and the rest. */
function partsOf(prompt: string): string[] {
  return [prompt.replace(FENCE, ''), ...Array.from(prompt.matchAll(FENCE), (match) => match[1] ?? '')];
}

function promptIn(text: string): string {
  const last = text.trimEnd().slice(text.trimEnd().lastIndexOf('\n') + 1);
  return last.length <= LONGEST_LABEL && PROMPT.test(last) ? last : '';
}

/** Words and tokens of an action. */
function askedIn(action: string): { readonly words: Set<string>; readonly tokens: Set<string> } {
  const words = new Set<string>();
  const tokens = new Set<string>();
  const learn = (text: string) => {
    for (const unit of unitsOf(text)) if (/[A-Za-z].*\w/.test(unit.words)) words.add(unit.words);
    for (const { kind, start, end } of specificTokens(text)) {
      if (kind !== 'state' && !(kind === 'number' && isCoordinate(text, start, end)))
        tokens.add(text.slice(start, end));
    }
  };
  for (const [, text = ''] of action.matchAll(FENCE)) {
    const values = valuesIn(text);
    if (values === undefined) learn(text);
    else {
      for (const unit of unitsOf(text)) words.add(unit.words);
      for (const value of values) {
        learn(value);
        if (/^[^\n]*[A-Za-z]{2}[^\n]*$/.test(value) && value.length >= 4 && value.length <= 80) tokens.add(value);
      }
    }
  }
  return { words, tokens };
}

/** A number in a list of numbers says where something is, and may say so of anything. */
function isCoordinate(text: string, start: number, end: number): boolean {
  return /\d\s?,\s?$/.test(text.slice(Math.max(0, start - 4), start)) || /^\s?,\s?-?\d/.test(text.slice(end, end + 4));
}

/** The values of an action in JSON, the tool's name left out: strings, and numbers that are too long for a coordinate. */
function valuesIn(text: string): string[] | undefined {
  const found: string[] = [];
  const visit = (value: unknown, depth: number): void => {
    if (depth > 50) return;
    if (typeof value === 'number' && Math.abs(value) >= 10_000) found.push(String(value));
    else if (typeof value === 'string') {
      const inner = parseJson(value);
      if (isContainer(inner)) visit(inner, depth + 1);
      else found.push(value);
    } else if (isContainer(value))
      for (const [key, inner] of Object.entries(value)) {
        if (!(depth === 0 && key === 'name' && 'arguments' in value)) visit(inner, depth + 1);
      }
  };
  const action = parseJson(text);
  if (!isContainer(action)) return undefined;
  visit(action, 0);
  return found;
}

interface RuleToken extends Span {
  readonly kind: 'number' | 'state';
  readonly ground: 'rule';
}

const FAILURE =
  /Traceback \(most recent call last\)|\b(?:[A-Z]\w*)?Error\b|\b(?:error|fatal):|FAILED|No such file or directory|command not found/;
const EXIT_STATUS =
  /\b(?:exit(?:ed with)? (?:status|code)|exit_code|exitCode|returncode)["']?(?: is|[:=])? ?([1-9]\d{0,2})\b/g;
/** A rule is asked no more often than this in a text, so that one that looks back does not take for ever. */
const MOST_QUESTIONS = 50;

/** Counts that a whole text must bear out: the place of the number, and what is counted. */
const COUNTS: readonly (readonly [RegExp, RegExp])[] = [
  [/^Ran (\d+) tests? in /gm, / \.\.\. (?:ok|FAIL|ERROR|skipped.*|expected failure)$/gm],
  [/^FAILED \(.*?failures=(\d+)/gm, /^FAIL: /gm],
  [/^FAILED \(.*?errors=(\d+)/gm, /^ERROR: /gm],
  [/^1\.\.(\d+)$/gm, /^(?:not )?ok \d/gm],
  [/^# tests (\d+)$/gm, /^(?:not )?ok \d/gm],
  [/^# pass (\d+)$/gm, /^ok \d/gm],
  [/^# fail (\d+)$/gm, /^not ok \d/gm],
  [/^=+ .*?\b(\d+) passed\b/gm, / PASSED\b/gm],
  [/^=+ .*?\b(\d+) failed\b/gm, /^FAILED /gm],
  [/^ (\d+) files? changed/gm, /^ \S.* \| +(?:\d+ [+-]*|Bin .*)$/gm],
  [/^collected (\d+) items?$/gm, / (?:PASSED|FAILED|ERROR|SKIPPED)\b/gm],
];
const LISTED =
  /^(?:Found|Showing|Listing|Total:?|There are)? ?(\d+) (?:\w+ )?(?:files?|match(?:es)?|results?|entries|items?|rows?|packages|directories|branches|tests)\b[^.\n]*$/gm;
const ROWS = /^\((\d+) rows?\)$/gm;
const SUM = /^ *(\d+) total$/gm;
const COUNT_KEY = /^"(?:\w*(?:[cC]ount|[tT]otal|[lL]ength)\w*|num_\w+|size)"$/;

/** Tokens that follow by rule; each has been borne out by what is counted. */
function tokensByRule(text: string): RuleToken[] {
  const found: RuleToken[] = [];
  const add = (kind: RuleToken['kind'], start: number, digits: string) =>
    found.push({ kind, ground: 'rule', start, end: start + digits.length });
  const each = (
    pattern: RegExp,
    holds: (count: number, match: RegExpExecArray) => boolean,
    kind: RuleToken['kind'],
  ) => {
    let asked = 0;
    for (const match of text.matchAll(pattern)) {
      if (++asked > MOST_QUESTIONS) return;
      const digits = match[1] ?? '';
      if (holds(Number(digits), match)) add(kind, match.index + match[0].indexOf(digits), digits);
    }
  };
  if (FAILURE.test(text)) each(EXIT_STATUS, () => true, 'state');
  for (const [pattern, counted] of COUNTS) {
    if (!new RegExp(pattern.source, 'm').test(text)) continue;
    const count = text.match(counted)?.length ?? 0;
    each(pattern, (number) => number > 0 && number === count, 'number');
  }
  each(LISTED, (number, match) => number > 0 && number === linesBehind(text, match.index + match[0].length), 'number');
  each(
    ROWS,
    (number, match) =>
      number > 0 && number === linesBefore(text, match.index).findIndex((line) => /^[-+ ]+$/.test(line)),
    'number',
  );
  each(SUM, (number, match) => number === sumBefore(text, match.index), 'number');
  const json = readJson(text, 0, text.length);
  if (json !== undefined) found.push(...countsIn(text, json));
  return found;
}

/** How many lines that are not blank follow on this one without a gap, where the list ends the text or a blank line ends it. */
function linesBehind(text: string, end: number): number {
  const rest = text.slice(end + 1).replace(/^(?:[ \t]*\n)+/, '');
  const gap = rest.search(/\n[ \t]*(?:\n|$)/);
  return (gap === -1 ? rest : rest.slice(0, gap)).split('\n').filter((line) => line.trim() !== '').length;
}

/** The lines before a place, the nearest first. */
function linesBefore(text: string, start: number): string[] {
  return text.slice(0, start).split('\n').slice(0, -1).reverse();
}

function sumBefore(text: string, start: number): number | undefined {
  const lines = linesBefore(text, start);
  const end = lines.findIndex((line) => !/^ *\d+ +\S/.test(line));
  const listed = end === -1 ? lines : lines.slice(0, end);
  return listed.length < 2 ? undefined : listed.reduce((sum, line) => sum + Number.parseInt(line, 10), 0);
}

/** Members that count the one list beside them. */
function countsIn(text: string, node: JsonSpan): RuleToken[] {
  const lists = node.parts.filter(({ value }) => value.kind === 'array');
  const length = node.kind === 'object' && lists.length === 1 ? (lists[0]?.value.parts.length ?? 0) : 0;
  return node.parts.flatMap(({ key, value }) => {
    const counts =
      length > 0 &&
      key !== undefined &&
      COUNT_KEY.test(text.slice(key.start, key.end)) &&
      text.slice(value.start, value.end) === String(length);
    const { start, end } = value;
    return counts ? [{ kind: 'number' as const, ground: 'rule' as const, start, end }] : countsIn(text, value);
  });
}
