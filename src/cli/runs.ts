// awb runs: lists, shows, renames and removes the runs in SQLite files.

import { statSync } from 'node:fs';
import { resolve } from 'node:path';
import { EXIT, heedStop, UserError } from '../core/errors.js';
import { bytesText, counted, oneLine, printable, shownPath } from '../core/printable.js';
import { bold, lookOf, terminal } from '../core/terminal.js';
import { DEFAULT_DB, RUN_OPTIONS, withKnownRuns } from '../results/databases.js';
import { checkLabel, notesOnLabel, storedRun, storedRunToChange } from '../results/find.js';
import { noting, print } from '../results/output.js';
import {
  isGiven,
  listedRuns,
  removalDocument,
  runDocument,
  runsDocument,
  runsTable,
  runText,
  shownRun,
} from '../results/stored-runs.js';
import { defineCommand, EXPLAIN, option } from '../settings/command.js';
import type { Space } from '../store/runs.js';
import { openStoreToChange, withStore } from '../store/store.js';

/** A stored run, as a name, a number or a file. */
const RUN = option.text('RUN', 'a stored run: its number, label, judged file or folder', {
  required: true,
});
/** The only file in which a run is changed. */
const DB = option.text('FILE', 'SQLite file of awb score', { default: DEFAULT_DB });

export const list = defineCommand({
  description: 'Lists the runs in SQLite files by number, with their labels, judges and scores.',
  examples: {
    'awb runs list': 'the runs of awb.sqlite',
    "awb runs list --json | jq '.runs[] | select(.source_exists | not) | .id'":
      'runs whose judged file no longer exists',
  },
  options: {
    db: option.list('FILE', 'SQLite files of awb score', { default: [DEFAULT_DB] }),
  },
  run: (settings, io) =>
    withKnownRuns(settings.db, io, async (known) => {
      const runs = listedRuns(known);
      const databases = [...new Set(settings.db.map((file) => resolve(io.cwd, file)))].map((db) => ({
        db,
        bytes: statSync(db).size,
        runs: runs.filter((run) => run.db === db).length,
      }));
      const look = lookOf(settings, io);
      const blocks = databases.map(({ db, bytes, runs: count }) => {
        const title = `${shownPath(db, io)}: ${count === 0 ? 'no runs' : counted(count, 'run')}, ${bytesText(bytes)}`;
        const own = runs.filter((run) => run.db === db);
        const table = count === 0 ? '' : `\n${terminal(runsTable(own, look.columns), look)}`;
        return `${bold(printable(title), look)}\n${table}`;
      });
      print(runsDocument(databases, runs), () => blocks.join('\n'), settings, io);
      if (known.length === 0 && !settings.quiet) io.stderr.write('awb score RUN adds a run\n');
      return EXIT.done;
    }),
});

export const show = defineCommand({
  description:
    'Shows everything about a stored run: its settings, scores and failures, and whether its judged file is still the one that was scored.',
  examples: {
    'awb runs show step-100': 'by its label',
    'awb runs show 3 --json | jq .source_state': 'the state of its judged file: same, changed, missing or unreadable',
  },
  options: { run: RUN, db: RUN_OPTIONS.db, ...EXPLAIN },
  operands: ['run'],
  run: (settings, io) =>
    withKnownRuns(settings.db, io, async (known) => {
      const run = await shownRun(storedRun(settings.run, known, noting(settings, io), io));
      await heedStop(io);
      print(runDocument(run), () => runText(run, lookOf(settings, io), io), settings, io);
      return EXIT.done;
    }),
});

export const rename = defineCommand({
  description:
    'Gives a stored run another label. awb score keeps it when it scores the run again, unless given --label. The manifest next to the judged file keeps its own label.',
  examples: {
    'awb runs rename 3 step-100': 'label run 3',
    'awb runs rename step-100 baseline': 'change a label',
  },
  options: {
    run: RUN,
    name: option.text('NAME', 'the new label', { required: true, check: checkLabel }),
    db: DB,
  },
  operands: ['run', 'name'],
  async run({ name: label, ...settings }, io) {
    const { found, notes } = await withKnownRuns([settings.db], io, async (known) => {
      const found = storedRunToChange(settings.run, known, io);
      return { found, notes: notesOnLabel(label, found, known) };
    });
    const { run, db, path } = found;
    // The file is opened for writing only once the change is known to be valid.
    withStore(path, openStoreToChange, (store) => store.renameRun(run, label));
    const given = isGiven({ label, manifest: run.manifest });
    const names = { before: run.label ?? null, label, label_given: given };
    const before = run.label === undefined ? 'had no label' : `was ${run.label}`;
    const text = printable(`run ${run.id} of ${db} is now ${label}; it ${before}`);
    print({ schema: 'awb.run-renamed/1', db: path, id: run.id, ...names }, () => `${text}\n`, settings, io);
    notes.forEach(noting(settings, io));
    return EXIT.done;
  },
});

export const remove = defineCommand({
  description:
    'Removes runs from a SQLite file, with their judgements and scores, and frees the disk space. Judged files and journals stay: awb score can store a run again.',
  examples: { 'awb runs remove 3 4': 'list what would be removed', 'awb runs remove 3 4 --yes': 'remove it' },
  options: {
    runs: option.list('RUN', 'stored runs, by number, label, judged file or folder', {
      required: true,
      whole: true,
    }),
    db: DB,
    yes: option.flag('remove them (default: only list them)'),
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
      io.stdout.write(`removed: ${names.join(', ')}\n${roomText(shownPath(db, io), space)}\n`);
    } else {
      const table = terminal(runsTable(runs, io.stdout.columns), lookOf(settings, io));
      const bytes = runs.reduce((sum, run) => sum + run.bytes, 0);
      io.stdout.write(`${table}\nabout ${bytesText(bytes)}; judged files and journals stay\n`);
    }
    for (const { id, source } of runs.filter(({ sourceExists }) => !sourceExists && !quiet)) {
      const moved = `${shownPath(source, io)} no longer exists; if it was moved, run awb score on the new path to store run ${id} again`;
      io.stderr.write(`warning: ${moved}\n`);
    }
    if (!yes) throw new UserError(`nothing was removed; add --yes to remove ${counted(runs.length, 'run')}`);
    return EXIT.done;
  },
});

function roomText(db: string, { before, after }: { readonly before: Space; readonly after: Space }): string {
  const free = `${bytesText(after.freeBytes)} of ${db} are free for later runs; they could not be returned to the disk, since another process is writing the file or the disk has no room for a copy`;
  const freed = `${bytesText(before.bytes - after.bytes)} freed, ${db} has ${bytesText(after.bytes)}`;
  return `space: ${after.freeBytes > 0 ? free : freed}`;
}
