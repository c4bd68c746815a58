// `awb leaderboard`: the runs of SQLite files -> tables of what was judged alike, in any format.

import { createHash } from 'node:crypto';
import { extname, resolve } from 'node:path';
import type { Comparison, Difference } from '../comparison.js';
import { EXIT, type ExitCode, UserError } from '../errors.js';
import { keysOf } from '../keys.js';
import { countedPoints } from '../points.js';
import { printable } from '../printable.js';
import { FORMATS, type Format } from '../report/formats.js';
import type { BoardRun, IsTied, JudgedWith } from '../report/leaderboard/board.js';
import { leaderboard } from '../report/leaderboard/leaderboard.js';
import { type MadeWith, madeWith } from '../run/made-with.js';
import { DEFAULT_DB, requireDatabase } from '../runs/paths.js';
import { heedStop, manifestOf, writeText } from '../runs/runs.js';
import { aggregate } from '../score/aggregate.js';
import { type CompareOptions, compareRuns, type NothingInCommon } from '../score/compare.js';
import { criticalBest } from '../score/multiple.js';
import { defineCommand } from '../settings/command.js';
import type { OptionTable, Settings } from '../settings/options.js';
import { shownPath } from '../settings/shown-path.js';
import type { StoredRun } from '../store/records.js';
import { openExistingStore, type StoreReader } from '../store/store.js';
import type { Io } from '../types.js';

const OPTIONS = {
  db: {
    kind: 'list',
    value: 'FILE',
    default: [DEFAULT_DB],
    group: 'Runs',
    help: 'SQLite files of awb score',
  },
  run: { kind: 'list', value: 'NAME', group: 'Runs', help: 'only these runs, by label or number' },
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
    help: 'share of rows of each domain (of those chosen, and of the most that a run has) below which a run is neither tested nor marked',
  },
  columns: { kind: 'list', group: 'Table', help: 'columns behind the name, such as mcp,web,overall,interval' },
  sort: { kind: 'text', value: 'COLUMN', group: 'Table', help: 'column to sort by (default: overall)' },
  dimensions: { kind: 'boolean', group: 'Table', help: 'add the five dimensions, each a mean over domains' },
  measure: { kind: 'text', value: 'NAME', default: 'chrf', group: 'Table', help: 'what is shown of --mode metrics' },
  format: {
    kind: 'choice',
    choices: keysOf(FORMATS),
    group: 'Table',
    help: "form of the table; hf is one run's file for .eval_results/ on Hugging Face (default: by the file's ending, else terminal)",
  },
  unofficial: {
    kind: 'boolean',
    group: 'Table',
    help: 'with --format hf: write scores of another judge, rubric pack or protocol too, which the file then says',
  },
  output: { kind: 'text', value: 'FILE', short: 'o', group: 'Table', help: 'write it to a file instead of stdout' },
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

/** Formats by the ending of the output file. */
const ENDINGS: Readonly<Record<string, Format>> = {
  '.md': 'md',
  '.csv': 'csv',
  '.json': 'json',
  '.tex': 'latex',
  '.html': 'html',
  '.htm': 'html',
  '.yaml': 'hf',
  '.yml': 'hf',
};

async function showLeaderboard(settings: LeaderboardSettings, io: Io): Promise<ExitCode> {
  const format = formatOf(settings);
  const stores = new Map<string, StoreReader>();
  try {
    for (const path of settings.db.map((db) => resolve(io.cwd, db))) {
      if (stores.has(path)) continue;
      requireDatabase(path, io);
      stores.set(path, openExistingStore(path));
      await heedStop(io);
    }
    const found = readRuns(stores, io);
    if (found.length === 0) sayEmpty([...stores.keys()], settings, io);
    const runs = selected(found, settings.run);
    const board = leaderboard(runs, settings, tiesOf(stores, io));
    await heedStop(io);
    const color = settings.color && io.stdout.isTTY && settings.output === undefined;
    const { unofficial } = settings;
    const text = FORMATS[format](board, { columns: io.stdout.columns, color, sha256, unofficial });
    await deliver(text, settings, io);
    return EXIT.done;
  } finally {
    for (const store of stores.values()) store.close();
  }
}

function formatOf({ format, json, output }: LeaderboardSettings): Format {
  if (json && format !== undefined && format !== 'json') {
    throw new UserError(`--json and --format ${format} exclude each other; leave one out`);
  }
  if (json) return 'json';
  return format ?? ENDINGS[extname(output ?? '').toLowerCase()] ?? 'terminal';
}

/** The runs of all files; one that stands in several is taken from where it was scored last. */
function readRuns(stores: ReadonlyMap<string, StoreReader>, io: Io): BoardRun[] {
  const byIdentity = new Map<string, { readonly path: string; readonly run: StoredRun }>();
  for (const [path, store] of stores) {
    for (const run of store.runs()) {
      const before = byIdentity.get(run.identity);
      if (before === undefined || before.run.scoredAt < run.scoredAt) byIdentity.set(run.identity, { path, run });
    }
  }
  return [...byIdentity.values()].map(({ path, run }) =>
    boardRun(run, stores.get(path) as StoreReader, shownPath(path, io)),
  );
}

function boardRun(run: StoredRun, store: StoreReader, db: string): BoardRun {
  const made = madeWith(manifestOf(run, db));
  // From the rows, whatever version scored them: runs are held against each other by one arithmetic.
  const chosen = new Map(run.card.domains.map((domain) => [domain.domain, domain.chosen]));
  const card = aggregate(store.judgements(run.id), chosen);
  const { label, source, meta } = run;
  return {
    id: `${db}#${run.id}`,
    db,
    number: run.id,
    label,
    worldModel: made.worldModel,
    source,
    judgedWith: judgedWith(made),
    isBaseline: made.baseline !== undefined,
    at: run.endedAt ?? run.startedAt ?? run.scoredAt,
    step: typeof meta.step === 'string' ? meta.step : undefined,
    card,
  };
}

/** Ratings that were asked for in another frame, or read otherwise, are not alike. */
function judgedWith(made: MadeWith): JudgedWith {
  const { mode: kind, judge, snapshot, rubricPack, rubricFingerprint, versions, sampling, protocol } = made;
  const verdicts = versions.length === 0 ? made.verdicts : `${made.verdicts} (${versions.join(', ')})`;
  return { kind, judge, snapshot, rubricPack, rubricFingerprint, verdicts, sampling, protocol };
}

/** @throws UserError (66), unless there are published rows to show. */
function sayEmpty(paths: readonly string[], settings: LeaderboardSettings, io: Io): void {
  const names = paths.map((path) => shownPath(path, io)).join(', ');
  const message = `${names} ${paths.length === 1 ? 'holds' : 'hold'} no runs; awb score --predictions FILE --db ${shownPath(paths[0] as string, io)} adds one`;
  if (!settings.withPublished) throw new UserError(message, EXIT.inputMissing);
  if (!settings.quiet) io.stderr.write(`${printable(message)}\n`);
}

/** @throws UserError (2) for a name that no run has. */
function selected(runs: readonly BoardRun[], names: readonly string[]): BoardRun[] {
  if (names.length === 0) return [...runs];
  const wanted = new Set<BoardRun>();
  for (const name of names) {
    const labelled = runs.filter((run) => run.label === name);
    const named = labelled.length > 0 ? labelled : runs.filter((run) => String(run.number) === name);
    if (named.length === 0) throw new UserError(`there is no run "${name}"; ${knownRuns(runs)}`);
    for (const run of named) wanted.add(run);
  }
  return [...wanted];
}

const MOST_LISTED = 40;

function knownRuns(runs: readonly BoardRun[]): string {
  if (runs.length === 0) return 'there are none';
  const listed = runs.slice(0, MOST_LISTED).map(({ number, label, worldModel, db }) => {
    const name = label ?? worldModel;
    return `  ${number}${name === undefined ? '' : `: ${name}`} (${db})`;
  });
  const left = runs.length - listed.length;
  return ['the runs are', ...listed, ...(left > 0 ? [`  and ${left} more`] : [])].join('\n');
}

/** Ties by the comparison that `awb compare` makes, each pair of runs compared once. */
function tiesOf(stores: ReadonlyMap<string, StoreReader>, io: Io): IsTied {
  const byDb = new Map([...stores].map(([path, store]) => [shownPath(path, io), store]));
  const rows = remembered(
    (run: BoardRun) => run.id,
    (run) => byDb.get(run.db)?.judgements(run.number) ?? [],
  );
  const comparison = remembered(
    ([best, other, measure]: readonly [BoardRun, BoardRun, string | undefined]) =>
      `${best.id}\n${other.id}\n${measure ?? ''}`,
    ([best, other, measure]) => {
      const pointsOf = measure === undefined ? countedPoints : measuredPoints(measure);
      return compareRuns({ rows: rows(best) }, { rows: rows(other) }, { draws: 0, moved: 0, pointsOf });
    },
  );
  const critical = remembered(String, (runs: number) => criticalBest(runs));
  return (best, other, { domain, name }, runs) => {
    const measure = best.judgedWith.kind === 'metrics' ? name : undefined;
    // One comparison answers for both directions.
    const sign = best.id < other.id ? 1 : -1;
    const pair = sign === 1 ? ([best, other, measure] as const) : ([other, best, measure] as const);
    const found = differenceIn(comparison(pair), domain, measure === undefined ? name : 'total');
    const { se, df, low } = found?.difference ?? {};
    if (found === undefined || se === undefined || df === undefined) return undefined;
    const value = sign * found.difference.value;
    // Without an interval (few trajectories in common, or few that all say the same) nothing shows a run to be worse.
    if (value >= 0 || low !== undefined) return value + critical(runs)(df) * se >= 0;
    return undefined;
  };
}

function differenceIn(
  comparison: Comparison | NothingInCommon,
  domain: string | undefined,
  name: string,
): Difference | undefined {
  if (comparison.status !== 'ok') return undefined;
  const figures =
    domain === undefined ? comparison.overall : comparison.domains.find((each) => each.domain === domain)?.figures;
  return new Map(Object.entries(figures ?? {})).get(name);
}

/** A measure of 0-100 in place of the ratings' total, so that measures are compared as totals are. */
function measuredPoints(measure: string): NonNullable<CompareOptions['pointsOf']> {
  return (row, figure) => (figure === 'total' ? row.measures?.[measure] : undefined);
}

function sha256(text: string): string {
  return createHash('sha256').update(text).digest('base64');
}

function remembered<A, B>(keyOf: (argument: A) => string, make: (argument: A) => B): (argument: A) => B {
  const made = new Map<string, B>();
  return (argument) => {
    const key = keyOf(argument);
    const value = made.get(key) ?? make(argument);
    made.set(key, value);
    return value;
  };
}

async function deliver(text: string, { output, quiet }: LeaderboardSettings, io: Io): Promise<void> {
  if (output === undefined) {
    io.stdout.write(text);
    return;
  }
  await writeText(output, text, '--output', io);
  if (!quiet) io.stderr.write(`written: ${printable(output)}\n`);
}
