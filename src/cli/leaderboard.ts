// awb leaderboard: the runs of SQLite files -> tables of what was judged alike, in any format.

import { resolve } from 'node:path';
import { EXIT, type ExitCode, heedStop, inputMissing } from '../core/errors.js';
import { keysOf } from '../core/groups.js';
import { printable } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { measureOf } from '../judge/modes.js';
import { leaderboard } from '../report/leaderboard/leaderboard.js';
import { DEFAULT_DB, latestOf, withKnownRuns } from '../results/databases.js';
import { boardRun, boardRuns, selected, tiesOf } from '../results/leaderboard.js';
import { deliver, formatOf, policyHash } from '../results/output.js';
import { defineCommand, EXPLAIN, type OptionTable, option, type Settings, under } from '../settings/command.js';
import { shownPath } from '../settings/shown-path.js';
import { FORMATS } from '../view/board.js';

const OPTIONS = {
  ...under('Runs', {
    db: option.list('FILE', 'SQLite files of awb score', { default: [DEFAULT_DB] }),
    run: option.list('NAME', 'only these runs, by label or number', { namesRun: true }),
    show: option.choice(['latest', 'best', 'all'], 'which runs of one name', { default: 'latest' }),
    per: option.choice(['label', 'model'], 'what names a run: its label (its model where it has none), or its model', {
      default: 'label',
    }),
    'with-published': option.flag('add the fourteen published rows to the official block'),
    'assume-same': option.flag('runs whose judge or protocol was not recorded had the same one'),
    'min-coverage': option.number(
      'share of rows that a run needs in each domain, of those chosen and of the most that any run has, to be tested and marked',
      { min: 0, max: 1, default: 0.99 },
    ),
  }),
  ...under('Table', {
    columns: option.list('A,B', 'columns behind the name, such as mcp,web,overall,interval,facts-recall,cost,tokens'),
    sort: option.text('COLUMN', 'column to sort by (default: overall)'),
    dimensions: option.flag('add the five dimensions, each a mean over domains'),
    measure: option.text(
      'NAME',
      'what is shown of runs without ratings (default: what their mode leads with, such as chrf)',
    ),
    format: option.choice(
      keysOf(FORMATS),
      "form of the table; hf is one run's file for .eval_results/ on Hugging Face; without it the file's ending decides, else terminal",
    ),
    unofficial: option.flag(
      'with --format hf: write scores of another judge, rubric pack or protocol too, which the file then says',
    ),
    output: option.text('FILE', 'write it to a file instead of stdout', { short: 'o' }),
  }),
  ...EXPLAIN,
} as const satisfies OptionTable;

type LeaderboardSettings = Settings<typeof OPTIONS>;

export const command = defineCommand({
  description:
    'Shows the runs of one or more SQLite files in blocks of what was judged alike, with the best of each column and what cannot be told from it.',
  examples: {
    'awb leaderboard --with-published': 'the published models beside yours',
    'awb leaderboard --db a.sqlite,b.sqlite --show all --output board.html': 'a web page',
    'awb leaderboard --columns mcp,swe,overall --format latex': 'a table for a paper',
  },
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
  if (!withPublished) throw inputMissing(message);
  if (!quiet) io.stderr.write(`${printable(message)}\n`);
}
