// A small part of JSONPath (RFC 9535): names, indexes and wildcards, which find values in JSON and in JSON that stands as a text inside it.

import { isContainer, isObject, parseJson } from '../../core/json.js';

type Segment = { readonly name: string } | { readonly index: number } | 'all';

/** `.name`, `['name']`, `["name"]`, `[0]`, `[-1]`, `[*]` or `.*`. */
const SEGMENT =
  /\.(?:(?<name>[\p{L}_][\p{L}\p{N}_]*)|\*)|\[(?:'(?<single>(?:[^'\\]|\\.)*)'|"(?<double>(?:[^"\\]|\\.)*)"|(?<index>0|-?[1-9]\d*)|\*)\]/uy;

/** The path's segments; undefined where it is none of these. */
function segmentsOf(path: string): Segment[] | undefined {
  if (!path.startsWith('$')) return undefined;
  const found: Segment[] = [];
  let at = 1;
  while (at < path.length) {
    SEGMENT.lastIndex = at;
    const match = SEGMENT.exec(path);
    if (match === null) return undefined;
    const { name, single, double, index } = match.groups ?? {};
    const quoted = single ?? double;
    if (quoted !== undefined) found.push({ name: quoted.replace(/\\(.)/gu, '$1') });
    else if (name !== undefined) found.push({ name });
    else found.push(index === undefined ? 'all' : { index: Number(index) });
    at += match[0].length;
  }
  return found;
}

/** Whether `valuesAt` understands the path. */
export function isJsonPath(path: string): boolean {
  return segmentsOf(path) !== undefined;
}

/** The values at a path, in their order; none where it leads nowhere. A text on the way that holds JSON is gone into. */
export function valuesAt(root: unknown, path: string): unknown[] {
  let values = [root];
  for (const segment of segmentsOf(path) ?? []) values = values.flatMap((value) => inside(unpacked(value), segment));
  return values;
}

function inside(value: unknown, segment: Segment): unknown[] {
  if (segment === 'all') return isContainer(value) ? Object.values(value) : [];
  if ('name' in segment) return isObject(value) && Object.hasOwn(value, segment.name) ? [value[segment.name]] : [];
  if (!Array.isArray(value)) return [];
  const index = segment.index < 0 ? value.length + segment.index : segment.index;
  return index in value ? [value[index]] : [];
}

/** MCP packs the JSON of a result as a text into a block. */
function unpacked(value: unknown): unknown {
  return typeof value === 'string' && /^\s*[[{]/.test(value) ? (parseJson(value) ?? value) : value;
}

/**
 * The JSON that a text is or holds: the whole text, or the first lines that begin with a bracket and parse, to the last bracket of
 * their kind. Undefined where there is none.
 */
export function jsonIn(text: string): unknown {
  const whole = parseJson(text.trim());
  if (whole !== undefined) return whole;
  const start = /^[ \t]*[[{]/m.exec(text);
  if (start === null) return undefined;
  const rest = text.slice(start.index).trimStart();
  const end = rest.lastIndexOf(rest.startsWith('{') ? '}' : ']');
  return end < 0 ? undefined : parseJson(rest.slice(0, end + 1));
}
