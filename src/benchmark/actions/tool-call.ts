// Calls of tools as agents write them: JSON with a name and arguments; and when two of them are the same action.

import { chrf } from '../../core/chrf.js';
import { canonicalJson, isObject, type JsonObject, nestsBeyond, parseObject } from '../../core/json.js';
import { PYTHON_SPACE } from '../../core/reply.js';

/** A call of a tool. */
export interface CalledTool {
  readonly name: string;
  /** As an object, whether the action has them so or as a text of JSON. */
  readonly arguments: JsonObject;
}

/** The call that a value is, or what keeps it from being one. @param deepest how deep arguments that are a text of JSON may nest */
export function calledTool(value: unknown, deepest: number): CalledTool | { readonly flaw: string } {
  if (!isObject(value)) return { flaw: 'the action is no JSON object' };
  const { name, arguments: given = {} } = value;
  if (typeof name !== 'string' || name === '') return { flaw: 'the action has no "name" of a tool' };
  if (typeof given === 'string' && nestsBeyond(given, deepest)) return { flaw: 'the "arguments" nest too deep' };
  const called = typeof given === 'string' ? parseObject(given) : given;
  return isObject(called) ? { name, arguments: called } : { flaw: 'the "arguments" of the action are no JSON object' };
}

/** Arguments that hold free text: what is searched for, and what is written. */
const FREE_TEXT = new Set(
  (
    'query queries search_query keywords goal question prompt thought ' +
    'content contents text file_text new_str new_string new_text insert_text body message comment description summary'
  ).split(' '),
);

/** From this chrF on, free texts count as the same. */
const LIKE = 80;

/** Whether two calls name one tool and say the same: free text nearly, everything else exactly. */
export function isSameTool(a: CalledTool, b: CalledTool): boolean {
  return a.name === b.name && isSameValue(a.arguments, b.arguments, false);
}

/** `isFree` where the value stands under the name of a free text. Both values come from JSON of bounded depth. */
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

/** chrF weighs recall more than precision, so it is asked both ways: the order of the two must not matter. */
function isLike(a: string, b: string): boolean {
  const [left, right] = [a.replace(SPACE, ''), b.replace(SPACE, '')];
  if (left === '' || right === '') return left === right;
  return chrf(left, right) >= LIKE && chrf(right, left) >= LIKE;
}
