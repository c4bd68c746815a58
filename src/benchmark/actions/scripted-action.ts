// An agent's actions in a browser or on a desktop, written as calls, and its gestures on a phone: what they name, and which are
// equivalent.

import { present } from '../../core/errors.js';
import { canonicalJson, isObject, nestsBeyond, parseJson, parseObject } from '../../core/json.js';

/** One gesture per step; code that is not a single call is a step of its own kind. */
export type Script = readonly Gesture[];

/** The name of code that is not a single call: its argument is its text with white space squeezed. */
const CODE = '';

/** Whether a step is code. */
export function isCode({ kind }: Gesture): boolean {
  return kind === CODE;
}

/** The names of positional arguments, by the name of the call. */
type Signatures = Readonly<Record<string, readonly string[]>>;

const BROWSER = signatures([
  'click dblclick: bid button modifiers',
  'hover focus clear: bid',
  'fill: bid value',
  'press: bid key',
  'select_option: bid options',
  'drag_and_drop: from_bid to_bid',
  'upload_file: bid file',
  'scroll: delta_x delta_y',
  'goto browser_navigate: url',
  'keyboard_press keyboard_down keyboard_up: key',
  'keyboard_type keyboard_insert_text send_msg_to_user: text',
  'mouse_click mouse_dblclick: x y button',
  'mouse_move: x y',
  'mouse_drag_and_drop: from_x from_y to_x to_y',
  'tab_focus: index',
  'noop: wait_ms',
  'report_infeasible: reason',
]);

const DESKTOP = signatures([
  'click: x y clicks interval button duration',
  'moveTo: x y duration',
  'move: xOffset yOffset duration',
  'dragTo: x y duration tween button',
  'drag: xOffset yOffset duration tween button',
  'scroll hscroll: clicks x y',
  'write: message interval',
  'press: keys presses interval',
  'hotkey: keys',
  'keyDown keyUp: key',
  'mouseDown mouseUp: x y button',
]);

/** @param lines the calls that take the same arguments, and these arguments */
function signatures(lines: readonly string[]): Signatures {
  const calls = lines.flatMap((line) => {
    const [names = '', taken = ''] = line.split(': ');
    return names.split(' ').map((name) => [name, taken.split(' ')] as const);
  });
  return Object.fromEntries(calls);
}

/** What a browser script does. */
export function browserScript(text: string): Script {
  return statementsOf(text).map((statement) => called(statement, BROWSER));
}

/** What a desktop script does. Waiting between two steps does not matter. */
export function desktopScript(text: string): Script {
  return statementsOf(text).flatMap(desktopGestures);
}

/** Defaults of omitted arguments. */
const DEFAULTS: Readonly<Record<string, unknown>> = { button: 'left', clicks: 1, presses: 1 };

function called({ name, positional, named }: PythonCall, signatures: Signatures): Gesture {
  const names = Object.hasOwn(signatures, name) ? (signatures[name] ?? []) : [];
  const placed = positional.map((value, at) => [names[at] ?? `${at}`, value] as const);
  const all = { ...Object.fromEntries(placed), ...named };
  const told = Object.entries(all).filter(([key, value]) => DEFAULTS[key] !== value || name.endsWith('scroll'));
  // A single option needs no list.
  const unwrapped = told.map(([key, value]) => [key, key === 'options' ? only(value) : value] as const);
  return gestureOf(name, Object.fromEntries(unwrapped));
}

function only(value: unknown): unknown {
  return Array.isArray(value) && value.length === 1 ? value[0] : value;
}

/** Calls that equal other calls, some with an extra argument. */
const ALIASES = new Map<string, readonly [name: string, more?: Readonly<Record<string, unknown>>]>([
  ['typewrite', ['write']],
  ['leftClick', ['click']],
  ['doubleClick', ['click', { clicks: 2 }]],
  ['tripleClick', ['click', { clicks: 3 }]],
  ['rightClick', ['click', { button: 'right' }]],
  ['middleClick', ['click', { button: 'middle' }]],
]);
const MOST_PRESSES = 20;

function desktopGestures(call: PythonCall): Gesture[] {
  const plain = call.name.replace(/^(?:pyautogui|pag|pg)\./, '');
  if (plain === 'sleep' || plain === 'time.sleep') return [];
  const [name, more] = ALIASES.get(plain) ?? [plain];
  // A position may be given as a pair, and keys as a list.
  const flat = call.positional.flat();
  const positional = name === 'hotkey' ? [flat] : name === 'press' ? call.positional : flat;
  const gesture = called({ name, positional, named: { ...call.named, ...more } }, DESKTOP);
  return name === 'press' ? presses(gesture) : [gesture];
}

/** Keys pressed one after another, each as its own gesture. */
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
  return a.length === b.length && a.every((step, at) => isSameGesture(step, present(b[at]), screen));
}

// Calls in Python style, as agents write them for browsers and desktops: each statement as a call with literal arguments, or as code.

/** A statement: a call with only literal arguments, or anything else as a call of `CODE`. */
interface PythonCall {
  /** With its dots, such as `pyautogui.click`. */
  readonly name: string;
  readonly positional: readonly unknown[];
  readonly named: Readonly<Record<string, unknown>>;
}

/** Literals within literals are read to this depth. */
const DEEPEST = 16;

/** A piece of a script. An unclosed string extends to the end; anything else is a single character. */
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

/**
 * The statements of a script, without imports and comments: they end at line ends and semicolons. Read in a single pass, whatever the
 * script looks like.
 */
function statementsOf(script: string): PythonCall[] {
  const pieces = Array.from(script.matchAll(TOKEN), ([piece]) => piece).filter((piece) => !piece.startsWith('#'));
  return parted(pieces, '\n;').flatMap((statement) => {
    const text = statement.join('').trim();
    if (text === '' || /^(?:import|from)\s/.test(text)) return [];
    const code = { name: CODE, positional: [text.replace(/\s+/g, ' ')], named: {} };
    return readCall(statement.filter((piece) => piece.trim() !== '')) ?? code;
  });
}

/** The pieces between separators outside of brackets. */
function parted(pieces: readonly string[], separators: string): string[][] {
  const parts: string[][] = [[]];
  let depth = 0;
  for (const piece of pieces) {
    if ('([{'.includes(piece)) depth++;
    if (')]}'.includes(piece) && depth > 0) depth--;
    if (depth === 0 && separators.includes(piece)) parts.push([]);
    else parts.at(-1)?.push(piece);
  }
  return parts;
}

/** Undefined if the pieces are not a single call, or an argument is not a literal (mismatched brackets never are). */
function readCall([name = '', open, ...pieces]: readonly string[]): PythonCall | undefined {
  if (!/^[A-Za-z_]/.test(name) || open !== '(' || pieces.pop() !== ')') return undefined;
  const given = parted(pieces, ',');
  // A comma may follow the last one.
  if (given.at(-1)?.length === 0) given.pop();
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

const WORDS: Readonly<Record<string, string>> = { True: 'true', False: 'false', None: 'null' };
const ESCAPES: Readonly<Record<string, string>> = { n: '\n', t: '\t', r: '\r', '\n': '' };

/** The value of a literal, read as the equivalent JSON; undefined if the pieces are not a literal. */
function literalOf(pieces: readonly string[]): { readonly value: unknown } | undefined {
  const json = pieces.map((piece, at) => {
    const next = pieces[at + 1] ?? '';
    // Adjacent strings are one string.
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

// One gesture of an agent on a screen: its kind, target and text; when two gestures are the same; and phone gestures in the three
// notations of the benchmark: JSON, an `<invoke>` element, and DroidBot's lines.

/** A gesture, independent of its notation. */
export interface Gesture {
  readonly kind: string;
  /** The element that it names. */
  readonly element?: string;
  /** Where it points, by the argument's name if it points to several places. */
  readonly points: Readonly<Record<string, Point>>;
  /** Everything else, such as typed text. */
  readonly rest: Readonly<Record<string, unknown>>;
}

type Point = readonly [x: number, y: number];

/** A screen in pixels. */
export interface Screen {
  readonly width: number;
  readonly height: number;
}

/** Points this near to each other are one target, as a share of the screen's width and height. */
const NEAR = 0.02;

/** Arguments that name an element, the most reliable first. */
const ELEMENT = ['bid', 'index', 'element_id', 'id', 'ref', 'element'];
/** Arguments that contain a position. */
const PLACE = ['coordinate', 'coordinates', 'point', 'position', 'start_coordinate', 'start', 'center'];
/** Durations and waiting times do not matter. */
const TIMES = new Set('duration duration_ms interval pause _pause tween wait_ms seconds time'.split(' '));

/** The gesture described by a kind and named arguments. */
function gestureOf(kind: string, given: Readonly<Record<string, unknown>>): Gesture {
  const rest: Record<string, unknown> = {};
  const points: Record<string, Point> = {};
  let element: string | undefined;
  for (const [name, value] of Object.entries(given)) {
    if (TIMES.has(name) || value === null || value === undefined) continue;
    const point = pointIn(name, value, given);
    if (point === 'part') continue;
    if (point !== undefined) points[PLACE.includes(name) ? 'x' : name] = point;
    else if (ELEMENT.includes(name) && element === undefined && isPlain(value)) element = String(value);
    else rest[name] = value;
  }
  return { kind, ...(element === undefined ? {} : { element }), points, rest };
}

function isPlain(value: unknown): boolean {
  return typeof value === 'string' || typeof value === 'number';
}

/** The position in an argument; `part` if it is the second half of a pair such as `x` and `y`. A scroll distance is not a position. */
function pointIn(name: string, value: unknown, given: Readonly<Record<string, unknown>>): Point | 'part' | undefined {
  const half = /^(?!delta)(?:\w+_)?([xy])\d?$/.exec(name)?.[1];
  if (half === 'x') {
    const pair = [value, given[name.replace(/x(?=\d?$)/, 'y')]];
    return isPair(pair) ? [Number(pair[0]), Number(pair[1])] : undefined;
  }
  if (half === 'y') return isPair([given[name.replace(/y(?=\d?$)/, 'x')], value]) ? 'part' : undefined;
  if (!Array.isArray(value)) return undefined;
  if (isPair(value)) return [Number(value[0]), Number(value[1])];
  if (!/^(?:bounds|bound_box|bbox)$/.test(name) || !isPair(value.slice(0, 2)) || !isPair(value.slice(2)))
    return undefined;
  const [left, top, right, bottom] = value.map(Number);
  return [(Number(left) + Number(right)) / 2, (Number(top) + Number(bottom)) / 2];
}

function isPair(values: readonly unknown[]): boolean {
  return values.length === 2 && values.every((value) => typeof value === 'number' && Number.isFinite(value));
}

/** Whether two gestures have the same kind, target and text: the element decides if both name one, else the position. */
export function isSameGesture(a: Gesture, b: Gesture, screen: Screen): boolean {
  if (a.kind !== b.kind || canonicalJson(a.rest) !== canonicalJson(b.rest)) return false;
  if (a.element !== undefined && b.element !== undefined) return a.element === b.element;
  const names = Object.keys(a.points);
  if (names.length === 0 && a.element !== b.element) return false;
  return (
    names.length === Object.keys(b.points).length &&
    names.every((name) => isNear(a.points[name], b.points[name], screen))
  );
}

function isNear(a: Point | undefined, b: Point | undefined, { width, height }: Screen): boolean {
  if (a === undefined || b === undefined) return false;
  return Math.abs(a[0] - b[0]) <= NEAR * width && Math.abs(a[1] - b[1]) <= NEAR * height;
}

/** The gesture described by an action in any notation; undefined if it is in none of them. */
export function phoneGesture(text: string): Gesture | undefined {
  const fields = text.startsWith('{') ? parseObject(text) : undefined;
  if (fields !== undefined) return ofFields(fields);
  if (/<invoke\s/.test(text)) return ofElement(text);
  return text.startsWith('{') || text.startsWith('[') ? undefined : ofLine(text);
}

/** The members that give the kind of gesture. */
const KIND = ['action_type', 'action', 'name'];

function ofFields(fields: Readonly<Record<string, unknown>>): Gesture | undefined {
  const key = KIND.find((name) => typeof fields[name] === 'string');
  if (key === undefined) return undefined;
  const { [key]: kind, arguments: inner, ...rest } = fields;
  return gestureOf(String(kind), { ...rest, ...(isObject(inner) ? inner : {}) });
}

const LONGEST_NAME = 100;

/** `<invoke name="..."><parameter name="...">...</parameter></invoke>`; a general tool has its kind among the parameters. */
function ofElement(text: string): Gesture | undefined {
  const tool = /<invoke\s+name="([^"<>]{1,100})"/.exec(text)?.[1];
  if (tool === undefined) return undefined;
  const parameters: Record<string, unknown> = {};
  // Each piece begins after an opening tag, so that no text is scanned twice.
  for (const piece of text.split('<parameter name="').slice(1)) {
    const [nameEnd, valueEnd] = [piece.indexOf('">'), piece.indexOf('</parameter>')];
    if (nameEnd < 1 || nameEnd > LONGEST_NAME || valueEnd < nameEnd) return undefined;
    parameters[piece.slice(0, nameEnd)] = parameterOf(piece.slice(nameEnd + '">'.length, valueEnd));
  }
  const { action, ...rest } = parameters;
  return typeof action === 'string' ? gestureOf(`${tool} ${action}`, rest) : gestureOf(tool, parameters);
}

const ONE_NUMBER = /^-?\d+(?:\.\d+)?$/;

/** A number, a list of numbers, or the text itself: typed text that looks like a number becomes one in both compared actions. */
function parameterOf(text: string): unknown {
  if (ONE_NUMBER.test(text.trim())) return Number(text);
  const inner = /^\s*[[(]([\d\s.,-]{1,100})[\])]\s*$/.exec(text)?.[1];
  const parts = inner?.split(',').map((part) => part.trim()) ?? [];
  return parts.length > 0 && parts.every((part) => ONE_NUMBER.test(part)) ? parts.map(Number) : text;
}

const FLAT = /\s+/g;

/** `touch <button id=7 bound_box=1,2,3,4>SAVE</button>`, `set_text <input id=2>Name</input> Rye bread`, `kill_app`. */
function ofLine(text: string): Gesture | undefined {
  const [, kind, rest = ''] = /^([A-Za-z]\w{0,40}(?: (?:up|down|left|right))?)(?![\w])([\s\S]*)$/.exec(text) ?? [];
  if (kind === undefined) return undefined;
  const told = rest.trim();
  const [opening, tag] = /^<([A-Za-z][\w-]{0,40})(?=[\s>])/.exec(told) ?? [];
  if (opening === undefined) return gestureOf(kind, told === '' ? {} : { text: told.replace(FLAT, ' ') });
  const close = `</${tag}>`;
  const end = told.indexOf(close);
  if (end === -1) return undefined;
  const element = told.slice(0, end);
  const id = /\sid=(\d{1,9})(?=[\s>])/.exec(element)?.[1];
  const box = /\sbound_box=(-?\d{1,6}(?:,-?\d{1,6}){3})(?=[\s>])/.exec(element)?.[1];
  const typed = told.slice(end + close.length).trim();
  return gestureOf(kind, {
    id,
    bound_box: box?.split(',').map(Number),
    element: id === undefined && box === undefined ? element : undefined,
    text: typed || undefined,
  });
}
