// awb runs remove: takes runs out of a SQLite file and gives their room back. The files that they were scored from stay.

import { resolve } from 'node:path';
import { EXIT, type ExitCode, UserError } from '../core/errors.js';
import { bytesText, counted } from '../core/figures.js';
import { oneLine } from '../core/printable.js';
import { terminal } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { DEFAULT_DB, withKnownRuns } from '../results/databases.js';
import { storedRunToChange } from '../results/find.js';
import { listedRuns, removalDocument, runsTable, wayBack } from '../results/stored-runs.js';
import { defineCommand, type OptionTable, option, type Settings } from '../settings/command.js';
import { shownPath } from '../settings/shown-path.js';
import type { Space } from '../store/runs.js';
import { openStoreToChange, withStore } from '../store/store.js';

const OPTIONS = {
  runs: option.list('RUN', 'stored runs: their numbers or labels, or their judged files or the folders of those', {
    namesRun: true,
    required: true,
    whole: true,
  }),
  db: option.text('FILE', 'SQLite file of awb score', { default: DEFAULT_DB }),
  yes: option.flag('remove them; without it they are only listed'),
} as const satisfies OptionTable;

export const command = defineCommand({
  description:
    'Removes runs from a SQLite file, with their judgements and scores, and gives the room back to the disk. Judged files and journals stay: awb score stores a run again.',
  examples: { 'awb runs remove 3 4': 'what would go', 'awb runs remove 3 4 --yes': 'removes them' },
  options: OPTIONS,
  operands: ['runs'],
  run: removeRuns,
});

/**
 * Removes runs, or shows which ones it would.
 * @throws UserError: 2 where --yes is missing, or a name is that of no run or of several; 66, 65 and 74 for the SQLite file.
 */
async function removeRuns(settings: Settings<typeof OPTIONS>, io: Io): Promise<ExitCode> {
  const { json, quiet, color, yes } = settings;
  const { found, runs } = await withKnownRuns([settings.db], io, async (known) => {
    const all = [...new Set(settings.runs.map((name) => storedRunToChange(name, known, io)))];
    return { found: all.map(({ run }) => run), runs: listedRuns(all) };
  });
  const db = resolve(io.cwd, settings.db);
  const space = yes ? withStore(db, openStoreToChange, (store) => store.removeRuns(found)) : undefined;
  if (json) {
    const bytes = space && { before: space.before.bytes, after: space.after.bytes };
    io.stdout.write(`${JSON.stringify(removalDocument(db, runs, bytes))}\n`);
  } else if (space !== undefined) {
    const names = runs.map(({ id, label }) => `run ${id}${label === undefined ? '' : ` (${oneLine(label, 80)})`}`);
    const back = runs.flatMap((run) => wayBack(run, io) ?? []);
    const lines = back.map((line, index) => `${index === 0 ? 'undo: ' : '      '}${line}`);
    io.stdout.write(`${[`removed: ${names.join(', ')}`, roomText(shownPath(db, io), space), ...lines].join('\n')}\n`);
  } else {
    const { columns, isTTY } = io.stdout;
    const table = terminal(runsTable(runs, columns), { columns, color: color && isTTY });
    const bytes = runs.reduce((sum, run) => sum + run.bytes, 0);
    io.stdout.write(`${table}\nabout ${bytesText(bytes)}; judged files and journals stay\n`);
  }
  for (const { id, source } of runs.filter(({ isSourceThere }) => !isSourceThere && !quiet)) {
    const moved = `${shownPath(source, io)} is not there any more; only awb score on the place that it was moved to stores run ${id} again`;
    io.stderr.write(`warning: ${moved}\n`);
  }
  if (!yes) throw new UserError(`nothing was removed: --yes removes ${counted(runs.length, 'run')}`);
  return EXIT.done;
}

function roomText(db: string, { before, after }: { readonly before: Space; readonly after: Space }): string {
  const free = `${bytesText(after.freeBytes)} of ${db} are free for the next runs; they could not be given back, since others write the file or the disk has no room for a copy`;
  const freed = `${bytesText(before.bytes - after.bytes)} given back, ${db} has ${bytesText(after.bytes)}`;
  return `room: ${after.freeBytes > 0 ? free : freed}`;
}
