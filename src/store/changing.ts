// What users change of stored runs: the label of one, and which of them are there.

import { UserError } from '../errors.js';
import type { StoredRun } from './records.js';
import { giveBackSpace, type Space, spaceOf } from './space.js';
import type { Sqlite } from './sqlite.js';

/** A run as it was found. Its number alone does not name it: once a run is removed, another may get its number. */
export type FoundRun = Pick<StoredRun, 'id' | 'identity'>;

/** Gives a run a label. @throws UserError (2) where it is not there any more. */
export function renameRun(database: Sqlite, { id, identity }: FoundRun, label: string): void {
  database.immediate(() => {
    const rename = database.prepare('UPDATE runs SET label = ? WHERE id = ? AND identity = ?');
    requireThere(rename.run(label, id, identity).changes, id);
  });
}

/** Removes runs with all that belongs to them: all of these runs or, where one is not there any more, none. @throws UserError (2) */
export function removeRuns(database: Sqlite, runs: readonly FoundRun[]): { before: Space; after: Space } {
  const before = spaceOf(database);
  database.immediate(() => {
    const remove = database.prepare('DELETE FROM runs WHERE id = ? AND identity = ?');
    for (const { id, identity } of runs) requireThere(remove.run(id, identity).changes, id);
  });
  giveBackSpace(database);
  return { before, after: spaceOf(database) };
}

function requireThere(changes: number, id: number): void {
  if (changes > 0) return;
  throw new UserError(
    `run ${id} is not there any more: another process removed it, and nothing was changed; awb runs list shows what is there`,
  );
}
