// Whether the judged file that a stored run was scored from is still there, and still the same.

import { stat } from 'node:fs/promises';
import { codeOf } from '../../errors.js';
import type { JudgedFileState } from '../../report/stored/shown-run.js';
import { sha256Of, sizeOf } from '../../run/file-reading.js';
import type { StoredRun } from '../../store/records.js';
import { journalBeside } from '../judged-path.js';

/** Looks at the judged file of a run, and reads it whole for its hash. */
export async function judgedFileState({ source, sourceSha256 }: StoredRun): Promise<JudgedFileState> {
  const journalBytes = await sizeOf(journalBeside(source));
  try {
    const found = await stat(source);
    // Anything else (a FIFO, a device) could hang or never end.
    if (!found.isFile()) return { state: 'unreadable', reason: 'it is no regular file', journalBytes };
    const isSame = (await sha256Of(source)) === sourceSha256;
    return { state: isSame ? 'same' : 'changed', bytes: found.size, journalBytes };
  } catch (error) {
    const code = codeOf(error);
    if (code === undefined) throw error;
    if (code === 'ENOENT' || code === 'ENOTDIR') return { state: 'missing', journalBytes };
    return { state: 'unreadable', reason: code, journalBytes };
  }
}
