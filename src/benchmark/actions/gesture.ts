// One gesture of an agent on a screen: what kind, at which target, with which text; when two gestures are the same; and those on a phone, in
// the three notations of the benchmark: JSON, an `<invoke>` element, and DroidBot's lines.

import { canonicalJson, isObject, parseObject } from '../../core/json.js';

/** A gesture, whatever notation it was written in. */
export interface Gesture {
  readonly kind: string;
  /** The element that it names. */
  readonly element?: string;
  /** Where it points; by the argument's name where it points to several places. */
  readonly points: Readonly<Record<string, Point>>;
  /** All else, such as typed text. */
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

/** Arguments that name an element, the surest first. */
const ELEMENT = ['bid', 'index', 'element_id', 'id', 'ref', 'element'];
/** Arguments that hold a place. */
const PLACE = ['coordinate', 'coordinates', 'point', 'position', 'start_coordinate', 'start', 'center'];
/** How long something takes or is waited for does not matter. */
const TIMES = new Set('duration duration_ms interval pause _pause tween wait_ms seconds time'.split(' '));

/** The gesture that a kind and named arguments describe. */
export function gestureOf(kind: string, given: Readonly<Record<string, unknown>>): Gesture {
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

/** The place that an argument holds; `part` where it is the second half of a pair such as `x` and `y`. How far is scrolled is no place. */
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

/** Whether two gestures are of one kind, at one target, with the same text: the element decides where both name one, else the place. */
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

/** The gesture that an action describes, in whichever notation; undefined where it is in none of them. */
export function phoneGesture(text: string): Gesture | undefined {
  const fields = text.startsWith('{') ? parseObject(text) : undefined;
  if (fields !== undefined) return ofFields(fields);
  if (/<invoke\s/.test(text)) return ofElement(text);
  return text.startsWith('{') || text.startsWith('[') ? undefined : ofLine(text);
}

/** The members that say what kind of gesture it is. */
const KIND = ['action_type', 'action', 'name'];

function ofFields(fields: Readonly<Record<string, unknown>>): Gesture | undefined {
  const key = KIND.find((name) => typeof fields[name] === 'string');
  if (key === undefined) return undefined;
  const { [key]: kind, arguments: inner, ...rest } = fields;
  return gestureOf(String(kind), { ...rest, ...(isObject(inner) ? inner : {}) });
}

const LONGEST_NAME = 100;

/** `<invoke name="..."><parameter name="...">...</parameter></invoke>`; a tool for everything has its kind among the parameters. */
function ofElement(text: string): Gesture | undefined {
  const tool = /<invoke\s+name="([^"<>]{1,100})"/.exec(text)?.[1];
  if (tool === undefined) return undefined;
  const parameters: Record<string, unknown> = {};
  // Each piece begins behind an opening tag, so that no text is looked at twice.
  for (const piece of text.split('<parameter name="').slice(1)) {
    const [nameEnd, valueEnd] = [piece.indexOf('">'), piece.indexOf('</parameter>')];
    if (nameEnd < 1 || nameEnd > LONGEST_NAME || valueEnd < nameEnd) return undefined;
    parameters[piece.slice(0, nameEnd)] = parameterOf(piece.slice(nameEnd + '">'.length, valueEnd));
  }
  const { action, ...rest } = parameters;
  return typeof action === 'string' ? gestureOf(`${tool} ${action}`, rest) : gestureOf(tool, parameters);
}

const NUMBER = /^-?\d+(?:\.\d+)?$/;

/** A number, a list of numbers, or the text itself: typed text that looks like a number is one in both actions that are compared. */
function parameterOf(text: string): unknown {
  if (NUMBER.test(text.trim())) return Number(text);
  const inner = /^\s*[[(]([\d\s.,-]{1,100})[\])]\s*$/.exec(text)?.[1];
  const parts = inner?.split(',').map((part) => part.trim()) ?? [];
  return parts.length > 0 && parts.every((part) => NUMBER.test(part)) ? parts.map(Number) : text;
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
