// Files of prompts and rubrics, read as Python reads them, and the fingerprint of what they hold.

import { createHash } from 'node:crypto';
import { access, readdir, readFile } from 'node:fs/promises';
import { codeOf, EXIT, UserError } from '../errors.js';

/** The names in a folder, which `flag` can name. @throws UserError (66) */
export async function listFolder(folder: string, flag = '--rubrics'): Promise<string[]> {
  try {
    return await readdir(folder);
  } catch (error) {
    throw new UserError(
      `cannot read the folder ${folder} (${codeOf(error) ?? error}); check the path of ${flag}, or install the package again if it is the package's own`,
      EXIT.inputMissing,
    );
  }
}

/** The text as Python's text mode reads it: UTF-8, a byte order mark kept, every line end a newline. Never blank. @throws UserError 66, or 65 for what is no text. */
export async function readText(file: string, remedy = 'put it back, or point to a complete folder'): Promise<string> {
  let bytes: Buffer;
  try {
    bytes = await readFile(file);
  } catch (error) {
    throw new UserError(`cannot read ${file} (${codeOf(error) ?? error}); ${remedy}`, EXIT.inputMissing);
  }
  let text: string;
  try {
    text = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw new UserError(`${file} is not UTF-8; save it as UTF-8`, EXIT.badData);
  }
  if (text.trim() === '')
    throw new UserError(`${file} is empty; write its text or take it from the source`, EXIT.badData);
  return text.replace(/\r\n?/g, '\n');
}

/** Whether there is such a file, as far as can be told. */
export async function exists(file: string): Promise<boolean> {
  return access(file).then(
    () => true,
    (error) => codeOf(error) !== 'ENOENT' && codeOf(error) !== 'ENOTDIR',
  );
}

/** SHA-256 in hex over the JSON of some contents. */
export function fingerprintOf(contents: unknown): string {
  return createHash('sha256').update(JSON.stringify(contents)).digest('hex');
}
