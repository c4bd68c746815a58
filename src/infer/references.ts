// What an action refers to (paths, names, numbers that are ids, elements of a screen, as far as they can be told by their look), and which
// of it a rollout never showed: the truth did, and nothing that the model was given did.

import { specificTokens } from '../benchmark/specific-tokens.js';
import { isObject, parseJson, parseObject } from '../core/json.js';
import { withoutMarker } from '../core/reply.js';
import { actionHeadingAt } from '../core/turn.js';
import type { Domain, Sample } from '../core/types.js';
import { readTurnPrompt } from './turn-prompt.js';

/** A reference, and whether a text shows what it refers to. */
interface Reference {
  /** As it stands in the action. */
  readonly text: string;
  /** @param text as `plain` makes it */
  isIn(text: string): boolean;
}

/** Where elements have numbers, and other numbers are places on the screen. */
const GUI: ReadonlySet<Domain> = new Set(['android', 'web', 'os']);
/** A shorter number may be any number. */
const LEAST_DIGITS = 4;
/** So many of an action are looked for: a file that it writes may name hundreds of things. */
const MOST_REFERENCES = 200;

/** The references of a turn's action, each once. @param prompt the turn's, without its request to predict */
export function referencesIn(domain: Domain, prompt: string): Reference[] {
  const { action } = readTurnPrompt(prompt);
  const isGui = GUI.has(domain);
  const found = new Map<string, Reference>();
  const put = (reference: Reference) => {
    if (!found.has(reference.text) && found.size < MOST_REFERENCES) found.set(reference.text, reference);
  };
  if (isGui) for (const element of elementsIn(action)) put(element);
  for (const text of textsOf(action)) for (const token of tokensIn(text, isGui)) put(tokenReference(token));
  return [...found.values()];
}

/** A prompt or an observation as references are looked for in it: its text, and the texts in its JSON with their escapes undone. */
export function plain(text: string): string {
  return text.replace(/\\[nrt"'\\/]/g, ' ');
}

/** Of JSON, its values; of any other action, all of it. */
function textsOf(action: string): string[] {
  const value = parseJson(action);
  return typeof value === 'object' ? leavesOf(value) : [action];
}

/** Arguments may be JSON in a string. */
function leavesOf(value: unknown): string[] {
  if (typeof value === 'string') {
    const inner = value.startsWith('{') ? parseObject(value) : undefined;
    return inner === undefined ? [value] : leavesOf(inner);
  }
  if (typeof value === 'number') return [String(value)];
  if (Array.isArray(value)) return value.flatMap(leavesOf);
  return isObject(value) ? Object.values(value).flatMap(leavesOf) : [];
}

/** Hashes, and ids that are as good as hashes: whatever else a name may be, these may begin with a digit. */
const HASH =
  /(?<![\w-])(?:(?=[0-9a-f-]*\d)(?=[0-9a-f-]*[a-f])(?:[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}|[0-9a-f]{7,64}))(?![\w-])/g;

function tokensIn(text: string, isGui: boolean): string[] {
  const tokens = specificTokens(text).flatMap(({ kind, start, end }) => {
    if (kind === 'state') return [];
    const token = text.slice(start, end);
    return kind === 'number' && (isGui || token.replace(/\D/g, '').length < LEAST_DIGITS) ? [] : [token];
  });
  return [...tokens, ...Array.from(text.matchAll(HASH), ([hash]) => hash)];
}

/** A path counts as shown where its last part is. */
function tokenReference(text: string): Reference {
  const last = text.split('/').findLast((part) => part !== '') ?? text;
  const looks = [...new Set([text, last.length >= 3 ? last : text])].map(wholeWord);
  return { text, isIn: (shown) => looks.some((isIn) => isIn(shown)) };
}

/** Whether a text has these words, and not as a part of longer ones. */
function wholeWord(words: string): (text: string) => boolean {
  const isWord = (text: string, at: number) => /\w/.test(text.charAt(at));
  return (text) => {
    for (let at = text.indexOf(words); at >= 0; at = text.indexOf(words, at + 1)) {
      const end = at + words.length;
      const begins = at === 0 || !isWord(words, 0) || !isWord(text, at - 1);
      if (begins && (!isWord(words, words.length - 1) || !isWord(text, end))) return true;
    }
    return false;
  };
}

const ELEMENTS = [
  // click('28'), fill(bid="a46", ...
  /\b\w+\(\s*(?:bid\s*=\s*)?(?<quote>['"])(?<id>[a-z]?\d+)\k<quote>/g,
  // <button id=4 ...>, "index": 3, index="3", <parameter name="index">3<
  /\b(?:id|index|element_id|bid)\b["']?(?:\s*[=:]\s*|>\s*)["']?(?<id>[a-z]?\d+)(?![\w.])/g,
];

/** The elements of a screen that an action names by their numbers. */
function elementsIn(action: string): Reference[] {
  return ELEMENTS.flatMap((pattern) =>
    Array.from(action.matchAll(pattern), ({ groups: { id = '' } = {} }) => {
      const shown = new RegExp(String.raw`\[${id}\]|\b(?:id|index|bid)["']?\s*[=:]\s*["']?${id}(?![\w.])`);
      return { text: `[${id}]`, isIn: (text: string) => shown.test(text) };
    }),
  );
}

/**
 * The references of the turn's action to what true observations showed after the rollout began, and nothing shows that stands before it
 * in the rollout: no prompt, no observation, given or predicted, and no system prompt.
 * @param turn the turn as it is put to the model: its last prompt is the action's
 * @param hidden the true observations in whose places predictions stand
 */
export function offScript(turn: Sample, hidden: readonly string[]): string[] {
  const before = hidden.map((text) => plain(withoutMarker(text)));
  const unseen = referencesIn(turn.domain, turn.currentPrompt).filter(({ isIn }) => before.some(isIn));
  if (unseen.length === 0) return [];
  const shown = [
    turn.systemPrompt,
    ...turn.prompts.slice(0, -1),
    ...turn.responses,
    beforeAction(turn.currentPrompt),
  ].map(plain);
  return unseen.filter(({ isIn }) => !shown.some(isIn)).map(({ text }) => text);
}

function beforeAction(prompt: string): string {
  return prompt.slice(0, Math.max(0, actionHeadingAt(prompt)));
}
