// awb leaderboard: compares runs that were judged in the same way, in any output format.

import { EXIT, heedStop, inputMissing } from '../core/errors.js';
import { keysOf } from '../core/groups.js';
import { printable } from '../core/printable.js';
import { lookOf } from '../core/terminal.js';
import { measureOf } from '../judge/modes.js';
import { TEXT_FORMATS } from '../report/formats.js';
import { leaderboard as boardOf, type Leaderboard } from '../report/leaderboard/leaderboard.js';
import { DEFAULT_DB, latestOf, withKnownRuns } from '../results/databases.js';
import { boardRuns, selected, tiesOf } from '../results/leaderboard.js';
import { deliver, formatOf, OPEN, pageLink, requirePageName } from '../results/output.js';
import { defineCommand, EXPLAIN, option, under } from '../settings/command.js';
import { boardDocument, resultPage } from '../view/result-documents.js';

const { hf, ...others } = TEXT_FORMATS;
/** A leaderboard in each format. */
export const FORMATS = { ...others, html: { endings: ['.html', '.htm'], print: htmlBoard }, hf };

function htmlBoard(board: Leaderboard): Promise<string> {
  return resultPage('AgentWorldBench leaderboard', 'leaderboard', boardDocument(board));
}

const FORMAT_HELP = "format of the table (default: by the file's ending); hf: one run's file for Hugging Face";

export const command = defineCommand({
  description:
    'Compares the runs of one or more SQLite files, in one block for each way of judging. Marks the best of each column and what cannot be distinguished from it.',
  examples: {
    'awb leaderboard --with-published': 'the published models next to yours',
    'awb leaderboard --db a.sqlite,b.sqlite --show all --output board.html': 'a web page',
    'awb leaderboard --columns mcp,swe,overall --format latex': 'a table for a paper',
  },
  options: {
    ...under('Runs', {
      db: option.list('FILE', 'SQLite files of awb score', { default: [DEFAULT_DB] }),
      run: option.list('NAME', 'only these runs, by label or number'),
      show: option.choice(['latest', 'best', 'all'], 'which of several runs with one name', { default: 'latest' }),
      per: option.choice(['label', 'model'], 'name to show for runs that have both', { default: 'label' }),
      'with-published': option.flag('add the fourteen published rows to the official block'),
      'assume-same': option.flag('assume the same judge and protocol for runs that did not record them'),
      'min-coverage': option.number('minimum coverage for a run to be tested', { min: 0, max: 1, default: 0.99 }),
    }),
    ...under('Table', {
      columns: option.list('A,B', 'columns, such as mcp,web,overall,interval,facts-recall,cost,tokens'),
      sort: option.text('COLUMN', 'column to sort by (default: overall)'),
      dimensions: option.flag('add the five dimensions, each a mean over domains'),
      measure: option.text('NAME', 'measure of runs without ratings (default: the main one of their mode)'),
      format: option.choice(keysOf(FORMATS), FORMAT_HELP),
      output: option.text('FILE', 'file to write instead of stdout', { short: 'o' }),
      open: OPEN,
    }),
    ...EXPLAIN,
  },
  async run(settings, io) {
    const { output } = settings;
    const format = formatOf(settings, FORMATS);
    const page = format === 'html' ? output : undefined;
    requirePageName(page, '--output', settings);
    return withKnownRuns(settings.db, io, async (known) => {
      if (known.length === 0 && !settings.withPublished) {
        throw inputMissing(`${printable(settings.db.join(', '))}: no runs there; awb score RUN adds one`);
      }
      const runs = selected(latestOf(known), settings.run);
      const note = (text: string) => void io.stderr.write(`warning: ${printable(text)}\n`);
      const board = boardOf(boardRuns(runs, note), { ...settings, measureOf }, tiesOf(known, measureOf));
      await heedStop(io);
      const look = lookOf({ ...settings, color: settings.color && output === undefined }, io);
      await deliver(await FORMATS[format].print(board, look), settings, io);
      const link = page && (await pageLink(page, settings, io));
      if (link !== undefined && !settings.quiet) io.stderr.write(`open: ${link}\n`);
      return EXIT.done;
    });
  },
});
