// A line of a file of judgements: its object, or the error that names file, line and remedy.

import { EXIT, UserError } from '../errors.js';
import { type JsonObject, parseObject } from '../json.js';
import type { Line } from '../lines.js';
import { textOf } from './line-file.js';

/** The object of a line, and its text. @param command what writes such a file @throws UserError (65) for any other line. */
export function parseJudgedLine(path: string, line: Line, command: string): { fields: JsonObject; text: string } {
  const found = textOf(line);
  if ('flaw' in found) throw badLine(path, line.number, `${found.flaw}; mend the line or take it out`);
  const fields = parseObject(found.text);
  if (fields !== undefined) return { fields, text: found.text };
  throw line.ended
    ? badLine(path, line.number, 'not a JSON object; mend the line or take it out')
    : badLine(
        path,
        line.number,
        `the last line is cut off; run ${command} again, which asks for no finished row twice`,
      );
}

/** What is wrong with a line of a file, named by both. */
export function badLine(path: string, line: number, reason: string): UserError {
  return new UserError(`${path}:${line}: ${reason}`, EXIT.badData);
}
