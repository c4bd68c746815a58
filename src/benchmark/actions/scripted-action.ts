// An agent's actions in a browser or on a desktop, written as calls: which arguments they name, and which of them do the same.

import { nestsBeyond, parseJson } from '../../core/json.js';
import { type Gesture, gestureOf, isSameGesture, type Screen } from './gesture.js';

/** One step: a gesture, or code that is no single call. */
type Step = Gesture | { readonly code: string };

export type Script = readonly Step[];

/** What positional arguments are called, by the name of the call. */
type Signatures = Readonly<Record<string, readonly string[]>>;

const BROWSER: Signatures = Object.fromEntries(
  [
    'click bid button modifiers',
    'dblclick bid button modifiers',
    'hover bid',
    'focus bid',
    'clear bid',
    'fill bid value',
    'press bid key',
    'select_option bid options',
    'drag_and_drop from_bid to_bid',
    'upload_file bid file',
    'scroll delta_x delta_y',
    'goto url',
    'browser_navigate url',
    'keyboard_press key',
    'keyboard_down key',
    'keyboard_up key',
    'keyboard_type text',
    'keyboard_insert_text text',
    'mouse_click x y button',
    'mouse_dblclick x y button',
    'mouse_move x y',
    'mouse_drag_and_drop from_x from_y to_x to_y',
    'tab_focus index',
    'noop wait_ms',
    'send_msg_to_user text',
    'report_infeasible reason',
  ].map(signature),
);

const DESKTOP: Signatures = Object.fromEntries(
  [
    'click x y clicks interval button duration',
    'moveTo x y duration',
    'move xOffset yOffset duration',
    'dragTo x y duration tween button',
    'drag xOffset yOffset duration tween button',
    'scroll clicks x y',
    'hscroll clicks x y',
    'write message interval',
    'press keys presses interval',
    'keyDown key',
    'keyUp key',
    'mouseDown x y button',
    'mouseUp x y button',
  ].map(signature),
);

function signature(line: string): [string, readonly string[]] {
  const [name = '', ...names] = line.split(' ');
  return [name, names];
}

/** What a browser's script does. */
export function browserScript(text: string): Script {
  return statementsOf(text).map((statement) => ('code' in statement ? statement : called(statement, BROWSER)));
}

/** What a desktop's script does. Waiting between two steps does not matter. */
export function desktopScript(text: string): Script {
  return statementsOf(text).flatMap((statement): Step[] =>
    'code' in statement ? [statement] : desktopGestures(statement),
  );
}

/** What holds where an argument is left out. */
const DEFAULTS: Readonly<Record<string, unknown>> = { button: 'left', clicks: 1, presses: 1 };

function called({ name, positional, named }: PythonCall, signatures: Signatures): Gesture {
  const names = Object.hasOwn(signatures, name) ? (signatures[name] ?? []) : [];
  const placed = positional.map((value, at) => [names[at] ?? `${at}`, value] as const);
  const all = { ...Object.fromEntries(placed), ...named };
  const told = Object.entries(all).filter(([key, value]) => DEFAULTS[key] !== value || name.endsWith('scroll'));
  // One option may stand without its list.
  const unwrapped = told.map(([key, value]) => [key, key === 'options' ? only(value) : value] as const);
  return gestureOf(name, Object.fromEntries(unwrapped));
}

function only(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}

/** Calls that are others with an argument more. */
const CLICKS: Readonly<Record<string, Readonly<Record<string, unknown>>>> = {
  doubleClick: { clicks: 2 },
  tripleClick: { clicks: 3 },
  rightClick: { button: 'right' },
  middleClick: { button: 'middle' },
  leftClick: {},
};
const MOST_PRESSES = 20;

function desktopGestures(call: PythonCall): Gesture[] {
  const name = call.name.replace(/^(?:pyautogui|pag|pg)\./, '');
  if (name === 'sleep' || name === 'time.sleep') return [];
  if (name === 'typewrite') return desktopGestures({ ...call, name: 'write' });
  const more = Object.hasOwn(CLICKS, name) ? CLICKS[name] : undefined;
  if (more !== undefined) {
    const [x, y] = call.positional;
    const places = [x, y].filter((place) => place !== undefined);
    return desktopGestures({ name: 'click', positional: places, named: { ...call.named, ...more } });
  }
  if (name === 'hotkey') return [gestureOf(name, { keys: call.positional.flat() })];
  // A place may be given as a pair.
  const [first, ...others] = call.positional;
  const positional = Array.isArray(first) && name !== 'press' ? [...first, ...others] : call.positional;
  const gesture = called({ ...call, name, positional }, DESKTOP);
  return name === 'press' ? presses(gesture) : [gesture];
}

/** Keys pressed one after the other, each as a gesture of its own. */
function presses(gesture: Gesture): Gesture[] {
  const { keys, presses: count = 1, ...rest } = gesture.rest;
  const list: unknown[] = Array.isArray(keys) ? keys : [keys];
  if (typeof count !== 'number' || !Number.isInteger(count) || count < 1) return [gesture];
  if (count * list.length > MOST_PRESSES) return [gesture];
  const each = list.map((key) => ({ ...gesture, rest: { ...rest, keys: key } }));
  return Array.from({ length: count }, () => each).flat();
}

/** Whether two scripts do the same, step by step. */
export function isSameScript(a: Script, b: Script, screen: Screen): boolean {
  return a.length === b.length && a.every((step, at) => isSameStep(step, b[at], screen));
}

function isSameStep(a: Step, b: Step | undefined, screen: Screen): boolean {
  if (b === undefined) return false;
  if ('code' in a || 'code' in b) return 'code' in a && 'code' in b && a.code === b.code;
  return isSameGesture(a, b, screen);
}

// Calls in the manner of Python, as agents write them for browsers and desktops: each statement as a call with literal arguments, or as code.

/** A statement: a call all of whose arguments are literals, or anything else as its text with white space squeezed. */
type Statement = PythonCall | { readonly code: string };

interface PythonCall {
  /** With its dots, such as `pyautogui.click`. */
  readonly name: string;
  readonly positional: readonly unknown[];
  readonly named: Readonly<Record<string, unknown>>;
}

/** Literals within literals are read so deep. */
const DEEPEST = 16;

/** A piece of a script. A string that is never closed goes on to the end; what is nothing else is a single sign. */
const TOKEN = new RegExp(
  [
    '(?<space>[^\\S\\n]+|#[^\\n]*)',
    ...['"""', "'''"].map((quote) => `[rR]?${quote}(?:[^\\\\]|\\\\[\\s\\S])*?(?:${quote}|\\\\?$)`),
    ...['"', "'"].map((quote) => `[rR]?${quote}(?:[^${quote}\\\\]|\\\\[\\s\\S])*(?:${quote}|\\\\?$)`),
    '[-+]?(?:\\d{1,20}(?:\\.\\d{0,20})?|\\.\\d{1,20})(?:[eE][-+]?\\d{1,4})?(?![\\w.])',
    '[A-Za-z_][\\w.]*',
    '[\\s\\S]',
  ].join('|'),
  'g',
);
const STRING = /^([rR]?)("""|'''|["'])([\s\S]*)\2$/;
const NUMBER = /^[-+]?\.?\d/;
const NAME = /^[A-Za-z_]\w*$/;

/** The statements of a script, without imports and comments. A script is read in one pass, however it is written. */
function statementsOf(script: string): Statement[] {
  return split(script).flatMap((pieces) => {
    const text = pieces.join('').trim();
    if (text === '' || /^(?:import|from)\s/.test(text)) return [];
    return readCall(pieces.filter((piece) => piece.trim() !== '')) ?? { code: text.replace(/\s+/g, ' ') };
  });
}

/** The pieces of each statement, comments left out: they end at line ends and semicolons outside of brackets and strings. */
function split(script: string): string[][] {
  let current: string[] = [];
  const statements = [current];
  let depth = 0;
  for (const [piece] of script.matchAll(TOKEN)) {
    if ('([{'.includes(piece)) depth++;
    if (')]}'.includes(piece) && depth > 0) depth--;
    if (depth === 0 && (piece === '\n' || piece === ';')) {
      current = [];
      statements.push(current);
    } else if (!piece.startsWith('#')) current.push(piece);
  }
  return statements;
}

/** Undefined where the pieces are no single call, or an argument is no literal. */
function readCall([name = '', open, ...pieces]: readonly string[]): PythonCall | undefined {
  if (!/^[A-Za-z_]/.test(name) || open !== '(') return undefined;
  const given = argumentsIn(pieces);
  if (given === undefined) return undefined;
  const positional: unknown[] = [];
  const named: Record<string, unknown> = {};
  for (const [key = '', equals, ...value] of given) {
    const isNamed = equals === '=' && NAME.test(key);
    const literal = literalOf(isNamed ? value : [key, ...(equals === undefined ? [] : [equals]), ...value]);
    if (literal === undefined) return undefined;
    if (isNamed) named[key] = literal.value;
    else positional.push(literal.value);
  }
  return { name, positional, named };
}

/** The pieces of each argument, up to the bracket that closes the call as the last piece of all. */
function argumentsIn(pieces: readonly string[]): string[][] | undefined {
  const given: string[][] = [[]];
  let depth = 1;
  for (const [at, piece] of pieces.entries()) {
    if ('([{'.includes(piece)) depth++;
    if (')]}'.includes(piece)) depth--;
    if (depth === 0) {
      // A comma may stand behind the last one.
      if (given.at(-1)?.length === 0) given.pop();
      return piece === ')' && at === pieces.length - 1 ? given : undefined;
    }
    if (depth === 1 && piece === ',') given.push([]);
    else given.at(-1)?.push(piece);
  }
  return undefined;
}

const WORDS: Readonly<Record<string, string>> = {
  True: 'true',
  False: 'false',
  None: 'null',
  true: 'true',
  false: 'false',
};
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '' };

/** The value of a literal, read as the JSON that says the same; undefined where the pieces are none. */
function literalOf(pieces: readonly string[]): { readonly value: unknown } | undefined {
  const json = pieces.map((piece, at) => {
    const next = pieces[at + 1] ?? '';
    // Strings that stand beside each other are one.
    if (STRING.test(piece)) return STRING.test(pieces[at - 1] ?? '') ? '' : JSON.stringify(stringsAt(pieces, at));
    if (NUMBER.test(piece)) return next === ':' ? JSON.stringify(String(Number(piece))) : String(Number(piece));
    if (piece === ',') return ')]}'.includes(next) ? '' : ',';
    if ('[({:})]'.includes(piece)) return piece.replace('(', '[').replace(')', ']');
    return Object.hasOwn(WORDS, piece) ? WORDS[piece] : piece;
  });
  const value = nestsBeyond(json.join(''), DEEPEST) ? undefined : parseJson(json.join(''));
  return value === undefined ? undefined : { value };
}

function stringsAt(pieces: readonly string[], first: number): string {
  let whole = '';
  for (let at = first; STRING.test(pieces[at] ?? ''); at++) {
    const [, prefix = '', , body = ''] = STRING.exec(pieces[at] ?? '') ?? [];
    whole += prefix === '' ? unescaped(body) : body;
  }
  return whole;
}

function unescaped(text: string): string {
  return text.replace(
    /\\(?:x([\da-fA-F]{2})|u([\da-fA-F]{4})|([\s\S]))/g,
    (whole, hex?: string, unicode?: string, char?: string) => {
      const code = hex ?? unicode;
      if (code !== undefined) return String.fromCharCode(Number.parseInt(code, 16));
      if (char === undefined) return whole;
      return ESCAPES[char] ?? (`\\'"`.includes(char) ? char : whole);
    },
  );
}
