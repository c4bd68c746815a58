// SQLite files as users name them: their default place, and the runs in those that are open.

import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { PROVENANCE, type Provenance } from '../core/decision.js';
import { heedStop, inputMissing } from '../core/errors.js';
import { groupBy } from '../core/groups.js';
import { parseObject } from '../core/json.js';
import { oneLine, shownPath } from '../core/printable.js';
import type { Io } from '../core/types.js';
import { ratesDimensions } from '../judge/modes.js';
import { checkedManifest, type Manifest } from '../run/manifest.js';
import { type OptionSpec, type OptionTable, option, under } from '../settings/command.js';
import { byStanding } from '../stats/coverage.js';
import type { StoredCalibration, StoredRun } from '../store/runs.js';
import { openExistingStore, type StoreReader } from '../store/store.js';

/** The default SQLite file of every command, in the working folder. */
export const DEFAULT_DB = 'awb.sqlite';

/** The flags by which a command line names a SQLite file; none if it is the default. */
export function wordsFor(db: string, io: Io): string[] {
  return db === resolve(io.cwd, io.env.AWB_DB || DEFAULT_DB) ? [] : ['--db', shownPath(db, io)];
}

/** A run in a SQLite file that is open for reading. */
export interface KnownRun {
  readonly run: StoredRun;
  readonly store: StoreReader;
  /** The SQLite file's path as shown to people. */
  readonly db: string;
  /** Its absolute path. */
  readonly path: string;
  /** The calibrations in all SQLite files open with it. */
  readonly calibrations: readonly StoredCalibration[];
}

/**
 * Runs an action on all runs of SQLite files, which stay open during it. A file that is named twice is opened once.
 * @param lead what else is wrong, put before the message that a file is missing
 * @throws UserError: 66 for a missing file, 65 for one that cannot be read.
 */
export async function withKnownRuns<T>(
  files: readonly string[],
  io: Io,
  action: (known: readonly KnownRun[], calibrations: readonly StoredCalibration[]) => Promise<T>,
  lead = '',
): Promise<T> {
  const stores: StoreReader[] = [];
  try {
    const known: KnownRun[] = [];
    const calibrations: StoredCalibration[] = [];
    for (const path of new Set(files.map((file) => resolve(io.cwd, file)))) {
      if (!existsSync(path)) {
        const remedy = 'create it with awb score RUN, or name another with --db or AWB_DB';
        throw inputMissing(`${lead}there is no SQLite file ${shownPath(path, io)}; ${remedy}`);
      }
      const store = openExistingStore(path);
      stores.push(store);
      const db = shownPath(path, io);
      for (const run of store.runs()) known.push({ run, store, db, path, calibrations });
      calibrations.push(...store.calibrations());
      await heedStop(io);
    }
    return await action(known, calibrations);
  } finally {
    for (const store of stores) store.close();
  }
}

/** Each run once: one that is in several files is taken from the file where it was scored last. */
export function latestOf<Known extends Pick<KnownRun, 'run'>>(known: readonly Known[]): Known[] {
  const later = (a: Known, b: Known) => (a.run.scoredAt < b.run.scoredAt ? b : a);
  return [...groupBy(known, ({ run }) => run.identity).values()].map((alike) => alike.reduce(later));
}

/** The runs with this label, else with this number. The first is the one that the name means if used alone. */
export function runsNamed(name: string, known: readonly KnownRun[]): KnownRun[] {
  const labelled = known.filter(({ run }) => run.label === name);
  return ranked(labelled.length > 0 ? labelled : known.filter(({ run }) => String(run.id) === name));
}

/** Runs of one name; the first is the one that the name means. */
export function ranked(known: readonly KnownRun[]): KnownRun[] {
  const standing = ({ run }: KnownRun) => {
    return { card: run.card, rates: ratesDimensions(run.kind), at: judgedAt(run), number: run.id };
  };
  return latestOf(known).sort((a, b) => byStanding(standing(a), standing(b)));
}

/** When a run was judged; if unknown, when it was scored. */
export function judgedAt({ endedAt, startedAt, scoredAt }: StoredRun): string {
  return endedAt ?? startedAt ?? scoredAt;
}

/** Runs as an error lists them, one line each. */
export function listOfRuns(known: readonly KnownRun[]): string[] {
  return known.map(({ run, db }) => {
    const name = run.label ?? run.worldModel;
    return `  ${run.id}${name === undefined ? '' : `: ${oneLine(name, 80)}`} (${db})`;
  });
}

/** The manifest of a run in a SQLite file. @throws UserError (65) if it is damaged. */
export function manifestOf({ run: { id, manifest, source }, db }: Pick<KnownRun, 'run' | 'db'>): Manifest | undefined {
  if (manifest === undefined) return undefined;
  const remedy = `score its judged file again (${oneLine(source, 200)}) to replace it`;
  return checkedManifest(parseObject(manifest) ?? {}, `the manifest of run ${id} in ${db}`, remedy);
}

/** The option of a command that takes one judged run, stored or not. */
export const JUDGED_RUN = option.text('RUN', 'a judged file, its folder, or a run in --db by its label or number', {
  required: true,
}) satisfies OptionSpec;

/** One of two runs to compare. */
export const ONE_OF_TWO = { kind: 'text', value: 'RUN', group: 'Runs' } as const;

/** The options of every command that takes runs by name. */
export const RUN_OPTIONS = {
  ...under('Runs', {
    db: option.list('FILE', 'SQLite files of awb score, for runs named by label or number', { default: [DEFAULT_DB] }),
    'allow-different': option.list('A,B', `what may differ between the runs: ${PROVENANCE.join(', ')}`, {
      check: (text) => (provenanceIn([text]).length > 0 ? undefined : `any of ${PROVENANCE.join(', ')}`),
    }),
  }),
} as const satisfies OptionTable;

/** The parts of their provenance in which two runs may differ, by the values of `--allow-different`. */
export function provenanceIn(given: readonly string[]): Provenance[] {
  return PROVENANCE.filter((name) => given.includes(name));
}
