// Lines of a file of judgements: their objects, or the error that names file, line and remedy.

import { EXIT, UserError } from '../errors.js';
import { type JsonObject, parseObject } from '../json.js';
import type { Line } from '../lines.js';
import { openToRead, readLines, textOf } from './line-file.js';

/** A line with its object, and its text. */
interface JudgedLine {
  readonly line: Line;
  readonly fields: JsonObject;
  readonly text: string;
}

/**
 * The lines of a file of judgements.
 * @param by the command that writes such a file, and what is said where it cannot be read
 * @param onChunk is given every byte in order
 * @throws UserError 66 where the file cannot be read; 65 for a line that is no object; 130 or 143 once `stop` is aborted.
 */
export async function* judgedLines(
  path: string,
  by: { readonly command: string; readonly hint: string },
  stop?: AbortSignal,
  onChunk?: (chunk: Uint8Array) => void,
): AsyncGenerator<JudgedLine> {
  const handle = await openToRead(path, by.hint);
  try {
    for await (const line of readLines(handle, path, by.hint, stop, onChunk)) {
      yield { line, ...parseJudgedLine(path, line, by.command) };
    }
  } finally {
    await handle.close();
  }
}

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
