// awb runs remove: takes runs out of a SQLite file and gives their room back. The files that they were scored from stay.

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { EXIT, type ExitCode, UserError } from '../core/errors.js';
import { bytesText, counted } from '../core/figures.js';
import { oneLine } from '../core/printable.js';
import { terminal } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { measureOf } from '../judge/modes.js';
import { removalDocument } from '../report/stored/documents.js';
import { type ListedRun, runsTable } from '../report/stored/runs.js';
import { DEFAULT_DB, withKnownRuns } from '../results/databases.js';
import { storedRunToChange } from '../results/find.js';
import { listedRuns, wayBack } from '../results/stored/shown.js';
import { defineCommand } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { shownPath } from '../settings/shown-path.js';
import type { FoundRun, Space } from '../store/runs.js';
import { openStoreToChange } from '../store/store.js';

const OPTIONS = {
  runs: {
    kind: 'list',
    namesRun: true,
    value: 'RUN',
    required: true,
    whole: true,
    help: 'stored runs: their numbers or labels, or their judged files or the folders of those',
  },
  db: { kind: 'text', value: 'FILE', default: DEFAULT_DB, help: 'SQLite file of awb score' },
  yes: { kind: 'boolean', help: 'remove them; without it they are only listed' },
} as const satisfies OptionTable;

type RemoveSettings = Settings<typeof OPTIONS>;

export const command = defineCommand({
  description:
    'Removes runs from a SQLite file, with their judgements and scores, and gives the room back to the disk. Judged files and journals stay: awb score stores a run again.',
  examples: [
    { line: 'awb runs remove 3 4', does: 'what would go' },
    { line: 'awb runs remove 3 4 --yes', does: 'removes them' },
  ],
  options: OPTIONS,
  operands: ['runs'],
  run: removeRuns,
});

/**
 * Removes runs, or shows which ones it would.
 * @throws UserError: 2 where --yes is missing, or a name is that of no run or of several; 66, 65 and 74 for the SQLite file.
 */
async function removeRuns(settings: RemoveSettings, io: Io): Promise<ExitCode> {
  const { found, listed } = await withKnownRuns([settings.db], io, async (known) => {
    const runs = [...new Set(settings.runs.map((name) => storedRunToChange(name, known, io)))];
    return { found: runs.map(({ run }) => run), listed: listedRuns(runs) };
  });
  const db = resolve(io.cwd, settings.db);
  const space = settings.yes ? change(db, found) : undefined;
  if (settings.json) {
    const bytes = space && { before: space.before.bytes, after: space.after.bytes };
    io.stdout.write(`${JSON.stringify(removalDocument(db, listed, bytes))}\n`);
  } else {
    io.stdout.write(space === undefined ? previewText(listed, settings, io) : removedText(db, listed, space, io));
  }
  warnOfLost(listed, settings, io);
  if (!settings.yes) throw new UserError(`nothing was removed: --yes removes ${counted(listed.length, 'run')}`);
  return EXIT.done;
}

function change(db: string, found: readonly FoundRun[]): { readonly before: Space; readonly after: Space } {
  const store = openStoreToChange(db);
  try {
    return store.removeRuns(found);
  } finally {
    store.close();
  }
}

function previewText(runs: readonly ListedRun[], { color }: RemoveSettings, io: Io): string {
  const { columns, isTTY } = io.stdout;
  const bytes = runs.reduce((sum, run) => sum + run.bytes, 0);
  const table = terminal(runsTable(runs, columns, measureOf), { columns, color: color && isTTY });
  return `${table}\nabout ${bytesText(bytes)}; judged files and journals stay\n`;
}

function removedText(
  db: string,
  runs: readonly ListedRun[],
  { before, after }: ReturnType<typeof change>,
  io: Io,
): string {
  const names = runs.map(({ id, label }) => (label === undefined ? `run ${id}` : `run ${id} (${oneLine(label, 80)})`));
  const back = runs.flatMap((run) => wayBack(run, io) ?? []);
  return [
    `removed: ${names.join(', ')}`,
    `room: ${roomText(shownPath(db, io), before, after, statSync(db).size)}`,
    ...back.map((line, index) => `${index === 0 ? 'undo: ' : '      '}${line}`),
    '',
  ].join('\n');
}

/** @param bytes of the file at this moment: who reads it still may hold on to what was removed. */
function roomText(db: string, before: Space, after: Space, bytes: number): string {
  if (after.freeBytes > 0) {
    return `${bytesText(after.freeBytes)} of ${db} are free for the next runs; they could not be given back, since others write the file or the disk has no room for a copy`;
  }
  const freed = bytesText(before.bytes - after.bytes);
  return bytes > after.bytes
    ? `${freed} are given back as soon as no other process has ${db} open`
    : `${freed} given back, ${db} has ${bytesText(bytes)}`;
}

/** Names the runs that no command would bring back from where they were scored. */
function warnOfLost(runs: readonly ListedRun[], { quiet }: RemoveSettings, io: Io): void {
  if (quiet) return;
  for (const { id, source, isSourceThere } of runs) {
    if (isSourceThere) continue;
    const moved = `${shownPath(source, io)} is not there any more; only awb score on the place that it was moved to stores run ${id} again`;
    io.stderr.write(`warning: ${moved}\n`);
  }
}
