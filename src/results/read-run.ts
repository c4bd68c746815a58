// Reads the rows, scores and provenance of a run that was found by name or path, and how far its judge can be trusted by the known
// calibrations.

import { existsSync } from 'node:fs';
import { basename, resolve } from 'node:path';
import { excerptOf, readCalibrated, readJudged } from '../benchmark/judged.js';
import { manifestBeside } from '../benchmark/judged-path.js';
import { domainName } from '../core/domains.js';
import { inputMissing, UserError } from '../core/errors.js';
import { fingerprintOf } from '../core/identity.js';
import type { Excerpt } from '../core/judged-row.js';
import { impossibleFigures } from '../core/points.js';
import { counted, oneLine, printable, shownPath } from '../core/printable.js';
import { rowIdOf } from '../core/row-id.js';
import type { Domain, Io } from '../core/types.js';
import { variantFacts } from '../judge/calibrate/variants.js';
import { asksJudge, measureOf } from '../judge/modes.js';
import type { RunNames } from '../report/run-csv.js';
import type { Trust } from '../report/trust.js';
import { type MadeWith, madeWith } from '../run/made-with.js';
import { changeSince, type Manifest, readManifest } from '../run/manifest.js';
import { aggregate } from '../stats/aggregate.js';
import { calibrationOf } from '../stats/calibration/calibration.js';
import { LEAST_COVERAGE, percent, shortDomains } from '../stats/coverage.js';
import type { StoredCalibration } from '../store/runs.js';
import { openExistingStore, withStore } from '../store/store.js';
import { manifestCosts } from './costs.js';
import type { KnownRun } from './databases.js';

/** A run with its rows. Its texts may be hostile. */
export interface ReadRun
  extends Omit<ReturnType<typeof readStoredRun>, 'id' | 'chosen' | 'excerpts'>,
    Partial<Pick<ReturnType<typeof readStoredRun>, 'id' | 'excerpts'>> {
  /** Rows, times repeats, that the run chose, by domain. */
  readonly chosen?: ReadonlyMap<Domain, number> | undefined;
}

/** Two runs to be compared. */
export interface Pair {
  readonly base: ReadRun;
  readonly candidate: ReadRun;
}

/** Receives a sentence for the user. */
export type Note = (text: string) => void;

/** A run from a SQLite file, without its rows, with its parsed manifest. */
export function storedSummary(
  { run, calibrations }: Pick<KnownRun, 'run' | 'calibrations'>,
  manifest: Partial<Manifest> | undefined,
) {
  const made = madeWith(manifest);
  return {
    /** Its number in the SQLite file. */
    id: run.id,
    /** Its label, its model, or its file, on one line. */
    name: oneLine(run.label ?? run.worldModel ?? basename(run.source), 80),
    /** The judged file, which may no longer exist. */
    source: run.source,
    /** SHA-256 (hex) of the judged file's bytes when the rows were read from it. */
    sha256: run.sourceSha256,
    chosen: new Map(run.card.domains.map(({ domain, chosen }) => [domain, chosen])),
    manifest,
    made,
    /** The trust in its judge; undefined if it asked none. */
    trust: trustIn(made, calibrations),
    card: run.card,
    costs: run.costs,
  };
}

/** The same, with its rows. */
export function readStoredRun(known: KnownRun, manifest: Partial<Manifest> | undefined) {
  const { run, store } = known;
  return {
    ...storedSummary(known, manifest),
    rows: store.judgements(run.id),
    /** Excerpts of the rows, by record id. */
    excerpts: store.excerpts(run.id),
  };
}

/**
 * A run from its judged file. Damage and oddities in the file are noted.
 * @param take receives each row as it is read
 * @throws UserError: 66 and 65 for the file and its manifest.
 */
export async function readJudgedRun(
  path: string,
  calibrations: readonly StoredCalibration[],
  note: Note,
  io: Io,
  take: Parameters<typeof readJudged>[2] = () => {},
): Promise<ReadRun> {
  const excerpts = new Map<string, Excerpt>();
  const { rows, sha256, warnings } = await readJudged(path, io.stop, (row, fields, line) => {
    take(row, fields, line);
    excerpts.set(rowIdOf(row), excerptOf(row, fields, line));
  });
  for (const warning of warnings) note(printable(warning));
  const manifest = await readManifest(manifestBeside(path));
  const change = changeSince(manifest, shownPath(path, io), sha256);
  if (change !== undefined) note(printable(change));
  const made = madeWith(manifest);
  const { chosen, label } = made;
  return {
    source: path,
    sha256,
    rows,
    excerpts,
    chosen,
    manifest,
    made,
    name: oneLine(label ?? shownPath(path, io), 80),
    trust: trustIn(made, calibrations),
    card: aggregate(rows, chosen, measureOf),
    costs: manifestCosts(manifest),
  };
}

/** All warnings about a run, one sentence each: that too many rows are missing, and that rows are left out. */
export function warningsOn(run: ReadRun): string[] {
  const short = shortDomains(run.card).map(({ domain, coverage }) => `${domainName(domain)} ${percent(coverage)}`);
  const rows = impossibleRows(run);
  const coverage = `INCOMPLETE: ${run.name} has a coverage below ${percent(LEAST_COVERAGE)} (${short.join(', ')}); its scores must not be compared with others.`;
  const ratings = `LEFT OUT: ${counted(rows, 'row')} of ${run.name} with ratings outside 1 to 5, which are impossible; awb score lists their lines.`;
  return [...(short.length === 0 ? [] : [coverage]), ...(rows === 0 ? [] : [ratings])];
}

/** How many rows have impossible ratings. */
export function impossibleRows({ rows }: Pick<ReadRun, 'rows'>): number {
  return rows.filter((row) => impossibleFigures(row).length > 0).length;
}

/**
 * A run's label, and an id that does not change when it is continued or scored. Runs of one identity that were started at different
 * times have different ids. A file without a manifest is identified by its bytes.
 */
export function namesOf({ made, manifest, sha256 }: Pick<ReadRun, 'made' | 'manifest' | 'sha256'>): RunNames {
  const { fingerprint, startedAt } = manifest ?? {};
  const id = fingerprint === undefined ? sha256 : fingerprintOf({ fingerprint, startedAt });
  return { label: made.label, id: id.slice(0, 32) };
}

/** A calibration that was read. */
export type ReadCalibration = Awaited<ReturnType<typeof readCalibration>>;

/**
 * Reads calibration.jsonl and its manifest. @throws UserError: 66 and 65 for either, 130 or 143 once `stop` is aborted.
 * @param source path of calibration.jsonl
 */
export async function readCalibration(source: string, stop?: AbortSignal) {
  const manifest = await readManifest(manifestBeside(source));
  if (manifest === undefined) {
    throw inputMissing(`there is no ${manifestBeside(source)}; the same awb calibrate command writes it`);
  }
  return { source, manifest, calibration: calibrationOf(await readCalibrated(source, stop), variantFacts()) };
}

/**
 * The trust in a run's judge by the newest calibration of the same judge and snapshot, with the same prompts, parsing and sampling.
 * Undefined for a run that asked no judge.
 */
export function trustIn(
  { mode, judgeKey }: Pick<MadeWith, 'mode' | 'judgeKey'>,
  calibrations: readonly StoredCalibration[],
): Trust | undefined {
  if (!asksJudge(mode)) return undefined;
  if (judgeKey === undefined) return 'uncalibrated';
  const own = calibrations.filter((calibration) => calibration.judgeKey === judgeKey);
  const [newest] = own.sort((a, b) => (a.at < b.at ? 1 : -1));
  return newest?.trust ?? 'uncalibrated';
}

/** The calibrations in the SQLite files that exist. A file that cannot be read is only noted, since it is not needed otherwise. */
export function calibrationsIn(files: readonly string[], note: (text: string) => void, io: Io): StoredCalibration[] {
  const paths = [...new Set(files.map((file) => resolve(io.cwd, file)))].filter((path) => existsSync(path));
  return paths.flatMap((path) => {
    try {
      return withStore(path, openExistingStore, (store) => store.calibrations());
    } catch (error) {
      if (!(error instanceof UserError)) throw error;
      note(`calibrations of judges in ${shownPath(path, io)} are ignored: ${error.message.split('\n')[0]}`);
      return [];
    }
  });
}
