// awb runs show: all that a SQLite file holds of a run.

import { EXIT, type ExitCode, heedStop } from '../core/errors.js';
import { printable } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { RUN_OPTIONS, withKnownRuns } from '../results/databases.js';
import { storedRun } from '../results/find.js';
import { runDocument, runText, shownRun } from '../results/stored-runs.js';
import { defineCommand, EXPLAIN, type OptionTable, option, type Settings } from '../settings/command.js';

const OPTIONS = {
  run: option.text('RUN', 'a stored run: its label or number, or its judged file or the folder of that', {
    namesRun: true,
    required: true,
  }),
  db: RUN_OPTIONS.db,
  ...EXPLAIN,
} as const satisfies OptionTable;

export const command = defineCommand({
  description:
    'Shows all of a stored run: what made it, its scores and failures, and whether its judged file is still the one that was scored.',
  examples: {
    'awb runs show step-100': 'by its label',
    'awb runs show 3 --json | jq .source_state': 'by its number: same, changed, missing or unreadable',
  },
  options: OPTIONS,
  operands: ['run'],
  run: showRun,
});

async function showRun(settings: Settings<typeof OPTIONS>, io: Io): Promise<ExitCode> {
  const note = (text: string) => {
    if (!settings.quiet) io.stderr.write(`note: ${printable(text)}\n`);
  };
  return withKnownRuns(settings.db, io, async (known) => {
    const run = await shownRun(storedRun(settings.run, known, note, io), note);
    await heedStop(io);
    const { explain } = settings;
    const look = { columns: io.stdout.columns, color: settings.color && io.stdout.isTTY, explain };
    io.stdout.write(settings.json ? `${JSON.stringify(runDocument(run))}\n` : runText(run, look, io));
    return EXIT.done;
  });
}
