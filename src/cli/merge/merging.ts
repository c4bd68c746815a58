// The folders of parts into one: every run in them is made aside, and all of them take their places at the end.

import { randomBytes } from 'node:crypto';
import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { basename, join, relative, resolve } from 'node:path';
import { type Dataset, openDataset } from '../../benchmark/dataset.js';
import { openPredictions } from '../../benchmark/predictions.js';
import { codeOf, EXIT, throwIfStopped, UserError } from '../../core/errors.js';
import { counted } from '../../core/figures.js';
import type { Identity } from '../../core/identity.js';
import { asObject } from '../../core/json.js';
import { recordedJudgement } from '../../core/judgement.js';
import { present } from '../../core/present.js';
import type { Domain, Io } from '../../core/types.js';
import { sizeOf } from '../../disk/file-reading.js';
import { replaceFile } from '../../disk/files.js';
import { lockFile } from '../../disk/lock.js';
import { syncFolder } from '../../disk/make-folder.js';
import { requireData } from '../../infer/chosen-rows.js';
import { asSeen } from '../../judge/shown.js';
import { scanJournal } from '../../run/journal.js';
import { type Manifest, readManifest, writeManifest } from '../../run/manifest.js';
import { lockRun, openRun, pathsOf } from '../../run/run.js';
import { concludeRun } from '../../run/stage.js';
import { type StageJob, type StageOutput, summaryOf } from '../../run/stage-contract.js';
import type { OptionTable, Settings } from '../../settings/options.js';
import { shownPath } from '../../settings/shown-path.js';
import { type MissingShard, missingShards, mostOf, settingsIn } from './choice.js';
import { type Join, joinJournals } from './journals.js';
import { mergedManifest, sharedIdentity } from './manifests.js';
import { type MergedKind, mergedJudging, mergedRollout, mergedRows } from './outputs.js';
import { findParts, ownRun, type Part } from './parts.js';

export const MERGE_OPTIONS = {
  runs: {
    kind: 'list',
    value: 'OUT',
    required: true,
    help: 'output folders of the parts: predictions, judgings, likelihoods',
  },
  'output-dir': {
    kind: 'text',
    value: 'DIR',
    required: true,
    help: 'folder of the whole run; merging more parts into it goes on',
  },
  'data-dir': {
    kind: 'text',
    value: 'DIR',
    help: 'folder of *_test.jsonl files; that which the parts were run on by default',
  },
  predictions: {
    kind: 'text',
    value: 'FILE',
    help: 'the whole predictions, where only judgings are merged and the predictions lie elsewhere',
  },
} as const satisfies OptionTable;

export type MergeSettings = Settings<typeof MERGE_OPTIONS>;

/** A run that has been put together. */
export interface JoinedRun {
  readonly name: string;
  /** That of the folder before, if it had such a run. */
  readonly own: Part | undefined;
  readonly parts: readonly Part[];
  readonly join: Join;
  readonly manifest: Manifest;
  /** For each class of failure the reason of its first row. */
  readonly reasons: Readonly<Record<string, string>>;
  /** Rows that no part has, by domain. */
  readonly missing: ReadonlyMap<Domain, number>;
  readonly lacking: readonly MissingShard[];
  /** Judgements of predictions that are not there. */
  readonly astray: number;
}

/** What came of a merge. */
interface MergedRuns {
  readonly runs: readonly JoinedRun[];
  /** What was left out, a sentence each. */
  readonly notes: readonly string[];
}

/** A merge under way. */
interface Merge {
  readonly settings: MergeSettings;
  readonly io: Io;
  /** The folder to merge into, and the one in it where its runs are made. */
  readonly dir: string;
  readonly aside: string;
  /** Opens the data once. @param recorded where a part found them */
  dataAt(recorded: unknown): Promise<Data>;
}

interface Data {
  readonly dir: string;
  readonly dataset: Dataset;
}

/** A run that is to be put together. */
interface Joining extends Pick<JoinedRun, 'name' | 'own' | 'parts'> {
  /** Those of them that hold rows, the run's own first. */
  readonly begun: readonly Part[];
}

/** Folders in which runs are made before they take their places. */
const ASIDE = '.merge-';

/**
 * Merges the runs of the parts into one folder: it has all of them at the end, or what it had before.
 * @throws UserError: 2, 66 and 65 for the parts, 78 where they are parts of different runs, 73 and 74 for the folder, 130 or 143 once the
 * user has interrupted
 */
export async function mergeRuns(settings: MergeSettings, io: Io): Promise<MergedRuns> {
  const dir = resolve(io.cwd, settings.outputDir);
  const { runs, notes } = await findParts(settings.runs, dir, io);
  const releases = [await lockRun({ dir, name: 'merge', lock: lockFile })];
  let aside: string | undefined;
  let data: Data | undefined;
  try {
    for (const name of runs.keys()) releases.push(await lockRun({ dir, name, lock: lockFile }));
    aside = await openAside(dir);
    const dataAt = async (recorded: unknown) => {
      data ??= await openData(recorded, settings, io);
      return data;
    };
    const merge: Merge = { settings, io, dir, aside, dataAt };
    const joined: JoinedRun[] = [];
    for (const [name, parts] of runs) {
      const own = await ownRun(dir, name, io);
      const filled = parts.filter(({ isBegun }) => isBegun);
      if (filled.length === 0) continue;
      const joining = { name, own, parts, begun: own === undefined ? filled : [own, ...filled] };
      const isJudging = filled[0]?.manifest.kind === 'judge';
      joined.push(await (isJudging ? joinJudging(merge, joining, joined) : joinPredictions(merge, joining)));
    }
    throwIfStopped(io.stop);
    for (const run of joined) await putInPlace(run, aside, dir);
    return { runs: joined, notes };
  } finally {
    await data?.dataset.close();
    if (aside !== undefined) await rm(aside, { recursive: true, force: true });
    for (const release of releases) release();
  }
}

/** A folder of our own in the output; those that killed merges have left are taken away. */
async function openAside(dir: string): Promise<string> {
  for (const name of await readdir(dir)) {
    if (name.startsWith(ASIDE)) await rm(join(dir, name), { recursive: true, force: true });
  }
  const aside = join(dir, `${ASIDE}${randomBytes(6).toString('hex')}`);
  try {
    await mkdir(aside);
  } catch (error) {
    throw new UserError(
      `cannot create the folder ${aside} (${codeOf(error)}); choose another --output-dir`,
      EXIT.cannotCreate,
    );
  }
  return aside;
}

async function openData(recorded: unknown, { dataDir }: MergeSettings, io: Io): Promise<Data> {
  const named = dataDir ?? (typeof recorded === 'string' ? recorded : 'data');
  const dir = resolve(io.cwd, named);
  if ((await sizeOf(dir)) === undefined && dataDir === undefined) {
    throw new UserError(
      `the parts were run on the rows in ${shownPath(dir, io)}, which is not there; name their folder with --data-dir`,
      EXIT.inputMissing,
    );
  }
  await requireData(named, io);
  return { dir, dataset: await openDataset(dir, io.stop) };
}

async function joinPredictions(merge: Merge, joining: Joining): Promise<JoinedRun> {
  const { begun, own } = joining;
  const identity = sharedIdentity(begun.map(({ name, manifest }) => ({ name, identity: manifest.identity })));
  const begunAs = wholeManifest(merge, joining, identity);
  const { dir, dataset } = await merge.dataAt(begunAs.data.dir);
  const { fingerprint } = dataset;
  if (identity.data !== fingerprint) {
    throw new UserError(
      `the rows in ${dir} are others than those that the parts were run on (data: ${fingerprint} there, ${String(identity.data)} in the parts); name theirs with --data-dir`,
      EXIT.identityDiffers,
    );
  }
  const manifest = { ...begunAs, data: { dir, rows: dataset.rows.length, fingerprint } };
  const parts = begun.map((part) => settingsIn(part.manifest));
  const rows = { manifest, parts, dataset, stop: merge.io.stop };
  const { lacks, run } = await (identity.rollout === undefined
    ? joinRun(merge, joining, manifest, mergedRows(rows))
    : joinRun(merge, joining, manifest, mergedRollout(rows)));
  // The run itself may have been a shard before anything was merged into it.
  const isOrdinary = own !== undefined && own.manifest.merged === undefined;
  const shards = [...(isOrdinary ? [settingsIn(own.manifest)] : []), ...(manifest.merged ?? [])];
  const there = shards.map(({ shard }) => shard);
  return { ...run, lacking: missingShards(dataset, parts, there, (id) => lacks.has(id)) };
}

/** @param joined what this command has merged before */
async function joinJudging(merge: Merge, joining: Joining, joined: readonly JoinedRun[]): Promise<JoinedRun> {
  const { begun, name } = joining;
  const { dir, io } = merge;
  const whole = await wholePredictions(merge, joining, joined);
  const snapshots = await Promise.all(begun.map(snapshotOf));
  const found = snapshots.find((snapshot) => snapshot !== undefined);
  const identity = sharedIdentity(
    begun.map((part, at) => {
      const predictions = { ...asObject(part.manifest.identity.predictions), file: relative(dir, whole.place) };
      const snapshot = snapshots[at] ?? found;
      return { name: part.name, identity: { ...part.manifest.identity, predictions, ...(snapshot && { snapshot }) } };
    }),
  );
  const { run } = asObject(identity.predictions);
  if (run !== whole.manifest?.fingerprint) {
    throw new UserError(
      `${name}.jsonl of the parts is of other predictions than ${shownPath(whole.place, io)} (run ${String(run ?? 'of no manifest')} there, ${whole.manifest?.fingerprint ?? 'none'} here); merge the predictions that were judged`,
      EXIT.identityDiffers,
    );
  }
  const isLean = whole.manifest !== undefined && settingsIn(whole.manifest).lean;
  const { dataset } = isLean ? await merge.dataAt(whole.manifest?.data.dir) : {};
  const parts = begun.map((part) => settingsIn(part.manifest));
  const predictions = await asSeen(
    await openPredictions(whole.path, dataset, io.stop),
    whole.path,
    mostOf(parts),
    io.stop,
  );
  try {
    const begunAs = wholeManifest(merge, joining, identity);
    const manifest = {
      ...begunAs,
      // What a part judged is not what the whole was made of.
      settings: { ...begunAs.settings, ...('predictions' in begunAs.settings && { predictions: whole.place }) },
      data: { predictions: whole.place, rows: predictions.refs.length },
      predictions: whole.manifest,
    };
    const kind = mergedJudging(manifest, parts, predictions);
    const { run: judged, ids } = await joinRun(merge, joining, manifest, kind);
    return { ...judged, astray: ids.filter((id) => kind.isAstray(id)).length };
  } finally {
    await predictions.close();
  }
}

/** The manifest of a run before its rows are counted. */
function wholeManifest({ settings }: Merge, { own, parts, begun }: Joining, identity: Identity): Manifest {
  const manifest = mergedManifest(own?.manifest, parts, identity, present(begun[0]).manifest.kind);
  return { ...manifest, settings: { ...manifest.settings, 'output-dir': settings.outputDir } };
}

/** The predictions that a judging is of: where they lie now, and where they will. */
interface WholePredictions {
  readonly path: string;
  readonly place: string;
  /** Undefined for a file of the official script. */
  readonly manifest: Manifest | undefined;
}

const MOST_NAMED = 5;

/** The whole predictions: named, merged before the judging, in the folder already, or one file that all parts have judged. */
async function wholePredictions(
  { settings, dir, aside, io }: Merge,
  { begun, name }: Joining,
  joined: readonly JoinedRun[],
): Promise<WholePredictions> {
  if (settings.predictions !== undefined) return predictionsAt(resolve(io.cwd, settings.predictions));
  const merged = joined.find(({ manifest }) => manifest.kind === 'infer');
  if (merged !== undefined) {
    const fileIn = (folder: string) => pathsOf({ dir: folder, name: 'predictions' }).outputPath;
    return { path: fileIn(aside), place: fileIn(dir), manifest: merged.manifest };
  }
  const files = new Set(begun.map(predictionsOf));
  const [file, ...others] = files;
  if (file !== undefined && others.length === 0) return predictionsAt(file);
  throw new UserError(
    [
      `${name}.jsonl was judged from ${files.size} files of predictions:`,
      ...[...files].slice(0, MOST_NAMED).map((path) => `  ${shownPath(path, io)}`),
      ...(files.size > MOST_NAMED ? ['  ...'] : []),
      'Merge the runs of those together with the judgings, or before them, and name the whole file with --predictions.',
    ].join('\n'),
  );
}

/** The file that a part of a judging judged. */
function predictionsOf({ dir, manifest: { identity } }: Part): string {
  const { file } = asObject(identity.predictions);
  return resolve(dir, typeof file === 'string' ? file : 'predictions.jsonl');
}

async function predictionsAt(path: string): Promise<WholePredictions> {
  const beside = await readManifest(path.replace(/\.jsonl$/i, '.manifest.json'));
  return { path, place: path, manifest: beside?.kind === 'judge' ? beside.predictions : beside };
}

/** The snapshot that judged a part; a killed one may have it in its records alone. */
async function snapshotOf({ manifest: { identity }, journalPath }: Part): Promise<unknown> {
  if (identity.snapshot !== undefined) return identity.snapshot;
  const models = new Map<string, string | undefined>();
  await scanJournal(journalPath, ({ id, row }) => {
    const { judge } = recordedJudgement(row);
    models.set(id, judge.status === 'ok' ? judge.model : undefined);
  });
  return [...models.values()].find((model) => model !== undefined);
}

/**
 * Joins the journals, and has the output made of them as that of any run.
 * @param begunAs the manifest without its counts
 * @returns the run, the ids of its records, and those of its rows that have none
 * @throws UserError: 65 where two parts have different predictions or judgements of a row, 74 where there is no room
 */
async function joinRun<J extends StageJob>(
  { dir, aside, io }: Merge,
  { name, own, parts }: Joining,
  begunAs: Manifest,
  kind: MergedKind<J>,
): Promise<{ readonly run: JoinedRun; readonly ids: readonly string[]; readonly lacks: ReadonlySet<string> }> {
  const all = [...(own === undefined ? [] : [own]), ...parts];
  const journals = all.map((part) => ({ name: part.name, path: part.journalPath, isOwn: part === own }));
  const join = await joinJournals(journals, (record) => kind.isDone(record), io.stop);
  requireNoConflict(name, join);
  const paths = pathsOf({ dir: aside, name });
  const remedy = 'nothing was merged; make room, and run the same command again';
  await replaceFile(paths.journalPath, join.lines(), { remedy });
  await writeManifest(paths.manifestPath, begunAs);
  const run = await openRun({
    kind: begunAs.kind,
    dir: aside,
    name,
    fresh: false,
    // For reading alone: the folder that counts is locked already.
    dryRun: true,
    identity: () => begunAs.identity,
    stateOf: (record) => kind.stateOf(record),
    pricing: () => begunAs.price,
  });
  try {
    const output: StageOutput<J> = { io, run, manifest: begunAs, ...(await kind.outputOf(run)) };
    const { manifest: made, reasons } = await concludeRun(output);
    const manifest = { ...made, ...inPlace(made, dir) };
    const lost = output.rows.filter((job) => summaryOf(output, job) === undefined);
    const missing = new Map<Domain, number>();
    for (const { domain } of lost) missing.set(domain, (missing.get(domain) ?? 0) + 1);
    for (const [domain, rows] of Object.entries(output.absent)) missing.set(domain, (missing.get(domain) ?? 0) + rows);
    return {
      run: { name, own, parts, join, manifest, reasons, missing, lacking: [], astray: 0 },
      ids: [...run.journal.ids()],
      lacks: new Set(lost.map(({ id }) => id)),
    };
  } finally {
    await run.close();
  }
}

const MOST_CONFLICTS = 5;

function requireNoConflict(name: string, { conflicts }: Join): void {
  if (conflicts.length === 0) return;
  const more = conflicts.length - MOST_CONFLICTS;
  throw new UserError(
    [
      `${counted(conflicts.length, 'row')} of ${name}.jsonl ${conflicts.length === 1 ? 'has' : 'have'} different records in two parts; nothing was merged:`,
      ...conflicts.slice(0, MOST_CONFLICTS).map(({ id, parts }) => `  ${id} in ${parts.join(' and in ')}`),
      ...(more > 0 ? [`  ... and ${more} more`] : []),
      'Leave one of the two parts out; or merge the one to be believed first, and the other one into the same folder after it: what stands there is kept.',
    ].join('\n'),
    EXIT.badData,
  );
}

type Files = Pick<Manifest, 'output' | 'beside'>;

/** The files where they will be. */
function inPlace({ output, beside }: Files, dir: string): Files {
  const moved = (file: Files['output']) => file && { ...file, file: join(dir, basename(file.file)) };
  return { output: moved(output), beside: moved(beside) };
}

/**
 * Moves a run to its place. The manifest goes before the journal and names no output: a run that is left like that is put together anew
 * by the next command, out of a journal that is the old one or the new one.
 */
async function putInPlace({ name, manifest }: JoinedRun, aside: string, dir: string): Promise<void> {
  const { manifestPath, journalPath, outputPath } = pathsOf({ dir, name });
  const { output, beside, ...begun } = manifest;
  await writeManifest(manifestPath, { ...begun, state: 'running' });
  for (const place of [journalPath, outputPath, ...(beside === undefined ? [] : [beside.file])]) {
    await rename(join(aside, basename(place)), place).catch((error: unknown) => {
      throw new UserError(
        `cannot write ${place} (${codeOf(error)}); mend that, and run the same command again`,
        EXIT.cannotWrite,
      );
    });
  }
  await syncFolder(dir);
  await writeManifest(manifestPath, manifest);
}
