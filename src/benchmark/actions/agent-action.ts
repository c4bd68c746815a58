// An agent's next action: extracted from its reply, and compared with another one. Each domain has its own rule for what counts as the
// same.

import { chrf } from '../../core/chrf.js';
import {
  asObject,
  canonicalJson,
  isObject,
  isText,
  type JsonObject,
  nestsBeyond,
  parseObject,
} from '../../core/json.js';
import { PYTHON_SPACE, pythonStrip, withoutThinking } from '../../core/reply.js';
import { languageOf } from '../../core/turn.js';
import type { Domain } from '../../core/types.js';
import {
  browserScript,
  desktopScript,
  type Gesture,
  isCode,
  isSameGesture,
  isSameScript,
  phoneGesture,
  type Screen,
  type Script,
} from './scripted-action.js';

/** An action reduced to what matters for comparison, by its form. */
export type AgentAction =
  | { readonly form: 'tool'; readonly tool: CalledTool }
  | { readonly form: 'gesture'; readonly gesture: Gesture }
  | { readonly form: 'script'; readonly script: Script }
  /** Input to a terminal, or an action of unknown form, with irrelevant white space squeezed. */
  | { readonly form: 'keys' | 'text'; readonly squeezed: string };

/** The content of an agent's reply. */
export interface ReadAction {
  /** As it appears after `**Action:**` in a prompt, including the fence. */
  readonly text: string;
  readonly action: AgentAction;
}

/** Why there is no action, as the end of a sentence. */
type NoAction = Readonly<{ flaw: string }>;

/** No agent writes longer actions: even complete files are far shorter. */
const LONGEST = 200_000;
/** JSON within JSON is read to this depth. */
const DEEPEST = 64;

const readTool = (body: string) =>
  fromJson(body, (value) => {
    const tool = calledTool(value, DEEPEST);
    return 'flaw' in tool ? tool : { form: 'tool', tool };
  });

/** How to read the actions of each domain. */
const READERS = new Map<Domain, (body: string) => AgentAction | NoAction>([
  ['mcp', readTool],
  ['search', readTool],
  ['swe', readTool],
  ['terminal', (body) => fromJson(body, typedKeys)],
  [
    'android',
    (body) => {
      const gesture = nestsBeyond(body, DEEPEST) ? undefined : phoneGesture(body);
      return gesture === undefined ? { flaw: 'the action is not in a phone notation' } : { form: 'gesture', gesture };
    },
  ],
  ['web', (body) => scripted(browserScript(body), 'the action is not a call')],
  ['os', (body) => scripted(desktopScript(body))],
]);

/** For a domain outside the seven: compared as JSON calls if possible, else word by word. */
function readAny(body: string): AgentAction {
  const tool = readTool(body);
  return 'flaw' in tool ? { form: 'text', squeezed: body.replace(/\s+/g, ' ') } : tool;
}

/**
 * The action in an agent's reply: in its last closed fence outside of thinking, or the complete reply if it has no fence and is an
 * action. Time and memory grow only with the reply's length.
 */
export function readAction(domain: Domain, reply: string): ReadAction | NoAction {
  const text = pythonStrip(withoutThinking(reply));
  const fenced = lastFence(text);
  const body = pythonStrip(fenced ?? text);
  if (body === '') return { flaw: 'the reply is empty' };
  if (body.length > LONGEST) return { flaw: `the action is longer than ${LONGEST} characters` };
  const action = (READERS.get(domain) ?? readAny)(body);
  if ('flaw' in action) return fenced === undefined ? { flaw: `no fence, and ${action.flaw}` } : action;
  if (fenced === undefined && !isPlain(action)) return { flaw: 'no fence with an action in the reply' };
  return { text: `\`\`\`${languageOf(domain, body)}\n${body}\n\`\`\``, action };
}

/** Whether two actions of a domain are the same, in either order. */
export function sameAction(domain: Domain, a: AgentAction, b: AgentAction, screen: Screen = screenOf(domain)): boolean {
  if (a.form === 'tool' && b.form === 'tool') {
    return a.tool.name === b.tool.name && isSameValue(a.tool.arguments, b.tool.arguments, false);
  }
  if (a.form === 'gesture' && b.form === 'gesture') return isSameGesture(a.gesture, b.gesture, screen);
  if (a.form === 'script' && b.form === 'script') return isSameScript(a.script, b.script, screen);
  return 'squeezed' in a && 'squeezed' in b && a.form === b.form && a.squeezed === b.squeezed;
}

/** The screen size mentioned in a text such as a system prompt, as `1080x2400`; else the domain's usual one. */
export function screenOf(domain: Domain, told = ''): Screen {
  const [, width, height] = /(?<!\d)(\d{3,4})\s?[x×]\s?(\d{3,4})(?!\d)/.exec(told) ?? [];
  if (width !== undefined && height !== undefined) return { width: Number(width), height: Number(height) };
  return domain === 'android' ? { width: 1080, height: 2400 } : { width: 1920, height: 1080 };
}

function fromJson(body: string, read: (value: unknown) => AgentAction | NoAction): AgentAction | NoAction {
  if (nestsBeyond(body, DEEPEST)) return { flaw: 'the action is nested too deeply' };
  try {
    return read(JSON.parse(body));
  } catch (error) {
    if (error instanceof SyntaxError) return { flaw: 'the action is not JSON' };
    throw error;
  }
}

/** @param flaw what is wrong if a step is not a call; absent if code is an action, too */
function scripted(script: Script, flaw?: string): AgentAction | NoAction {
  if (flaw !== undefined && script.some(isCode)) return { flaw };
  return { form: 'script', script };
}

/** Whether an action without its fence can be distinguished from prose. */
function isPlain(action: AgentAction): boolean {
  if (action.form === 'script') return action.script.length > 0 && !action.script.some(isCode);
  if (action.form === 'gesture') {
    return action.gesture.element !== undefined || Object.keys(action.gesture.points).length > 0;
  }
  return action.form !== 'text';
}

/** What is typed into a terminal: JSON with keystrokes; a single entry needs no list. Waiting times do not matter. */
function typedKeys(value: unknown): AgentAction | NoAction {
  const entries = [value].flat().map((item: unknown) => asObject(item).keystrokes);
  if (entries.length === 0 || !entries.every(isText)) {
    return { flaw: 'the action is not a JSON array of objects with "keystrokes"' };
  }
  return { form: 'keys', squeezed: squeezedKeys(entries) };
}

/** An entry that is a key's name presses that key. */
const KEY_NAME =
  /^(?:[CMS]-\S{1,9}|\^\S|F\d{1,2}|Escape|Tab|BTab|Space|BSpace|Up|Down|Left|Right|Home|End|PageUp|PageDown|PgUp|PgDn|PPage|NPage|Delete|Insert|DC|IC)$/;
/** The names of Enter, which act like a line end. */
const ENTER = new Set(['Enter', 'C-m', 'C-j', '^M', '^J']);

/** Equal for entries that type the same, however they are split: white space squeezed, but line ends distinct from blanks. */
function squeezedKeys(entries: readonly string[]): string {
  return entries
    .map((entry) => (ENTER.has(entry) ? '\n' : KEY_NAME.test(entry) ? `\0${entry}\0` : entry))
    .join('')
    .replace(/\s+/g, (run) => (/[\n\r]/.test(run) ? '\n' : ' '))
    .replace(/^ | $/g, '');
}

const OPENING = /^ {0,3}```\s*[\w+-]*\s*$/;
const CLOSING = /^ {0,3}```\s*$/;

/**
 * The lines within the last closed fenced block; undefined if there is none. Read line by line, so that time grows only with the
 * length. Within a block, a line with a labelled fence is content and opens nothing.
 */
export function lastFence(text: string): string | undefined {
  let last: string | undefined;
  let open: string[] | undefined;
  for (const line of text.split('\n')) {
    if (open === undefined) {
      if (OPENING.test(line)) open = [];
    } else if (CLOSING.test(line)) {
      last = open.join('\n');
      open = undefined;
    } else {
      open.push(line);
    }
  }
  return last;
}

// Tool calls as agents write them: JSON with a name and arguments; and when two of them are the same action.

/** A tool call. */
export interface CalledTool {
  readonly name: string;
  /** As an object, whether the action gives an object or JSON text. */
  readonly arguments: JsonObject;
}

/** A value as a tool call, or why it is not one. @param deepest how deep arguments in JSON text may nest */
export function calledTool(value: unknown, deepest: number): CalledTool | NoAction {
  const { name, arguments: given = {} } = asObject(value);
  const isDeep = typeof given === 'string' && nestsBeyond(given, deepest);
  const called = typeof given === 'string' && !isDeep ? parseObject(given) : given;
  return typeof name === 'string' && name !== '' && isObject(called)
    ? { name, arguments: called }
    : { flaw: 'the action is not a JSON object with the "name" of a tool and "arguments"' };
}

/** Arguments with free text: what is searched for, and what is written. */
const FREE_TEXT = new Set(
  (
    'query queries search_query keywords goal question prompt thought ' +
    'content contents text file_text new_str new_string new_text insert_text body message comment description summary'
  ).split(' '),
);

/** Free texts with at least this chrF count as the same. */
const LIKE = 80;

/**
 * Whether two values mean the same: free text approximately, everything else exactly. `isFree` if the value has the name of a free
 * text. Both values come from JSON of bounded depth.
 */
function isSameValue(a: unknown, b: unknown, isFree: boolean): boolean {
  if (typeof a === 'string' && typeof b === 'string') return a === b || (isFree && isLike(a, b));
  if (Array.isArray(a) && Array.isArray(b)) {
    return a.length === b.length && a.every((item, at) => isSameValue(item, b[at], isFree));
  }
  if (isObject(a) && isObject(b)) {
    const keys = Object.keys(a);
    const isShared = (key: string) => Object.hasOwn(b, key) && isSameValue(a[key], b[key], FREE_TEXT.has(key));
    return keys.length === Object.keys(b).length && keys.every(isShared);
  }
  return canonicalJson(a) === canonicalJson(b);
}

const SPACE = new RegExp(`[${PYTHON_SPACE}]+`, 'g');

/** chrF weighs recall more than precision, so it is computed both ways: the order of the two must not matter. */
function isLike(a: string, b: string): boolean {
  const [left, right] = [a.replace(SPACE, ''), b.replace(SPACE, '')];
  if (left === '' || right === '') return left === right;
  return chrf(left, right) >= LIKE && chrf(right, left) >= LIKE;
}
