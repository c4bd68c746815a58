// The names by which a command line can call the stored runs, for shells to complete.

import { UserError } from '../../errors.js';
import { oneLine } from '../../printable.js';
import type { Io } from '../../types.js';
import { DEFAULT_DB, runsNamed, withKnownRuns } from '../databases.js';

/** A name, and what else there is to say of its run. */
interface RunName {
  readonly name: string;
  readonly description: string;
}

/**
 * The runs of SQLite files, each by its label or, where that needs quotes or several have it, by its number. None where no file
 * is given and there is none at the usual place, or where one cannot be read: a shell that completes has nobody to tell.
 */
export async function runNames(given: string | undefined, io: Io): Promise<RunName[]> {
  const files = (given ?? (io.env.AWB_DB || DEFAULT_DB)).split(',');
  try {
    return await withKnownRuns(files, io, async (known) =>
      known.map((each) => {
        const { id, label, worldModel, judgeModel, kind } = each.run;
        const isPlain = label !== undefined && /^\w[\w.@+=-]*$/.test(label) && runsNamed(label, known).length === 1;
        const words = [isPlain ? `run ${id}` : label, worldModel, judgeModel ?? kind].filter(
          (word) => word !== undefined,
        );
        return { name: isPlain ? label : String(id), description: oneLine(words.join(', '), 60) };
      }),
    );
  } catch (error) {
    if (error instanceof UserError) return [];
    throw error;
  }
}
