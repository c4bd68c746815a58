// What a row says before its truth: the action and the history, held so that it can be asked whether a line or a token stands there.

import { isContainer } from '../../json.js';
import { withoutMarker } from '../../reply.js';
import { type SpecificToken, specificTokens, tokensOfValue } from '../../specific-tokens.js';
import type { Turn } from '../../turn.js';
import { type Unit, unitsOf } from './units.js';

export interface Known {
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
export const FIRST: Context = { near: '^', far: '^' };
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
export function contextAfter({ near }: Context, { words }: Unit): Context {
  const before = near.slice(-LONGEST_LABEL);
  const both = `${before}\n${words}`;
  return { near: SAYS_SOMETHING.test(words) ? words : both, far: both };
}

/** The words before a token in its unit; undefined where they are too many, or fewer than two: many a line starts with the same one. */
export function labelOf(text: string, unit: Unit, { kind, start }: SpecificToken): string | undefined {
  if (start - unit.start > LONGEST_LABEL || EXCERPT.test(unit.words)) return undefined;
  const label = unit.label + text.slice(unit.start, start);
  // A key is two words, but what has a name may well have another one the next time.
  const isKey = unit.label !== '' && kind !== 'name';
  return isKey || /[A-Za-z]{2}.*?[^A-Za-z].*?[A-Za-z]{2}/.test(label) ? label : undefined;
}

/** The specific tokens of a unit, placed in the text. Of numbers that say where something is, the first stands for all. */
export function tokensIn(text: string, unit: Unit): SpecificToken[] {
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
export function knownOf(earlier: readonly Turn[], action: string): Known {
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
      const inner = parsed(value);
      if (isContainer(inner)) visit(inner, depth + 1);
      else found.push(value);
    } else if (isContainer(value))
      for (const [key, inner] of Object.entries(value)) {
        if (!(depth === 0 && key === 'name' && 'arguments' in value)) visit(inner, depth + 1);
      }
  };
  const action = parsed(text);
  if (!isContainer(action)) return undefined;
  visit(action, 0);
  return found;
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
