// The functions that a request lets a model call.

import { isObject, type JsonObject } from '../../json.js';
import type { Tool } from '../engine-contract.js';
import { invalid, unsupported } from '../http/api-error.js';
import { MARKS } from './messages.js';
import { isString, shown } from './parameters.js';

/** The functions that a model may call. Throws an ApiError for what the server could not keep to. */
export function readTools(value: unknown): Tool[] {
  if (value === undefined) return [];
  if (!Array.isArray(value)) throw invalid("'tools' must be a list", 'tools');
  return value.map((tool, index) => readTool(tool, `tools[${index}]`));
}

function readTool(value: unknown, at: string): Tool {
  if (!isObject(value) || value.type !== 'function') throw invalid(`'${at}' must be of the type function`, at);
  requireKnown(value, ['type', 'function'], at);
  const { function: called } = value;
  if (!isObject(called)) throw invalid(`'${at}.function' must be an object`, `${at}.function`);
  requireKnown(called, ['name', 'description', 'parameters', 'strict'], `${at}.function`);
  const { name, description, parameters, strict } = called;
  if (!isString(name) || !/^[\w.-]{1,128}$/.test(name)) {
    throw invalid(`'${at}.function.name' must be made of letters, digits, _, . and -`, `${at}.function.name`);
  }
  if ((strict ?? false) !== false) {
    const message = `'${at}.function.strict' is not supported: no grammar holds the arguments`;
    throw invalid(message, `${at}.function.strict`, 'unsupported_value');
  }
  if (description != null && !isString(description)) {
    throw invalid(`'${at}.function.description' must be a string`, `${at}.function.description`);
  }
  if (parameters != null && !isObject(parameters)) {
    throw invalid(`'${at}.function.parameters' must be an object`, `${at}.function.parameters`);
  }
  return {
    type: 'function',
    function: {
      name,
      ...(isString(description) && { description }),
      ...(isObject(parameters) && { parameters }),
    },
  };
}

/** Throws an ApiError where the model is to be made to call. */
export function readToolChoice(value: unknown): 'auto' | 'none' {
  if (value === undefined || value === 'auto') return 'auto';
  if (value === 'none') return 'none';
  const message = `'tool_choice' is not supported with the value ${shown(value)}: a model may call (auto) or not (none), but not be made to`;
  throw invalid(message, 'tool_choice', 'unsupported_value');
}

function requireKnown(value: JsonObject, known: readonly string[], at: string): void {
  const other = Object.keys(value).find((name) => value[name] !== null && ![...known, ...MARKS].includes(name));
  if (other !== undefined) {
    throw unsupported(`${at}.${other}`);
  }
}
