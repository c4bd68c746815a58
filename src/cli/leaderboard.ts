// awb leaderboard: the runs of SQLite files -> tables of what was judged alike, in any format.

import { resolve } from 'node:path';
import { EXIT, type ExitCode, heedStop, UserError } from '../core/errors.js';
import { keysOf } from '../core/groups.js';
import { printable } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { measureOf } from '../judge/modes.js';
import { FORMATS } from '../report/formats.js';
import { leaderboard } from '../report/leaderboard/leaderboard.js';
import { DEFAULT_DB, latestOf, withKnownRuns } from '../results/databases.js';
import { boardRun, boardRuns, selected, tiesOf } from '../results/leaderboard.js';
import { deliver, formatOf, policyHash } from '../results/output.js';
import { defineCommand, EXPLAIN, type OptionTable, type Settings } from '../settings/command.js';
import { shownPath } from '../settings/shown-path.js';

const OPTIONS = {
  db: {
    kind: 'list',
    value: 'FILE',
    default: [DEFAULT_DB],
    group: 'Runs',
    help: 'SQLite files of awb score',
  },
  run: { kind: 'list', namesRun: true, value: 'NAME', group: 'Runs', help: 'only these runs, by label or number' },
  show: {
    kind: 'choice',
    choices: ['latest', 'best', 'all'],
    default: 'latest',
    group: 'Runs',
    help: 'which runs of one name',
  },
  per: {
    kind: 'choice',
    choices: ['label', 'model'],
    default: 'label',
    group: 'Runs',
    help: 'what names a run: its label (its model where it has none), or its model',
  },
  'with-published': { kind: 'boolean', group: 'Runs', help: 'add the fourteen published rows to the official block' },
  'assume-same': {
    kind: 'boolean',
    group: 'Runs',
    help: 'runs whose judge or protocol was not recorded had the same one',
  },
  'min-coverage': {
    kind: 'number',
    min: 0,
    max: 1,
    default: 0.99,
    group: 'Runs',
    help: 'share of rows that a run needs in each domain, of those chosen and of the most that any run has, to be tested and marked',
  },
  columns: {
    kind: 'list',
    group: 'Table',
    help: 'columns behind the name, such as mcp,web,overall,interval,facts-recall,cost,tokens',
  },
  sort: { kind: 'text', value: 'COLUMN', group: 'Table', help: 'column to sort by (default: overall)' },
  dimensions: { kind: 'boolean', group: 'Table', help: 'add the five dimensions, each a mean over domains' },
  measure: {
    kind: 'text',
    value: 'NAME',
    group: 'Table',
    help: 'what is shown of runs without ratings (default: what their mode leads with, such as chrf)',
  },
  format: {
    kind: 'choice',
    choices: keysOf(FORMATS),
    group: 'Table',
    help: "form of the table; hf is one run's file for .eval_results/ on Hugging Face; without it the file's ending decides, else terminal",
  },
  unofficial: {
    kind: 'boolean',
    group: 'Table',
    help: 'with --format hf: write scores of another judge, rubric pack or protocol too, which the file then says',
  },
  output: { kind: 'text', value: 'FILE', short: 'o', group: 'Table', help: 'write it to a file instead of stdout' },
  ...EXPLAIN,
} as const satisfies OptionTable;

type LeaderboardSettings = Settings<typeof OPTIONS>;

export const command = defineCommand({
  description:
    'Shows the runs of one or more SQLite files in blocks of what was judged alike, with the best of each column and what cannot be told from it.',
  examples: [
    { line: 'awb leaderboard --with-published', does: 'the published models beside yours' },
    { line: 'awb leaderboard --db a.sqlite,b.sqlite --show all --output board.html', does: 'a web page' },
    { line: 'awb leaderboard --columns mcp,swe,overall --format latex', does: 'a table for a paper' },
  ],
  options: OPTIONS,
  run: showLeaderboard,
});

async function showLeaderboard(settings: LeaderboardSettings, io: Io): Promise<ExitCode> {
  const format = formatOf(settings, FORMATS);
  return withKnownRuns(settings.db, io, async (known) => {
    if (known.length === 0) sayEmpty(settings, io);
    const runs = selected(latestOf(known), settings.run);
    const note = (text: string) => void io.stderr.write(`warning: ${printable(text)}\n`);
    // Who names a run wants that one.
    const shown = settings.run.length > 0 ? runs.map(boardRun) : boardRuns(runs, note);
    const board = leaderboard(shown, { ...settings, measureOf }, tiesOf(known, measureOf));
    await heedStop(io);
    const color = settings.color && io.stdout.isTTY && settings.output === undefined;
    const { unofficial, explain } = settings;
    const text = FORMATS[format].print(board, {
      columns: io.stdout.columns,
      color,
      explain,
      sha256: policyHash,
      unofficial,
    });
    await deliver(text, settings, io);
    return EXIT.done;
  });
}

/** Says that the files hold no runs. @throws UserError (66), unless there are published rows to show. */
function sayEmpty({ db, withPublished, quiet }: LeaderboardSettings, io: Io): void {
  const names = [...new Set(db.map((path) => shownPath(resolve(io.cwd, path), io)))];
  const message = `${names.join(', ')} ${names.length === 1 ? 'holds' : 'hold'} no runs; awb score --predictions FILE --db ${names[0]} adds one`;
  if (!withPublished) throw new UserError(message, EXIT.inputMissing);
  if (!quiet) io.stderr.write(`${printable(message)}\n`);
}
