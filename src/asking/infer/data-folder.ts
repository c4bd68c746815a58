// The folder of the benchmark's rows, before it is read: whether there is one, and how to come by it.

import { readdir } from 'node:fs/promises';
import { resolve } from 'node:path';
import { codeOf, EXIT, UserError } from '../../errors.js';
import { holdsRows, readSourceRecord } from '../../hub/source-record.js';
import { RELEASED } from '../../released.js';
import { programName } from '../../settings/program-name.js';
import { shownPath } from '../../settings/shown-path.js';
import { shellLine } from '../../shell.js';
import type { Io } from '../../types.js';

/** Where `awb data fetch` puts the rows, and infer looks for them. */
const DEFAULT = 'data';

/** @throws UserError (66) with the one command to type, where there are no rows in the folder or a fetch has not brought all of them. */
export async function requireData(dataDir: string, io: Pick<Io, 'cwd' | 'env'>): Promise<void> {
  const folder = resolve(io.cwd, dataDir);
  const names = await readdir(folder).catch((error: unknown) => {
    // What else is wrong with a folder, reading it says best.
    return codeOf(error) === 'ENOENT' ? [] : undefined;
  });
  if (names === undefined) return;
  const shown = shownPath(folder, io);
  const record = await readSourceRecord(folder);
  const isCut = typeof record === 'object' && !record.complete;
  if (names.some((name) => holdsRows({ name })) && !isCut) return;
  const what = isCut
    ? `the benchmark has not been fetched to its end into ${shown}; to go on with it, type`
    : `there is no benchmark in ${shown} (files named *_test.jsonl); to fetch it (402 MB), type`;
  const command = [
    'data',
    'fetch',
    ...(dataDir === DEFAULT ? [] : ['--output-dir', dataDir]),
    ...(isCut && record.revision !== RELEASED.commit ? ['--revision', record.revision] : []),
  ];
  const otherwise = isCut ? '' : '\nor name the folder that holds it with --data-dir';
  throw new UserError(`${what}\n  ${programName(io)} ${shellLine(command)}${otherwise}`, EXIT.inputMissing);
}
