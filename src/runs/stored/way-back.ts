// How a run that was removed is stored again.

import type { ListedRun } from '../../report/stored/listed-run.js';
import { programName } from '../../settings/program-name.js';
import { shownPath } from '../../settings/shown-path.js';
import { shellLine } from '../../shell.js';
import type { Io } from '../../types.js';
import { wordsFor } from '../databases.js';

/** The command line that scores a run's judged file again, to be pasted; undefined where the file is not there any more. */
export function wayBack({ source, path, label, isLabelGiven, isSourceThere }: ListedRun, io: Io): string | undefined {
  if (!isSourceThere) return undefined;
  const named = isLabelGiven && label !== undefined ? ['--label', label] : [];
  return `${programName(io)} ${shellLine(['score', shownPath(source, io), ...wordsFor(path, io), ...named])}`;
}
