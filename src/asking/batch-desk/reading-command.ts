// The command that reads what has come into a batch folder: the one that wrote it, given once more.

import type { Batch } from '../../model/batch/folder.js';
import { programName } from '../../settings/program-name.js';
import { shellLine } from '../../shell.js';
import type { Io } from '../../types.js';

/** To be pasted; in words where batch.json does not hold it. */
export function readingCommand({ command, run }: Batch, io: Pick<Io, 'cwd' | 'env'>): string {
  if (command === undefined) return `the awb ${run.kind} command with --batch-dir that wrote the folder, once more`;
  const line = `${programName(io)} ${shellLine(command.words)}`;
  return command.cwd === io.cwd ? line : `cd ${shellLine([command.cwd])} && ${line}`;
}
