// The tools that a text describes as JSON: what an agent has to know of an environment whose description it must not read whole.

import { isObject, nestsBeyond, parseObject } from '../json.js';

/** Objects that never end are not looked for longer than that, in characters over the whole text. */
const MOST_LOOKED_AT = 8_000_000;
const DEEPEST = 64;

/**
 * The descriptions of tools in a text, as they stand there: objects with a name, and parameters or a description of them. Nothing else
 * of the text is told: a system prompt written for the environment may hold what the agent has to find out.
 */
export function describedTools(text: string): string[] {
  const tools: string[] = [];
  let left = MOST_LOOKED_AT;
  let start = text.indexOf('{');
  while (start !== -1 && left > 0) {
    const end = objectEnd(text, start, left);
    left -= (end ?? text.length) - start;
    const found = end === undefined ? undefined : text.slice(start, end);
    const isTool = found !== undefined && isDescription(found);
    if (isTool) tools.push(found);
    start = text.indexOf('{', isTool && end !== undefined ? end : start + 1);
  }
  return tools;
}

function isDescription(text: string): boolean {
  if (!text.includes('"name"') || nestsBeyond(text, DEEPEST)) return false;
  const { function: inner, ...outer } = parseObject(text) ?? {};
  const { name, parameters, inputSchema, input_schema: schema } = isObject(inner) ? inner : outer;
  return typeof name === 'string' && [parameters, inputSchema, schema].some(isObject);
}

/** Where the object that opens at `start` ends (exclusive); undefined where it does not within `most` characters. */
function objectEnd(text: string, start: number, most: number): number | undefined {
  let [depth, isQuoted] = [0, false];
  const last = Math.min(text.length, start + most);
  for (let at = start; at < last; at++) {
    const char = text.charAt(at);
    if (isQuoted && char === '\\') at++;
    else if (char === '"') isQuoted = !isQuoted;
    else if (isQuoted) continue;
    else if (char === '{') depth++;
    else if (char === '}' && --depth === 0) return at + 1;
  }
  return undefined;
}
