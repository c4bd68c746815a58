// What each kind of run needs to be put together: the data, the predictions that were judged, and an identity that all parts share.

import { relative, resolve } from 'node:path';
import { type Dataset, openDataset, type RowRef } from '../../bench/dataset.js';
import { EXIT, UserError } from '../../errors.js';
import { isObject } from '../../json.js';
import { recordedJudgement } from '../../judgement.js';
import { present } from '../../present.js';
import { rowId } from '../../row-id.js';
import { sizeOf } from '../../run/file-reading.js';
import { pathsOf } from '../../run/folder.js';
import type { Identity } from '../../run/identity.js';
import { viewJournal } from '../../run/journal.js';
import type { Manifest } from '../../run/manifest.js';
import { readManifest } from '../../run/manifest-file.js';
import { shownPath } from '../../settings/shown-path.js';
import type { Io } from '../../types.js';
import { requireData } from '../infer/data-folder.js';
import { missingShards, mostOf, type PartSettings, settingsIn } from './choice.js';
import { type JoinedRun, type Joining, joinRun } from './joining.js';
import { mergedJudging } from './judgements.js';
import { mergedManifest, sharedIdentity } from './manifests.js';
import type { MergeSettings } from './options.js';
import type { Part } from './parts.js';
import { isRollout, mergedRollout, mergedRows } from './predictions.js';

/** A run of which parts hold rows. */
interface Begun extends Omit<Joining, 'manifest'> {
  /** Its parts that hold rows, the run's own first. */
  readonly begun: readonly Part[];
}

/** The predictions that a judging is of. */
interface WholePredictions {
  /** Where they lie now, and where they will. */
  readonly path: string;
  readonly place: string;
  readonly manifest: Manifest | undefined;
}

/** Opens what runs are made of as far as they need it. */
export class Kinds {
  #data: { readonly dir: string; readonly dataset: Dataset } | undefined;
  /** Predictions that this command has merged. */
  #predicted: JoinedRun | undefined;

  /** @param dir the folder to merge into @param aside where its runs are made */
  constructor(
    private readonly settings: MergeSettings,
    private readonly dir: string,
    private readonly aside: string,
    private readonly io: Io,
  ) {}

  /** One run out of its parts; undefined where none of them holds a row. @throws UserError as `mergeRuns` */
  async join(name: string, parts: readonly Part[], own: Part | undefined): Promise<JoinedRun | undefined> {
    const filled = parts.filter(({ isBegun }) => isBegun);
    if (filled.length === 0) return undefined;
    const { dir, aside, io } = this;
    const work = { name, dir, aside, own, parts, io, begun: own === undefined ? filled : [own, ...filled] };
    return present(filled[0]).manifest.kind === 'judge' ? this.#judging(work) : this.#predictions(work);
  }

  async #predictions(work: Begun): Promise<JoinedRun> {
    const { begun } = work;
    const manifest = this.#manifestOf(
      work,
      sharedIdentity(begun.map(({ name, manifest }) => ({ name, identity: manifest.identity }))),
    );
    const { dir, dataset } = await this.#dataOf(manifest.data.dir);
    requireSameData(dataset, dir, manifest);
    const parts = begun.map((part) => settingsIn(part.manifest));
    const rows = { manifest, parts, dataset, stop: this.io.stop };
    const data = { dir, rows: dataset.rows.length, fingerprint: dataset.fingerprint };
    const joining = { ...work, manifest: { ...manifest, data } };
    const run = await (isRollout(manifest)
      ? joinRun(joining, mergedRollout(rows))
      : joinRun(joining, mergedRows(rows)));
    const joined = { ...run, lacking: lackingIn(run, dataset, parts, work.own) };
    if (manifest.kind === 'infer') this.#predicted = joined;
    return joined;
  }

  async #judging(work: Begun): Promise<JoinedRun> {
    const { begun } = work;
    const whole = await this.#wholePredictions(work);
    const snapshots = await Promise.all(begun.map(snapshotOf));
    const found = snapshots.find((snapshot) => snapshot !== undefined);
    const identities = begun.map(({ name, manifest: { identity } }, at) => {
      const snapshot = snapshots[at] ?? found;
      const predictions = seenFrom(this.dir, whole, identity.predictions);
      return { name, identity: { ...identity, predictions, ...(snapshot === undefined ? {} : { snapshot }) } };
    });
    const identity = sharedIdentity(identities);
    requireSamePredictions(identity, whole, work, this.io);
    const manifest = this.#manifestOf(work, identity);
    const isLean = whole.manifest !== undefined && settingsIn(whole.manifest).lean;
    const { dataset } = isLean ? await this.#dataOf(whole.manifest?.data.dir) : {};
    const settings = begun.map((part) => settingsIn(part.manifest));
    const { close, ...judged } = await mergedJudging(manifest, settings, { ...whole, dataset }, this.io.stop);
    try {
      return await joinRun({ ...work, manifest }, judged);
    } finally {
      await close();
    }
  }

  #manifestOf({ own, parts, begun }: Begun, identity: Identity): Manifest {
    const manifest = mergedManifest(own?.manifest, parts, identity, present(begun[0]).manifest.kind);
    return { ...manifest, settings: { ...manifest.settings, 'output-dir': this.settings.outputDir } };
  }

  /** Opened once. @param recorded where a part found its data */
  async #dataOf(recorded: unknown): Promise<{ readonly dir: string; readonly dataset: Dataset }> {
    if (this.#data !== undefined) return this.#data;
    const named = this.settings.dataDir ?? (typeof recorded === 'string' ? recorded : undefined) ?? 'data';
    const dir = resolve(this.io.cwd, named);
    if ((await sizeOf(dir)) === undefined && this.settings.dataDir === undefined) {
      throw new UserError(
        `the parts were run on the rows in ${shownPath(dir, this.io)}, which is not there; name their folder with --data-dir`,
        EXIT.inputMissing,
      );
    }
    await requireData(named, this.io);
    this.#data = { dir, dataset: await openDataset(dir, this.io.stop) };
    return this.#data;
  }

  /** The whole predictions: named, merged before the judging, in the folder already, or one file that all parts have judged. */
  async #wholePredictions({ begun, name }: Begun): Promise<WholePredictions> {
    const { predictions: named } = this.settings;
    if (named !== undefined) return predictionsAt(resolve(this.io.cwd, named));
    if (this.#predicted !== undefined) {
      const fileIn = (dir: string) => pathsOf({ dir, name: 'predictions' }).outputPath;
      return { path: fileIn(this.aside), place: fileIn(this.dir), manifest: this.#predicted.manifest };
    }
    const files = new Set(begun.map(predictionsOf));
    const [file, ...others] = files;
    if (file !== undefined && others.length === 0) return predictionsAt(file);
    throw new UserError(
      [
        `${name}.jsonl was judged from ${files.size} files of predictions:`,
        ...[...files].slice(0, MOST_NAMED).map((path) => `  ${shownPath(path, this.io)}`),
        ...(files.size > MOST_NAMED ? ['  ...'] : []),
        'Merge the runs of those together with the judgings, or before them, and name the whole file with --predictions.',
      ].join('\n'),
    );
  }

  async close(): Promise<void> {
    await this.#data?.dataset.close();
  }
}

const MOST_NAMED = 5;

/** The shards that no part is, with their rows that are not there. */
function lackingIn(
  { manifest, lacks }: JoinedRun,
  dataset: Dataset,
  parts: readonly PartSettings[],
  own: Part | undefined,
): JoinedRun['lacking'] {
  const repeats = Array.from({ length: mostOf(parts).repeats }, (_, repeat) => repeat);
  const countOf = (rows: readonly RowRef[]) =>
    repeats.reduce((sum, repeat) => sum + rows.filter((row) => lacks(rowId(row.key, repeat))).length, 0);
  return missingShards(dataset, parts, shardsOf(manifest, own))
    .map(({ shard, rows }) => ({ shard, rows: countOf(rows) }))
    .filter(({ rows }) => rows > 0);
}

/** Which shards there are of a merged run. */
function shardsOf({ merged = [] }: Manifest, own: Part | undefined): (string | undefined)[] {
  const isOrdinary = own !== undefined && own.manifest.merged === undefined;
  return [...(isOrdinary ? [settingsIn(own.manifest).shard] : []), ...merged.map(({ shard }) => shard)];
}

function requireSameData({ fingerprint }: Dataset, dir: string, { identity }: Manifest): void {
  if (identity.data === fingerprint) return;
  throw new UserError(
    `the rows in ${dir} are others than those that the parts were run on (data: ${fingerprint} there, ${String(identity.data)} in the parts); name theirs with --data-dir`,
    EXIT.identityDiffers,
  );
}

/** The file that a part of a judging judged. */
function predictionsOf({ dir, manifest: { identity } }: Part): string {
  const { file } = isObject(identity.predictions) ? identity.predictions : {};
  return resolve(dir, typeof file === 'string' ? file : 'predictions.jsonl');
}

async function predictionsAt(path: string): Promise<WholePredictions> {
  const beside = await readManifest(path.replace(/\.jsonl$/i, '.manifest.json'));
  return { path, place: path, manifest: beside?.kind === 'judge' ? beside.predictions : beside };
}

function seenFrom(dir: string, { place }: WholePredictions, predictions: unknown): unknown {
  return { ...(isObject(predictions) ? predictions : {}), file: relative(dir, place) };
}

/** @throws UserError (78) where other predictions were judged */
function requireSamePredictions(
  { predictions }: Identity,
  { place, manifest }: WholePredictions,
  { name }: Begun,
  io: Io,
): void {
  const { run } = isObject(predictions) ? predictions : {};
  if (run === manifest?.fingerprint) return;
  throw new UserError(
    `${name}.jsonl of the parts is of other predictions than ${shownPath(place, io)} (run ${String(run ?? 'of no manifest')} there, ${manifest?.fingerprint ?? 'none'} here); merge the predictions that were judged`,
    EXIT.identityDiffers,
  );
}

/** The snapshot that judged a part; a killed one may have it in its records alone. */
async function snapshotOf({ manifest: { identity }, journalPath }: Part): Promise<unknown> {
  if (identity.snapshot !== undefined) return identity.snapshot;
  const journal = await viewJournal(journalPath, ({ row }) => modelIn(row));
  await journal.close();
  for (const id of journal.ids()) {
    const model = journal.summaryOf(id);
    if (model !== undefined) return model;
  }
  return undefined;
}

function modelIn(row: Parameters<typeof recordedJudgement>[0]): string | undefined {
  const { judge } = recordedJudgement(row);
  return judge.status === 'ok' ? judge.model : undefined;
}
