// A folder held against the record of what was fetched into it, without the hub.

import type { SourceCheck } from '../survey.js';
import { holdsRows, placeOf } from './dataset-files.js';
import { strangersIn } from './dataset-folder.js';
import { readSourceRecord } from './source-record.js';

/**
 * Reads every file of rows in the record. Throws a UserError (130 or 143) when interrupted.
 * @param onRead is told of bytes that were read
 */
export async function checkSource(
  folder: string,
  signal: AbortSignal,
  onRead: (bytes: number) => void,
): Promise<SourceCheck> {
  const record = await readSourceRecord(folder);
  if (record === undefined) return { status: 'none' };
  if (record === 'damaged') return { status: 'damaged' };
  const { repository, revision, commit } = record;
  const files: { name: string; state: 'same' | 'differs' | 'missing' }[] = [];
  for (const file of record.files.filter(holdsRows)) {
    const { state } = await placeOf(file, folder, undefined, { replace: false, signal, onRead });
    files.push({
      name: file.name,
      state: state === 'unchanged' ? 'same' : state === 'fetched' ? 'missing' : 'differs',
    });
  }
  const strangers = await strangersIn(folder, record.files);
  const isSame = strangers.length === 0 && files.every(({ state }) => state === 'same');
  return { status: isSame ? 'as-fetched' : 'differs', repository, revision, commit, files, strangers };
}
