// The parts of a true observation: what action and history determine, what only a run can know, and what is merely plausible.

import { type SpecificToken, specificTokens, tokensOfValue } from '../../benchmark/specific-tokens.js';
import { isContainer, parseJson } from '../../core/json.js';
import { withoutMarker } from '../../core/reply.js';
import { actionOf, earlierTurns, type Turn, textsOf, withoutRequest } from '../../core/turn.js';
import type { Sample } from '../../core/types.js';
import { inOrder, type Span, type Unit, unitsOf } from './units.js';
import { observationOf } from './variant.js';

/** The kinds of content that can be wrong. */
export type TokenKind = 'number' | 'path' | 'name' | 'state' | 'line';

export interface DeterminedToken extends Span {
  readonly kind: TokenKind;
  /**
   * Why it counts as determined. `action-line`: the same line is in the action, or the same key with the same value. `action-token`: the
   * token is in the action. `history-line`: the same line follows the same line in their last occurrence in the history. `history-label`:
   * the same words precede it in its line in their last occurrence in the history. `prompt`: the last observation ended with it.
   */
  readonly ground: 'action-line' | 'action-token' | 'history-line' | 'history-label' | 'prompt';
}

/** Anything in an observation that can be wrong while its format stays: a specific token, or a plain word or number. */
export interface ContentToken extends Span {
  readonly kind: TokenKind;
  /** How certain it is that a different token would be wrong: plain (0), specific (1), a state or determined (2). */
  readonly certainty: number;
}

/** The parts of a row's truth. Tokens are in order; none overlaps another, or a runtime token. */
type TruthTokens = ReturnType<typeof read>;

/** Rows are asked about variant by variant: the result for a row is kept as long as the row itself. */
const FOUND = new WeakMap<Sample, TruthTokens>();

/** Time grows only with the row's length. */
export function tokensOf(sample: Sample): TruthTokens {
  const found = FOUND.get(sample) ?? read(sample);
  FOUND.set(sample, found);
  return found;
}

function read(sample: Sample) {
  const text = observationOf(sample);
  const earlier = earlierTurns(sample);
  const action = withoutRequest(actionOf(sample));
  const runtime = runtimeTokens(text);
  const units = unitsOf(text).map((unit) => ({ ...unit, tokens: tokensIn(text, unit) }));
  const determined = withoutOverlaps(inOrder(determinedIn(text, units, earlier, action)), runtime);
  const content = withoutOverlaps(contentIn(text, units, determined), runtime);
  /** Everything the row says except the truth. */
  const told: readonly string[] = [sample.systemPrompt, action, ...textsOf(earlier)];
  return { text, determined, runtime, content, told };
}

/** The tokens that overlap neither an earlier one nor a runtime token. */
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

const MONTH = '(?:Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec)[a-z]{0,6}';
const CLOCK = String.raw`(?:[01]?\d|2[0-3]):[0-5]\d(?::[0-5]\d)?(?:[.,]\d{1,9})?`;

/** The first group, if any, is the token; an earlier pattern takes precedence over a later one. */
const RUNTIME = [
  ['uuid', /\b[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}\b/gi],
  // A temporary name has a random part: after tmp, or after a dot or a dash if it contains a digit or a capital letter.
  [
    'temporary',
    /\/(?:tmp|var\/tmp|var\/folders)\/(?:[\w.-]{1,99}\/){0,9}(?:tmp\w{4,99}|[\w-]{0,50}[.-](?=[a-z]{0,50}[0-9A-Z])\w{5,50}|pytest-of-\w{1,50}\/pytest-\d{1,9})(?:\/[\w.-]{1,99}){0,9}/g,
  ],
  ['address', /\b0x[0-9a-f]{6,16}\b/gi],
  [
    'date',
    new RegExp(
      String.raw`\b\d{4}-\d\d-\d\d(?=\b|T\d)|\b${MONTH} {1,2}\d{1,2}(?:, ?\d{4})?\b|\b\d{1,2} ${MONTH} \d{4}\b`,
      'g',
    ),
  ],
  [
    'time',
    new RegExp(
      String.raw`(?<![\w.:])${CLOCK}(?![\w:]|\.\d)|(?<=\d\dT)${CLOCK}(?![\w:]|\.\d)|(?<=T)${CLOCK}(?=Z|[+-]\d\d)`,
      'g',
    ),
  ],
  ['time', /(?<![\w.,-])1[5-9]\d{8}(?:\d{3}|\.\d{1,9})?(?![\w.,-]*\d)/g],
  [
    'duration',
    /(?<![\w.])(?:\d+m)?\d+(?:\.\d+)? ?(?:ms|µs|us|ns|s|sec|secs|seconds?|minutes?|mins?|hours?)\b(?! ago)/g,
  ],
  ['duration', /(?:duration|elapsed|took|time)[\w-]{0,30}["']?[:= ] ?["']?(\d+\.\d+)/gi],
  ['process', /\b(?:pid|process(?: id)?|PID)["']?[:= #]{1,3}["']?(\d{2,7})\b/g],
  ['process', /^\[\d+\] (\d{3,7})$/gm],
  ['session', /(?:session|request|trace|correlation|transaction)[-_ ]?id["']?[:=]\s*["']?([\w-]{6,})/gi],
  // A hash is hexadecimal with digits and letters; a number of that length is not a hash.
  ['hash', /(?<![\w-])(?=[0-9a-f]*\d)(?=[0-9a-f]*[a-f])[0-9a-f]{7,128}(?![\w-])/g],
  ['hash', /^index ([0-9a-f]{7,40})\.\./gm],
  ['hash', /^index [0-9a-f]{7,40}\.\.([0-9a-f]{7,40})/gm],
  ['hash', /(?<![\w-])sha\d{1,3}[-:=][\w+/=-]{20,}/gi],
  ['size', /(?<![\w.])\d[\d,]*(?:\.\d+)? ?(?:[kKMGT]i?B|[KMGT]|bytes?)\b/g],
  // The size of a file in a long listing.
  ['size', /^[-dlbcps][rwxsStT-]{9}[.+@]?\s+\d+\s+\S+\s+\S+\s+(\d+)\s/gm],
  ['size', /\b(?:file_?size|size|bytes|content-length)["']?[:=]\s*["']?(\d+)\b/gi],
] as const satisfies readonly (readonly [string, RegExp])[];
/** What only a run can know, recognised by its pattern alone. */
export type RuntimeToken = Span & { readonly kind: (typeof RUNTIME)[number][0] };

/** The runtime tokens of a text in order; if two overlap, the one whose pattern comes first in the list. */
export function runtimeTokens(text: string): RuntimeToken[] {
  const found = RUNTIME.flatMap(([kind, pattern], rank) =>
    Array.from(text.matchAll(pattern), ({ index, 0: whole, 1: token = whole }) => {
      const start = index + whole.lastIndexOf(token);
      return { kind, rank, start, end: start + token.length };
    }),
  );
  const kept: typeof found = [];
  for (const token of found.sort((a, b) => a.start - b.start || a.rank - b.rank)) {
    const last = kept.at(-1);
    if (last === undefined || token.start >= last.end) kept.push(token);
    else if (token.rank < last.rank) kept[kept.length - 1] = token;
  }
  return kept;
}

/** A unit with its specific tokens. */
type ReadUnit = Unit & { readonly tokens: readonly SpecificToken[] };

/**
 * The tokens that action and history determine.
 * @param action the prompt of the turn to predict, without the request to predict
 */
function determinedIn(text: string, units: readonly ReadUnit[], earlier: readonly Turn[], action: string) {
  const [next, further, labelled] = [latest(), latest(), latest()];
  const learn = (told: string, turn: number, first: Context) => {
    let context = first;
    for (const unit of unitsOf(told)) {
      next.put(context.near, unit.words, turn);
      further.put(context.far, unit.words, turn);
      context = contextAfter(context, unit);
      for (const token of tokensIn(told, unit)) {
        const label = labelOf(told, unit, token);
        if (label !== undefined) labelled.put(label, told.slice(token.start, token.end), turn);
      }
    }
  };
  const place = action.lastIndexOf(ACTION);
  const [state, last] = place === -1 ? ['', action] : [action.slice(0, place), action.slice(place)];
  for (const [turn, { prompt, response }] of earlier.entries()) {
    for (const part of partsOf(prompt)) learn(part, 2 * turn, NOWHERE);
    learn(withoutMarker(response), 2 * turn + 1, FIRST);
  }
  for (const part of partsOf(state)) learn(part, 2 * earlier.length, NOWHERE);

  const asked = askedIn(last);
  const shellPrompt = promptIn(earlier.at(-1)?.response ?? state);
  const groundOf = ({ words }: Unit, { near, far }: Context) => {
    if (asked.words.has(words)) return 'action-line';
    if (EXCERPT.test(words)) return undefined;
    const follower = next.get(near);
    return (follower === UNDECIDED ? further.get(far) : follower) === words ? 'history-line' : undefined;
  };
  const tokenGround = (unit: Unit, token: SpecificToken) => {
    const said = text.slice(token.start, token.end);
    if (token.kind === 'state') return undefined;
    if (asked.tokens.has(said)) return 'action-token';
    if (unit.words.startsWith(shellPrompt) && token.end <= unit.start + shellPrompt.length) return 'prompt';
    const label = labelOf(text, unit, token);
    return label !== undefined && labelled.get(label) === said ? 'history-label' : undefined;
  };
  let context = FIRST;
  return units.flatMap((unit): DeterminedToken[] => {
    const { tokens, start, end } = unit;
    const ground = groundOf(unit, context);
    context = contextAfter(context, unit);
    if (ground === undefined || tokens.length > 0) {
      return tokens.flatMap((token) => {
        const own = ground ?? tokenGround(unit, token);
        return own === undefined ? [] : [{ ...token, ground: own }];
      });
    }
    // A line without a specific token can be dropped; in JSON, a number under a key of the action can be changed.
    if (unit.kind === 'line') return TWO_WORDS.test(unit.words) ? [{ kind: 'line', ground, ...unit.whole }] : [];
    const isNumber = ground === 'action-line' && /^-?\d+(?:\.\d+)?$/.test(text.slice(start, end));
    return isNumber ? [{ kind: 'number', ground, start, end }] : [];
  });
}

/** A line of one word is mostly form that holds other lines together. */
const TWO_WORDS = /[\p{L}\p{N}][^\p{L}\p{N}]+[\p{L}\p{N}]/u;

/** The value of such a key states the type of the rest: changing it would change the format. */
const FORMAL_LABELS: ReadonlySet<string> = new Set(['"type": ', '"jsonrpc": ', '"object": ']);
/** Follows a JSON key inside a JSON string. */
const KEY_END = /^\\?"\s*:/;

/** The specific tokens of each unit, or else its plain ones; both if the text has fewer than two otherwise. */
function contentIn(text: string, units: readonly ReadUnit[], determined: readonly DeterminedToken[]): ContentToken[] {
  const grounds = new Set(determined.map(({ start }) => start));
  const open = units.filter(({ label }) => !FORMAL_LABELS.has(label));
  const contentOf = (unit: ReadUnit, isAll: boolean): ContentToken[] => {
    const specific = unit.tokens.filter(({ end }) => !KEY_END.test(text.slice(end, end + 10)));
    const content = specific
      // A slightly different position is hardly an error.
      .filter(({ kind, start, end }) => kind !== 'number' || !isCoordinate(text, start, end))
      .map((token) => ({ ...token, certainty: token.kind === 'state' || grounds.has(token.start) ? 2 : 1 }));
    if (specific.length > 0 && !isAll) return content;
    return inOrder([...content, ...plainTokens(text, unit).map((token) => ({ ...token, certainty: 0 }))]);
  };
  const usual = open.flatMap((unit) => contentOf(unit, false));
  return usual.length >= 2 ? usual : open.flatMap((unit) => contentOf(unit, true));
}

/** Numbers that count or measure something, excluding those in versions, paths and the like. */
const NUMBER = String.raw`(?<![\p{L}\p{N}_.,:/\-#@([])\d{1,9}(?:\.\d+)?(?![\p{L}\p{N}_:/\-)\]]|[.,]\d)`;
/** A letter after a backslash does not begin a word, and labels, keys and heads are not words. */
const WORD = String.raw`(?<![\p{L}\p{N}_\\])\p{L}[\p{L}\p{N}_]{3,}(?![\p{L}\p{N}_]|\\?["']?\s*[:=]|\t)`;
const PLAIN = new RegExp(`(${NUMBER})|${WORD}`, 'gu');

/** Words and numbers of a unit without specific tokens. An element without content is form, and so is JSON apart from its strings. */
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

/** What precedes a unit: the previous unit, and the previous two. */
type Context = { readonly near: string; readonly far: string };

/** Before the first unit of an observation, and of any other text. */
const FIRST: Context = { near: '^', far: '^' };
const NOWHERE: Context = { near: '', far: '' };
/** A line shorter than this says nothing about what follows it. */
const SAYS_SOMETHING = /\w.*\w.*\w.*\w/;
/** What is left out of an excerpt depends on what was asked, and so does what remains. */
const EXCERPT = /(?:^|\s)(?:\.\.\.|…)(?=\s|$)/;
const LONGEST_LABEL = 120;
const PROMPT = /^\S*(?:[@:~/]|>>>).{0,80}[$#>%]$/;
const ACTION = '**Action:**';
const FENCE = /^```\w*\n([\s\S]*?)\n?```/gm;

/** The context of the unit after this one. A unit with little content is combined with the one before. */
function contextAfter({ near }: Context, { words }: Unit): Context {
  const before = near.slice(-LONGEST_LABEL);
  const both = `${before}\n${words}`;
  return { near: SAYS_SOMETHING.test(words) ? words : both, far: both };
}

/** The words before a token in its unit; undefined if they are too many, or fewer than two, since many lines start with the same word. */
function labelOf(text: string, unit: Unit, { kind, start }: SpecificToken): string | undefined {
  if (start - unit.start > LONGEST_LABEL || EXCERPT.test(unit.words)) return undefined;
  const label = unit.label + text.slice(unit.start, start);
  // A key counts as two words, but a named thing may well have another name the next time.
  const isKey = unit.label !== '' && kind !== 'name';
  return isKey || /[A-Za-z]{2}.*?[^A-Za-z].*?[A-Za-z]{2}/.test(label) ? label : undefined;
}

/** The specific tokens of a unit, with their places in the text. Of the numbers in a position, the first stands for all. */
function tokensIn(text: string, unit: Unit): SpecificToken[] {
  const words = text.slice(unit.start, unit.end);
  const tokens = unit.kind === 'leaf' && unit.label !== '' ? tokensOfValue(words) : specificTokens(words);
  let places = 0;
  return tokens
    .filter(({ kind, start, end }) => {
      // Names of elements and of their attributes are an observation's form, not its content.
      if (words.charAt(end) === '=' || (start === 0 && /^(?:\t| ['"])/.test(words.slice(end, end + 2)))) return false;
      return kind !== 'number' || !isCoordinate(words, start, end) || ++places === 1;
    })
    .map(({ kind, start, end }) => ({ kind, start: unit.start + start, end: unit.start + end }));
}

const UNDECIDED = Symbol('of two in one turn, neither is known');

/** Remembers what followed a given context the last time. */
function latest() {
  const entries = new Map<string, { readonly turn: number; readonly value: string | typeof UNDECIDED }>();
  return {
    get: (key: string) => entries.get(key)?.value,
    put(key: string, value: string, turn: number): void {
      const entry = entries.get(key);
      const isOther = entry?.turn === turn && entry.value !== value;
      entries.set(key, { turn, value: isOther ? UNDECIDED : value });
    },
  };
}

/** The content of each fence, and the rest. */
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

/** A number in a list of numbers gives a position, and can describe anything. */
function isCoordinate(text: string, start: number, end: number): boolean {
  return /\d\s?,\s?$/.test(text.slice(Math.max(0, start - 4), start)) || /^\s?,\s?-?\d/.test(text.slice(end, end + 4));
}

/** The values of an action in JSON without the tool's name: strings, and numbers that are too long for a coordinate. */
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
