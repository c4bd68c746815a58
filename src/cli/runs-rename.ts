// awb runs rename: gives a stored run another label.

import { EXIT, type ExitCode } from '../core/errors.js';
import { printable } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { DEFAULT_DB, withKnownRuns } from '../results/databases.js';
import { checkLabel, notesOnLabel, storedRunToChange } from '../results/find.js';
import { isGiven } from '../results/stored-runs.js';
import { defineCommand, type OptionTable, option, type Settings } from '../settings/command.js';
import { openStoreToChange, withStore } from '../store/store.js';

const OPTIONS = {
  run: option.text('RUN', 'a stored run: its number or label, or its judged file or the folder of that', {
    namesRun: true,
    required: true,
  }),
  name: option.text('NAME', 'what it is called from now on', { required: true, check: checkLabel }),
  db: option.text('FILE', 'SQLite file of awb score', { default: DEFAULT_DB }),
} as const satisfies OptionTable;

export const command = defineCommand({
  description:
    'Gives a stored run another label. awb score keeps it when it scores the run again, unless --label gives one there. The manifest beside the judged file keeps its own.',
  examples: {
    'awb runs rename 3 step-100': 'a name for run 3',
    'awb runs rename step-100 baseline': 'another name for the run of a label',
  },
  options: OPTIONS,
  operands: ['run', 'name'],
  run: renameRun,
});

async function renameRun(settings: Settings<typeof OPTIONS>, io: Io): Promise<ExitCode> {
  const { name: label } = settings;
  const { found, notes } = await withKnownRuns([settings.db], io, async (known) => {
    const found = storedRunToChange(settings.run, known, io);
    return { found, notes: notesOnLabel(label, found, known) };
  });
  const { run, db, path } = found;
  // Nothing was open for writing until it was clear what to write.
  withStore(path, openStoreToChange, (store) => store.renameRun(run, label));
  const given = isGiven({ label, manifest: run.manifest });
  const document = { schema: 'awb.run-renamed/1', db: path, id: run.id, before: run.label ?? null, label };
  const before = run.label === undefined ? 'had no label' : `was ${run.label}`;
  const text = printable(`run ${run.id} of ${db} is ${label} now; it ${before}`);
  io.stdout.write(`${settings.json ? JSON.stringify({ ...document, label_given: given }) : text}\n`);
  if (!settings.quiet) for (const note of notes) io.stderr.write(`note: ${note}\n`);
  return EXIT.done;
}
