// A dataset of a hub brought into a folder: one commit of it, every file checked, and nothing of the user's written over.

import { join } from 'node:path';
import { EXIT, UserError } from '../../core/errors.js';
import { printable } from '../../core/printable.js';
import { replaceFile } from '../../disk/files.js';
import { bytesOf, type HubOptions, Repository } from './client.js';
import {
  chooseFiles,
  clearParts,
  type FileState,
  type Placed,
  placeOf,
  setAside,
  strangersIn,
} from './dataset-files.js';
import { bring, withFolder } from './download.js';
import {
  GIT_OID,
  holdsRows,
  readSourceRecord,
  SOURCE_RECORD,
  type SourceFile,
  type SourceRecord,
  sourceRecordText,
} from './source-record.js';

export interface DatasetOptions extends HubOptions {
  /** Such as user/name. */
  readonly repository: string;
  /** A branch, a tag or a commit. */
  readonly revision: string;
  /** Absolute; made where it is missing. */
  readonly folder: string;
  /** Files that are there, differ and were not fetched give way, and are kept aside. Otherwise they are refused. */
  readonly replace: boolean;
  /** Told what will be downloaded before it is, and where what gives way was put. */
  readonly beforeDownload?: (what: {
    readonly files: number;
    readonly bytes: number;
    readonly aside: string | undefined;
  }) => void;
  /** For the name of the folder of what is kept aside. */
  readonly now: () => Date;
}

/** A dataset that is there, whole and checked. */
export interface FetchedDataset {
  readonly source: SourceRecord;
  readonly files: readonly Placed[];
  /** Bytes of the files that have come in this call. */
  readonly fetchedBytes: number;
  /** The folder, below the dataset's, of files that gave way and are kept. */
  readonly aside?: string | undefined;
  /** Files of rows that are not of the dataset and will be read with it. */
  readonly strangers: readonly string[];
}

/**
 * Fetches one commit of a dataset. What is there already and right is kept, so that a second call downloads nothing; where the commit is
 * named and everything is there, the hub is not even asked.
 * Throws a UserError: 66 no such repository or revision, 77 access denied, 69 hub out of reach, 73 files in the way or another awb at
 * work there, 73 or 74 cannot write, 65 wrong content, 130 or 143 interrupted (what came is kept).
 */
export async function fetchDataset(options: DatasetOptions): Promise<FetchedDataset> {
  const { repository, revision, folder } = options;
  const named = new Repository({ kind: 'dataset', repository, revision }, options);
  return withFolder(named, folder, async () => {
    const found = await readSourceRecord(folder);
    const before = found === 'damaged' || found?.repository !== repository ? undefined : found;
    // A fetch of another commit that was cut off may have left files of the commit before it.
    const earlier = before === undefined ? [] : [...before.files, ...(before.replacing ?? [])];
    const { source, hub } = await sourceOf(named, before, earlier, options);
    const places = await placesOf(source, earlier, named, options);
    requireNothingInTheWay(places, folder);
    const gone = await leftBehind(source, earlier, named, options);
    // A file that tells of the dataset and is the user's own stays, and is none of ours.
    const files = places.filter(({ state }) => state !== 'left');
    const ours = { ...source, files: files.map(({ file }) => file) };
    return bringFiles({ source: ours, hub, files, gone }, options);
  });
}

/** Which commit is meant and what it holds, and the repository at that commit. */
async function sourceOf(
  named: Repository,
  before: SourceRecord | undefined,
  earlier: readonly SourceFile[],
  options: DatasetOptions,
): Promise<{ readonly source: SourceRecord; readonly hub: Repository }> {
  const { repository, revision } = options;
  try {
    const commit = GIT_OID.test(revision) ? revision : await named.findCommit();
    const hub = new Repository({ kind: 'dataset', repository, revision: commit }, options);
    const [files, replacing] =
      before?.commit === commit
        ? [before.files, before.replacing]
        : [chooseFiles(await hub.listFiles(), repository), before && earlier];
    return { source: { hub: hub.endpoint, repository, revision, commit, complete: false, files, replacing }, hub };
  } catch (error) {
    if (!(error instanceof UserError) || error.exitCode !== EXIT.inputMissing) throw error;
    const hint = `(dataset ${repository}, revision ${revision}); --revision main takes the newest`;
    throw new UserError(printable(`${error.message} ${hint}`), error.exitCode);
  }
}

async function placesOf(
  source: SourceRecord,
  earlier: readonly SourceFile[],
  { signal }: Repository,
  { folder, replace, onProgress }: DatasetOptions,
): Promise<Placed[]> {
  const totalBytes = bytesOf(source.files);
  const places: Placed[] = [];
  let bytes = 0;
  for (const file of source.files) {
    const onRead = (read: number) => {
      bytes += read;
      onProgress?.({ file: printable(file.name), step: 'checking', bytes, totalBytes });
    };
    places.push(await placeOf(file, folder, earlier, { replace, signal, onRead }));
  }
  return places;
}

function requireNothingInTheWay(files: readonly Placed[], folder: string): void {
  const names = files.filter(({ file, state }) => state === 'left' && holdsRows(file)).map(({ file }) => file.name);
  if (names.length === 0) return;
  const list = names.map((name) => `  ${printable(name)}`);
  const what = `${printable(folder)} holds files of the dataset's names with other content, which were not fetched:`;
  const next =
    'Nothing was written. Choose another --output-dir, or fetch them with --replace (these are then kept aside).';
  throw new UserError([what, ...list, next].join('\n'), EXIT.cannotCreate);
}

/** Files that were fetched earlier, are not of this commit, and are as they were fetched: rows in them would be read with the others. */
async function leftBehind(
  { files }: SourceRecord,
  earlier: readonly SourceFile[],
  { signal }: Repository,
  { folder }: DatasetOptions,
): Promise<Placed[]> {
  const names = new Set(files.map(({ name }) => name));
  const places: Placed[] = [];
  for (const file of earlier.filter(({ name }) => !names.has(name))) {
    const { state, sha256 } = await placeOf(file, folder, [], { replace: false, signal, onRead() {} });
    if (state === 'unchanged' && sha256 !== undefined) places.push({ file, state: 'removed', sha256 });
  }
  return places;
}

/** Files in these states come over the network; the others stand there. */
const COMES: readonly FileState[] = ['fetched', 'updated', 'repaired', 'replaced'];
/** What stands in the place of these may be somebody's work. */
const GIVES_WAY: readonly FileState[] = ['repaired', 'replaced', 'removed'];

const RUN_AGAIN = 'mend that and run the same command again';

/** What a fetch has to do. */
interface Plan {
  readonly source: SourceRecord;
  readonly hub: Repository;
  readonly files: readonly Placed[];
  readonly gone: readonly Placed[];
}

async function bringFiles({ source, hub, files, gone }: Plan, options: DatasetOptions): Promise<FetchedDataset> {
  const { folder, beforeDownload, onProgress, now } = options;
  const keep = (record: SourceRecord) =>
    replaceFile(join(folder, SOURCE_RECORD), [sourceRecordText(record)], { remedy: RUN_AGAIN });
  const wanted = files.map(({ file, state }) => ({
    file,
    target: join(folder, file.name),
    isHere: !COMES.includes(state),
  }));
  const missing = wanted.filter(({ isHere }) => !isHere).map(({ file }) => file);
  // Before anything else is written: by this, a fetch that is killed is continued.
  if (missing.length > 0) await keep(source);
  const giveWay = [...files, ...gone].filter(({ state }) => GIVES_WAY.includes(state));
  const aside = await setAside(
    folder,
    giveWay.map(({ file }) => file.name),
    now(),
  );
  if (missing.length > 0) beforeDownload?.({ files: missing.length, bytes: bytesOf(missing), aside });
  const come = await bring(hub, wanted, folder, onProgress);
  const placed = files.map((place) => ({ ...place, sha256: come.get(join(folder, place.file.name)) ?? place.sha256 }));
  const whole = {
    ...source,
    complete: true,
    files: placed.map(({ file, sha256 }) => ({ ...file, sha256 })),
    replacing: undefined,
  };
  await keep(whole);
  await clearParts(folder, whole.files);
  return {
    source: whole,
    files: [...placed, ...gone],
    fetchedBytes: bytesOf(missing),
    aside,
    strangers: await strangersIn(folder, whole.files),
  };
}
