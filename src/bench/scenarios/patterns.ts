// Patterns and paths in a suite's file, tried when the suite is read: one that is wrong would say so in the middle of a run.

import { messageOf } from '../../errors.js';
import { isJsonPath } from '../../json-path.js';
import { compilePattern } from '../../pattern.js';
import type { Pattern } from '../../scenario.js';
import { slotsIn, sourceWithSlots } from '../../scenario-slots.js';
import type { Field, FieldReader } from './fields.js';

const PATTERN_KEYS = ['pattern', 'ignore_case'];

/** A pattern as a text, or as `{pattern, ignore_case}`. */
export function readPattern(reader: FieldReader, field: Field, what: string): Pattern | undefined {
  if (!reader.isMap(field)) return checked(reader, field, what, false);
  const fields = reader.fields(field, what, PATTERN_KEYS);
  const given = fields?.get('pattern');
  const flag = fields?.get('ignore_case');
  const ignoreCase = flag === undefined ? false : reader.value(flag);
  if (flag !== undefined && typeof ignoreCase !== 'boolean') {
    return reader.fault(flag.line, '"ignore_case" has to be true or false');
  }
  if (given === undefined) return reader.fault(field.line, `${what} has no "pattern"; write one`);
  return checked(reader, given, what, ignoreCase === true);
}

function checked(reader: FieldReader, field: Field, what: string, ignoreCase: boolean): Pattern | undefined {
  const source = reader.text(field, what);
  if (source === undefined) return undefined;
  const pattern: Pattern = { source, ...(ignoreCase ? { ignoreCase } : {}) };
  try {
    // Any text may fill a slot.
    compilePattern({ ...pattern, source: filledForm(source) });
    return pattern;
  } catch (error) {
    if (!(error instanceof SyntaxError)) throw error;
    return reader.fault(field.line, `${what} is no pattern: ${messageOf(error)}; mend it`);
  }
}

function filledForm(source: string): string {
  return sourceWithSlots(source, Object.fromEntries(slotsIn(source).map((slot) => [slot, 'x'])));
}

/** Names of the pattern's groups, which fill slots. */
export function groupsIn(pattern: Pattern | undefined): readonly string[] {
  return pattern === undefined ? [] : compilePattern(pattern).names;
}

export function readJsonPath(reader: FieldReader, field: Field): string | undefined {
  const path = reader.text(field, '"path"');
  if (path === undefined || isJsonPath(filledForm(path))) return path;
  return reader.fault(field.line, `"${path}" is no path; write one such as $.items[0].price, $['a key'] or $[*].id`);
}
