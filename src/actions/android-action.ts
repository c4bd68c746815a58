// An agent's gesture on a phone, in the three notations of the benchmark: JSON, an `<invoke>` element, and DroidBot's lines.

import { isObject, parseObject } from '../json.js';
import { type Gesture, gestureOf } from './gui-call.js';

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
    ...(id === undefined ? {} : { id }),
    ...(box === undefined ? {} : { bound_box: box.split(',').map(Number) }),
    ...(id === undefined && box === undefined ? { element } : {}),
    ...(typed === '' ? {} : { text: typed }),
  });
}
