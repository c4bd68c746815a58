// An action as it is typed -> as it stands in a prompt: each domain has a form, and a short way to write it.

import { isContainer, isObject, parseJson } from '../core/json.js';
import type { Domain } from '../core/types.js';

/** The language of an action's fence, by domain. */
const LANGUAGES: Readonly<Record<Domain, string>> = {
  mcp: 'json',
  search: 'json',
  terminal: 'json',
  swe: 'json',
  android: 'json',
  web: 'text',
  os: 'python',
};
/** Their actions are calls of tools, and nothing else. */
const CALLED: readonly Domain[] = ['mcp', 'search', 'swe'];
/** Seconds waited after typed keys. */
const PAUSE_S = 0.5;

/** The language of the fence around an action. Android has actions that are no JSON, and of other domains nobody knows what theirs are. */
export function languageOf(domain: Domain, action: string): string {
  const language = languageIn(domain);
  return language === 'json' && !isContainer(parseJson(action)) ? 'text' : language;
}

/**
 * The action in its domain's form: JSON on one line is set out over lines, a bare line becomes keystrokes in a terminal and a call of
 * `bash` in SWE, and `NAME {...}` a call of that tool. What is in no such form stays as it is.
 */
export function actionText(domain: Domain, typed: string): string {
  const text = typed.trim();
  if (languageIn(domain) !== 'json') return text;
  const value = parseJson(text);
  if (domain === 'terminal' && !isKeystrokes(value)) {
    return shown([{ keystrokes: `${typed.replace(/\n+$/, '')}\n`, duration: PAUSE_S }]);
  }
  // A number that would be written otherwise stays as it was: 8.0, or one that JavaScript rounds.
  if (isContainer(value)) return !text.includes('\n') && squeezed(text) === JSON.stringify(value) ? shown(value) : text;
  const call = callIn(text);
  if (call !== undefined) return shown(call);
  if (domain === 'swe' && !/^[[{]/.test(text)) return shown({ name: 'bash', arguments: { command: text } });
  return text;
}

/** Why a typed action is in none of its domain's forms, with the remedy; undefined where it is in one. */
export function actionFlaw(domain: Domain, typed: string): string | undefined {
  if (!CALLED.includes(domain) || isContainer(parseJson(actionText(domain, typed)))) return undefined;
  return `an action of the domain ${domain} is JSON, {"name": "TOOL", "arguments": {...}}, or in short TOOL {...}`;
}

/** Whether a typed text has begun JSON that further lines have to end. */
export function isUnfinished(domain: Domain, typed: string): boolean {
  const text = typed.trim();
  if (languageIn(domain) !== 'json') return false;
  const from = /^(?:\{\s*(?:"|$)|\[\s*(?:\{|$))/.test(text) ? 0 : CALL.exec(text)?.[1]?.length;
  if (from === undefined || (from > 0 && domain === 'terminal')) return false;
  return depthOf(text.slice(from)) > 0;
}

const CALL = /^([A-Za-z_][\w.:/-]*)\s+(?=\{)/;

/** `NAME {...}` as the call of a tool. */
function callIn(text: string): Record<string, unknown> | undefined {
  const name = CALL.exec(text)?.[1];
  if (name === undefined) return undefined;
  const argumentsOf = parseJson(text.slice(name.length));
  return isObject(argumentsOf) ? { name, arguments: argumentsOf } : undefined;
}

/** How many brackets are open at the end; those in strings are none. An unended string counts as one more. */
function depthOf(json: string): number {
  let depth = 0;
  let inString = false;
  for (let at = 0; at < json.length; at++) {
    const character = json.charAt(at);
    if (inString && character === '\\') at++;
    else if (character === '"') inString = !inString;
    else if (!inString && '[{'.includes(character)) depth++;
    else if (!inString && ']}'.includes(character)) depth--;
  }
  return depth + (inString ? 1 : 0);
}

/** JSON without the white space between its signs. */
function squeezed(json: string): string {
  return json.replace(/("(?:[^"\\]|\\.)*")|\s+/g, '$1');
}

function languageIn(domain: Domain): string {
  return (Object.hasOwn(LANGUAGES, domain) ? LANGUAGES[domain] : undefined) ?? 'text';
}

/** One action of a terminal, or a list of them. */
function isKeystrokes(value: unknown): boolean {
  const items = Array.isArray(value) ? value : [value];
  return items.length > 0 && items.every((item) => isObject(item) && 'keystrokes' in item);
}

function shown(value: unknown): string {
  return JSON.stringify(value, null, 2);
}
