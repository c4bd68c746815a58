// awb export csv: the judgements of a run, or its scores, as CSV.

import { resolve } from 'node:path';
import { EXIT, type ExitCode } from '../core/errors.js';
import { printable } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { replaceFile } from '../disk/files.js';
import { rowsCsv, scoresCsv } from '../report/run-csv.js';
import { JUDGED_RUN, RUN_OPTIONS } from '../results/databases.js';
import { readRun } from '../results/find.js';
import { namesOf } from '../results/read-run.js';
import { defineCommand, type OptionTable, option, type Settings } from '../settings/command.js';

const OPTIONS = {
  run: JUDGED_RUN,
  output: option.text('FILE', 'file to write (default: stdout)'),
  scores: option.flag('the figures by domain in place of the judgements'),
  db: RUN_OPTIONS.db,
} as const satisfies OptionTable;

export const command = defineCommand({
  description:
    'Writes a run as CSV (RFC 4180), a line for each judgement with ratings, score, status and measures, or a line for each figure. What a spreadsheet would take for a formula has an apostrophe in front.',
  examples: {
    'awb export csv results/step-100 --output rows.csv': 'a line for each judgement',
    'awb export csv results/step-100 --scores': 'the figures by domain, with intervals',
    'awb export csv step-100 --db runs.sqlite | head': 'of a stored run',
  },
  options: OPTIONS,
  operands: ['run'],
  run: exportCsv,
});

async function exportCsv(settings: Settings<typeof OPTIONS>, io: Io): Promise<ExitCode> {
  const run = await readRun(settings.run, settings, io);
  const names = namesOf(run);
  const lines = settings.scores ? [scoresCsv(run.card, names)] : rowsCsv(run.rows, names);
  const { output, quiet } = settings;
  if (output === undefined) {
    for (const line of lines) io.stdout.write(line);
    return EXIT.done;
  }
  await replaceFile(resolve(io.cwd, output), lines, { name: output, remedy: 'name another file with --output' });
  if (!quiet) io.stderr.write(`written: ${printable(output)}\n`);
  return EXIT.done;
}
