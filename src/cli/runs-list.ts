// awb runs list: what SQLite files hold, a line a run.

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { EXIT, type ExitCode } from '../core/errors.js';
import { bytesText, counted } from '../core/figures.js';
import { printable } from '../core/printable.js';
import { bold, terminal } from '../core/terminal.js';
import type { Io } from '../core/types.js';
import { DEFAULT_DB, type KnownRun, withKnownRuns } from '../results/databases.js';
import { listedRuns, runsDocument, runsTable } from '../results/stored-runs.js';
import { defineCommand, type OptionTable, option, type Settings } from '../settings/command.js';
import { shownPath } from '../settings/shown-path.js';

const OPTIONS = {
  db: option.list('FILE', 'SQLite files of awb score', { default: [DEFAULT_DB] }),
  label: option.text('TEXT', 'only runs whose label holds this text'),
  mode: option.list('MODE', 'only runs that were judged in these modes, such as rubric'),
} as const satisfies OptionTable;

export const command = defineCommand({
  description:
    'Lists the runs of SQLite files by their numbers: what they are called, who judged them, and what came of it.',
  examples: {
    'awb runs list': 'the runs of awb.sqlite',
    'awb runs list --mode rubric --label step': 'some of them',
    "awb runs list --json | jq '.runs[] | select(.source_exists | not) | .id'":
      'runs whose judged file is not there any more',
  },
  options: OPTIONS,
  run: listRuns,
});

async function listRuns(
  { label, mode, json, quiet, color, db: files }: Settings<typeof OPTIONS>,
  io: Io,
): Promise<ExitCode> {
  return withKnownRuns(files, io, async (known) => {
    const databases = [...new Set(files.map((file) => resolve(io.cwd, file)))].map((db) => ({
      db,
      bytes: statSync(db).size,
      runs: known.filter((each) => each.path === db).length,
    }));
    const isWanted = ({ run }: KnownRun) =>
      (label === undefined || run.label?.includes(label)) && (mode.length === 0 || mode.includes(run.kind));
    const runs = listedRuns(known.filter(isWanted));
    if (json) {
      io.stdout.write(`${JSON.stringify(runsDocument(databases, runs))}\n`);
      return EXIT.done;
    }
    const look = { columns: io.stdout.columns, color: color && io.stdout.isTTY };
    const blocks = databases.map(({ db, bytes, runs: count }) => {
      const own = runs.filter((run) => run.path === db);
      const all = count === 0 ? 'no runs' : counted(count, 'run');
      const title = `${shownPath(db, io)}: ${own.length < count ? `${own.length} of ` : ''}${all}, ${bytesText(bytes)}`;
      const table = own.length === 0 ? '' : `\n${terminal(runsTable(own, look.columns), look)}`;
      return `${bold(printable(title), look)}\n${table}`;
    });
    io.stdout.write(blocks.join('\n'));
    if (known.length === 0 && !quiet) io.stderr.write('awb score RUN adds a run\n');
    return EXIT.done;
  });
}
