// awb runs: what SQLite files hold of runs, listed and shown; another label for a run; and runs taken out. awb leaderboard: tables of what was
// judged alike, in any format.

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { EXIT, heedStop, inputMissing, UserError } from '../core/errors.js';
import { bytesText, counted } from '../core/figures.js';
import { keysOf } from '../core/groups.js';
import { oneLine, printable } from '../core/printable.js';
import { bold, lookOf, terminal } from '../core/terminal.js';
import { measureOf } from '../judge/modes.js';
import { leaderboard as boardOf } from '../report/leaderboard/leaderboard.js';
import { DEFAULT_DB, type KnownRun, latestOf, RUN_OPTIONS, withKnownRuns } from '../results/databases.js';
import { checkLabel, notesOnLabel, storedRun, storedRunToChange } from '../results/find.js';
import { boardRun, boardRuns, selected, tiesOf } from '../results/leaderboard.js';
import { deliver, formatOf, policyHash } from '../results/output.js';
import {
  isGiven,
  listedRuns,
  removalDocument,
  runDocument,
  runsDocument,
  runsTable,
  runText,
  shownRun,
  wayBack,
} from '../results/stored-runs.js';
import { defineCommand, EXPLAIN, option, under } from '../settings/command.js';
import { shownPath } from '../settings/shown-path.js';
import type { Space } from '../store/runs.js';
import { openStoreToChange, withStore } from '../store/store.js';
import { FORMATS } from '../view/board.js';

/** A stored run, as a name, a number or a file. */
const RUN = option.text('RUN', 'a stored run: its number or label, or its judged file or the folder of that', {
  namesRun: true,
  required: true,
});
/** The one file that a run is changed in. */
const DB = option.text('FILE', 'SQLite file of awb score', { default: DEFAULT_DB });

export const list = defineCommand({
  description:
    'Lists the runs of SQLite files by their numbers: what they are called, who judged them, and what came of it.',
  examples: {
    'awb runs list': 'the runs of awb.sqlite',
    'awb runs list --mode rubric --label step': 'some of them',
    "awb runs list --json | jq '.runs[] | select(.source_exists | not) | .id'":
      'runs whose judged file is not there any more',
  },
  options: {
    db: option.list('FILE', 'SQLite files of awb score', { default: [DEFAULT_DB] }),
    label: option.text('TEXT', 'only runs whose label holds this text'),
    mode: option.list('MODE', 'only runs that were judged in these modes, such as rubric'),
  },
  run: (settings, io) =>
    withKnownRuns(settings.db, io, async (known) => {
      const { label, mode } = settings;
      const databases = [...new Set(settings.db.map((file) => resolve(io.cwd, file)))].map((db) => ({
        db,
        bytes: statSync(db).size,
        runs: known.filter((each) => each.path === db).length,
      }));
      const isWanted = ({ run }: KnownRun) =>
        (label === undefined || run.label?.includes(label)) && (mode.length === 0 || mode.includes(run.kind));
      const runs = listedRuns(known.filter(isWanted));
      if (settings.json) {
        io.stdout.write(`${JSON.stringify(runsDocument(databases, runs))}\n`);
        return EXIT.done;
      }
      const look = lookOf(settings, io);
      const blocks = databases.map(({ db, bytes, runs: count }) => {
        const own = runs.filter((run) => run.path === db);
        const all = count === 0 ? 'no runs' : counted(count, 'run');
        const title = `${shownPath(db, io)}: ${own.length < count ? `${own.length} of ` : ''}${all}, ${bytesText(bytes)}`;
        const table = own.length === 0 ? '' : `\n${terminal(runsTable(own, look.columns), look)}`;
        return `${bold(printable(title), look)}\n${table}`;
      });
      io.stdout.write(blocks.join('\n'));
      if (known.length === 0 && !settings.quiet) io.stderr.write('awb score RUN adds a run\n');
      return EXIT.done;
    }),
});

export const show = defineCommand({
  description:
    'Shows all of a stored run: what made it, its scores and failures, and whether its judged file is still the one that was scored.',
  examples: {
    'awb runs show step-100': 'by its label',
    'awb runs show 3 --json | jq .source_state': 'by its number: same, changed, missing or unreadable',
  },
  options: { run: RUN, db: RUN_OPTIONS.db, ...EXPLAIN },
  operands: ['run'],
  run: (settings, io) =>
    withKnownRuns(settings.db, io, async (known) => {
      const note = (text: string) => {
        if (!settings.quiet) io.stderr.write(`note: ${printable(text)}\n`);
      };
      const run = await shownRun(storedRun(settings.run, known, note, io), note);
      await heedStop(io);
      const { json } = settings;
      io.stdout.write(json ? `${JSON.stringify(runDocument(run))}\n` : runText(run, lookOf(settings, io), io));
      return EXIT.done;
    }),
});

export const rename = defineCommand({
  description:
    'Gives a stored run another label. awb score keeps it when it scores the run again, unless --label gives one there. The manifest beside the judged file keeps its own.',
  examples: {
    'awb runs rename 3 step-100': 'a name for run 3',
    'awb runs rename step-100 baseline': 'another name for the run of a label',
  },
  options: {
    run: RUN,
    name: option.text('NAME', 'what it is called from now on', { required: true, check: checkLabel }),
    db: DB,
  },
  operands: ['run', 'name'],
  async run({ name: label, json, quiet, ...settings }, io) {
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
    io.stdout.write(`${json ? JSON.stringify({ ...document, label_given: given }) : text}\n`);
    if (!quiet) for (const note of notes) io.stderr.write(`note: ${note}\n`);
    return EXIT.done;
  },
});

export const remove = defineCommand({
  description:
    'Removes runs from a SQLite file, with their judgements and scores, and gives the room back to the disk. Judged files and journals stay: awb score stores a run again.',
  examples: { 'awb runs remove 3 4': 'what would go', 'awb runs remove 3 4 --yes': 'removes them' },
  options: {
    runs: option.list('RUN', 'stored runs, each as a number, a label, or a judged file or its folder', {
      namesRun: true,
      required: true,
      whole: true,
    }),
    db: DB,
    yes: option.flag('remove them; without it they are only listed'),
  },
  operands: ['runs'],
  async run(settings, io) {
    const { json, quiet, yes } = settings;
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
      const table = terminal(runsTable(runs, io.stdout.columns), lookOf(settings, io));
      const bytes = runs.reduce((sum, run) => sum + run.bytes, 0);
      io.stdout.write(`${table}\nabout ${bytesText(bytes)}; judged files and journals stay\n`);
    }
    for (const { id, source } of runs.filter(({ isSourceThere }) => !isSourceThere && !quiet)) {
      const moved = `${shownPath(source, io)} is not there any more; only awb score on the place that it was moved to stores run ${id} again`;
      io.stderr.write(`warning: ${moved}\n`);
    }
    if (!yes) throw new UserError(`nothing was removed: --yes removes ${counted(runs.length, 'run')}`);
    return EXIT.done;
  },
});

function roomText(db: string, { before, after }: { readonly before: Space; readonly after: Space }): string {
  const free = `${bytesText(after.freeBytes)} of ${db} are free for the next runs; they could not be given back, since others write the file or the disk has no room for a copy`;
  const freed = `${bytesText(before.bytes - after.bytes)} given back, ${db} has ${bytesText(after.bytes)}`;
  return `room: ${after.freeBytes > 0 ? free : freed}`;
}

const FORMAT_HELP = "form of the table; hf is one run's file for Hugging Face; without it the file's ending decides";

export const leaderboard = defineCommand({
  description:
    'Shows the runs of one or more SQLite files in blocks of what was judged alike, with the best of each column and what cannot be told from it.',
  examples: {
    'awb leaderboard --with-published': 'the published models beside yours',
    'awb leaderboard --db a.sqlite,b.sqlite --show all --output board.html': 'a web page',
    'awb leaderboard --columns mcp,swe,overall --format latex': 'a table for a paper',
  },
  options: {
    ...under('Runs', {
      db: option.list('FILE', 'SQLite files of awb score', { default: [DEFAULT_DB] }),
      run: option.list('NAME', 'only these runs, by label or number', { namesRun: true }),
      show: option.choice(['latest', 'best', 'all'], 'which runs of one name', { default: 'latest' }),
      per: option.choice(['label', 'model'], 'what names a run, where it has both', { default: 'label' }),
      'with-published': option.flag('add the fourteen published rows to the official block'),
      'assume-same': option.flag('runs whose judge or protocol was not recorded had the same one'),
      'min-coverage': option.number('share of rows that a run needs to be tested', { min: 0, max: 1, default: 0.99 }),
    }),
    ...under('Table', {
      columns: option.list('A,B', 'columns behind the name, such as mcp,web,overall,interval,facts-recall,cost,tokens'),
      sort: option.text('COLUMN', 'column to sort by (default: overall)'),
      dimensions: option.flag('add the five dimensions, each a mean over domains'),
      measure: option.text('NAME', 'what is shown of runs without ratings (default: what their mode leads with)'),
      format: option.choice(keysOf(FORMATS), FORMAT_HELP),
      unofficial: option.flag('with --format hf: scores of another judge, rubric pack or protocol too, which it says'),
      output: option.text('FILE', 'write it to a file instead of stdout', { short: 'o' }),
    }),
    ...EXPLAIN,
  },
  async run(settings, io) {
    const { unofficial, output } = settings;
    const format = formatOf(settings, FORMATS);
    return withKnownRuns(settings.db, io, async (known) => {
      if (known.length === 0) {
        const names = [...new Set(settings.db.map((path) => shownPath(resolve(io.cwd, path), io)))];
        const hold = names.length === 1 ? 'holds' : 'hold';
        const remedy = `awb score --predictions FILE --db ${names[0]} adds one`;
        const message = `${names.join(', ')} ${hold} no runs; ${remedy}`;
        if (!settings.withPublished) throw inputMissing(message);
        if (!settings.quiet) io.stderr.write(`${printable(message)}\n`);
      }
      const runs = selected(latestOf(known), settings.run);
      const note = (text: string) => void io.stderr.write(`warning: ${printable(text)}\n`);
      // A run that is named is the one that is wanted.
      const shown = settings.run.length > 0 ? runs.map(boardRun) : boardRuns(runs, note);
      const board = boardOf(shown, { ...settings, measureOf }, tiesOf(known, measureOf));
      await heedStop(io);
      const look = lookOf({ ...settings, color: settings.color && output === undefined }, io);
      await deliver(FORMATS[format].print(board, { ...look, sha256: policyHash, unofficial }), settings, io);
      return EXIT.done;
    });
  },
});
