// A turn of a rollout as a sample: actions as recorded, preceded by the world model's own answers, which also replace the state that GUI
// domains repeat in every prompt.

import { specificTokens } from '../../benchmark/specific-tokens.js';
import { isObject, parseJson, parseObject } from '../../core/json.js';
import { escaped } from '../../core/printable.js';
import { OBSERVATION_MARKER, withoutMarker } from '../../core/reply.js';
import { actionHeadingAt, promptOf, requestIn, withoutRequest } from '../../core/turn.js';
import type { Domain, Sample } from '../../core/types.js';
import { observationIn, readTurnPrompt, stateHeadingIn } from '../world.js';

/** Increased whenever the same replies make a different history. */
export const ROLLOUT_VERSION = 1;

/**
 * What a reply adds to the history: the marker and the prediction, without thinking and tag. Nothing follows the marker if nothing was
 * predicted.
 */
export function observationOf(gen: string): string {
  return `${OBSERVATION_MARKER}\n${observationIn(gen) ?? ''}`;
}

/**
 * The turn after the history as a sample to ask for, with the driver's request to predict. It contains no true observation of a turn
 * after `from`.
 * @param history the first `from` turns are true; the observations are of the turns after them, in order
 */
export function simulatedTurn(
  driver: Sample,
  { from, observations }: { readonly from: number; readonly observations: readonly string[] },
): Sample {
  const { key, trajectory, domain, systemPrompt } = driver;
  const turnIdx = from + observations.length + 1;
  const responses = [...driver.responses.slice(0, from), ...observations];
  const prompts = Array.from({ length: turnIdx }, (_, index) =>
    simulatedPrompt(driver, index + 1, from, responses[index - 1]),
  );
  const currentPrompt = prompts.pop() ?? '';
  prompts.push(currentPrompt + requestIn(driver));
  return { key, trajectory, domain, systemPrompt, turnIdx, prompts, responses, currentPrompt };
}

/** The same after recorded turns: a turn of the trajectory as it was. */
export function trueTurn(driver: Sample, turn: number): Sample {
  return simulatedTurn(driver, { from: turn - 1, observations: [] });
}

/**
 * The prompt of a turn in a rollout, without the request to predict. A state that it repeats is true up to the turn after the last true
 * observation, and from then on it is the prediction.
 * @param before the observation of the turn before
 */
export function simulatedPrompt(driver: Sample, turn: number, from: number, before = ''): string {
  const prompt = bareAction(driver, turn);
  return turn <= from + 1 ? prompt : withState(prompt, withoutMarker(before));
}

const ACTION = /^\*\*Action:\*\*/m;
/** The share of the state's lines that must be in the observation before it. */
const NEARLY_EQUAL = 0.6;
/** A shorter line occurs in many texts, and reveals nothing. */
const SAYS_SOMETHING = 16;

/** Where the state is in a prompt: between its heading and the action. Undefined if there is no heading before the action. */
function stateIn(prompt: string): { readonly start: number; readonly end: number } | undefined {
  const start = stateHeadingIn(besideAction(prompt))?.end;
  if (start === undefined) return undefined;
  // The first one after the heading: if the state itself shows one, the rest of it is outside the block, and is found to leak.
  const action = prompt.slice(start).search(ACTION);
  const block = prompt.slice(start, action === -1 ? prompt.length : start + action);
  return { start, end: start + block.trimEnd().length };
}

/** The prompt with another state; unchanged if it shows none. */
export function withState(prompt: string, state: string): string {
  const block = stateIn(prompt);
  return block === undefined ? prompt : prompt.slice(0, block.start) + state + prompt.slice(block.end);
}

/**
 * Whether its prompts could reveal the truth to a rollout: in some turn from `first` on, the true observation before it is shown, and
 * not, or not only, as a state under its heading. The action's own content is as recorded, and does not count.
 */
export function leaksBesideStates(sample: Sample, first: number): boolean {
  for (let turn = Math.max(2, first); turn <= sample.turnIdx; turn++) {
    const prompt = bareAction(sample, turn);
    const truth = withoutMarker(sample.responses[turn - 2] ?? '');
    const block = stateIn(prompt);
    if (block !== undefined && !isNearly(prompt.slice(block.start, block.end), truth)) return true;
    if (showsNewLineOf(truth, besideAction(withState(prompt, '')), sample)) return true;
  }
  return false;
}

/** By the lines of the state that are in the observation. */
function isNearly(state: string, observation: string): boolean {
  const lines = linesOf(state);
  const known = new Set(linesOf(observation));
  return lines.filter((line) => known.has(line)).length >= NEARLY_EQUAL * lines.length;
}

/** Everything before the action. */
function besideAction(prompt: string): string {
  const action = actionHeadingAt(prompt);
  return action === -1 ? prompt : prompt.slice(0, action);
}

/** Whether a part of a prompt shows a meaningful line of the observation; what the system prompt and the first turn say is not news. */
function showsNewLineOf(truth: string, part: string, sample: Sample): boolean {
  const known = new Set(linesOf(truth));
  const shown = linesOf(part).filter((line) => line.length >= SAYS_SOMETHING && known.has(line));
  if (shown.length === 0) return false;
  const before = new Set([...linesOf(sample.systemPrompt), ...linesOf(bareAction(sample, 1))]);
  return shown.some((line) => !before.has(line));
}

function linesOf(text: string): string[] {
  return text
    .split('\n')
    .map((line) => line.trim())
    .filter(Boolean);
}

// What an action refers to (paths, names, numbers that are ids, elements of a screen, as far as their form shows), and which of it a
// rollout never showed: the truth did, and nothing that the model was given did.

/** A reference as it appears in the action, and whether a text, as returned by `plain`, shows what it refers to. */
type Reference = ReturnType<typeof tokenReference>;

/** Domains in which elements have numbers, and other numbers are screen positions. */
const GUI: ReadonlySet<Domain> = new Set(['android', 'web', 'os']);
/** A shorter number may be any number. */
const LEAST_DIGITS = 4;
/** The most references of one action to look for: a file that it writes may name hundreds of things. */
const MOST_REFERENCES = 200;

/** The references of a turn's action, each once. @param prompt the turn's, without its request to predict */
export function referencesIn(domain: Domain, prompt: string): Reference[] {
  const { action } = readTurnPrompt(prompt);
  const isGui = GUI.has(domain);
  const value = parseJson(action);
  // For JSON, its values; for any other action, all of it.
  const texts = typeof value === 'object' ? leavesOf(value) : [action];
  const ids = new Set(isGui ? elementsIn(action) : []);
  const tokens = new Set(texts.flatMap((text) => tokensIn(text, isGui)));
  return [...Array.from(ids, elementReference), ...Array.from(tokens, tokenReference)].slice(0, MOST_REFERENCES);
}

/** A prompt or an observation in the form searched for references: its text, with the escapes in its JSON undone. */
export function plain(text: string): string {
  return text.replace(/\\[nrt"'\\/]/g, ' ');
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

/** Hashes, and ids that look like hashes: unlike other names, they may begin with a digit. */
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

/** A path counts as shown if its last part is. */
function tokenReference(text: string) {
  const last = text.split('/').findLast((part) => part !== '') ?? text;
  const looks = [...new Set([text, last.length >= 3 ? last : text])].map(wholeWord);
  return { text, isIn: (shown: string) => looks.some((isIn) => isIn(shown)) };
}

/** Whether a text contains these words, and not only within longer ones. */
function wholeWord(words: string): (text: string) => boolean {
  const [begins, ends] = [/^\w/.test(words) ? '(?<!\\w)' : '', /\w$/.test(words) ? '(?!\\w)' : ''];
  const pattern = new RegExp(`${begins}${escaped(words)}${ends}`);
  return (text) => pattern.test(text);
}

const ELEMENTS = [
  // click('28'), fill(bid="a46", ...
  /\b\w+\(\s*(?:bid\s*=\s*)?(?<quote>['"])(?<id>[a-z]?\d+)\k<quote>/g,
  // <button id=4 ...>, "index": 3, index="3", <parameter name="index">3<
  /\b(?:id|index|element_id|bid)\b["']?(?:\s*[=:]\s*|>\s*)["']?(?<id>[a-z]?\d+)(?![\w.])/g,
];

/** The numbers of the screen elements that an action names. */
function elementsIn(action: string): string[] {
  return ELEMENTS.flatMap((pattern) => Array.from(action.matchAll(pattern), ({ groups: { id = '' } = {} }) => id));
}

function elementReference(id: string): Reference {
  const shown = new RegExp(String.raw`\[${id}\]|\b(?:id|index|bid)["']?\s*[=:]\s*["']?${id}(?![\w.])`);
  return { text: `[${id}]`, isIn: (text) => shown.test(text) };
}

/**
 * The references of the turn's action to what true observations showed after the rollout began, and what nothing before it in the
 * rollout shows: no prompt, no given or predicted observation, and no system prompt.
 * @param turn the turn as it is sent to the model: its last prompt is the action's
 * @param hidden the true observations that predictions replace
 */
export function offScript(turn: Sample, hidden: readonly string[]): string[] {
  const before = hidden.map((text) => plain(withoutMarker(text)));
  const unseen = referencesIn(turn.domain, turn.currentPrompt).filter(({ isIn }) => before.some(isIn));
  if (unseen.length === 0) return [];
  const front = turn.currentPrompt.slice(0, Math.max(0, actionHeadingAt(turn.currentPrompt)));
  const shown = [turn.systemPrompt, ...turn.prompts.slice(0, -1), ...turn.responses, front].map(plain);
  return unseen.filter(({ isIn }) => !shown.some(isIn)).map(({ text }) => text);
}

/** The prompt of a turn without the request to predict, which only the turn to predict has. */
export function bareAction(sample: Sample, turn: number): string {
  if (turn !== sample.turnIdx) return sample.prompts[turn - 1] ?? '';
  return sample.currentPrompt === '' ? withoutRequest(promptOf(sample)) : sample.currentPrompt;
}
