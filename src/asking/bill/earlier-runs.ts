// Earlier runs that tell what a run will take: in its own folder, in the folders beside it, in the SQLite file, or where the user says.

import { existsSync } from 'node:fs';
import { readdir, stat } from 'node:fs/promises';
import { basename, dirname, join, resolve } from 'node:path';
import type { Likeness } from '../../bill.js';
import { ALL_DOMAINS, type DomainMeasure, type Measurement } from '../../billing/measurements.js';
import { EXIT, UserError } from '../../errors.js';
import { canonicalJson, isObject, parseObject } from '../../json.js';
import { checkedManifest, type Manifest } from '../../run/manifest.js';
import { readManifest } from '../../run/manifest-file.js';
import { asksWorldModel } from '../../run-kind.js';
import { shownPath } from '../../settings/shown-path.js';
import { openExistingStore } from '../../store/store.js';
import type { Io, Usage } from '../../types.js';
import type { Run } from '../run.js';

/** The SQLite file that scores go to where nobody names another one. */
const DEFAULT_DB = 'awb.sqlite';
/** Folders beside the run's that are looked into. */
const MOST_FOLDERS = 1_000;

/** The run that is to be made. */
interface Planned {
  readonly run: Pick<Run, 'kind' | 'dir' | 'identity'>;
  /** The name that is asked for, and the file or hub model in its place that is to be served here. */
  readonly model: string;
  readonly local: string | undefined;
  /** Folders, judged files, predictions files or manifests by which the user wants it to be estimated. */
  readonly estimateFrom: readonly string[];
}

/** A manifest, and where it stands. */
interface Found {
  readonly name: string;
  readonly manifest: Manifest;
  /** Whether it lies in a folder with or beside the run. */
  readonly isBeside: boolean;
}

/**
 * What earlier runs of the same kind measured, each once, the most alike first; those of other models only where they stand beside
 * the run. What cannot be read is left out.
 * @throws UserError (66) where what the user named holds no run of this kind.
 */
export async function measurementsFor(planned: Planned, io: Pick<Io, 'cwd' | 'env'>): Promise<Measurement[]> {
  const { run, estimateFrom } = planned;
  const found = estimateFrom.length > 0 ? await namedRuns(planned, io) : await foundRuns(run.dir, io);
  const seen = new Set<string>();
  return found
    .map((one) => ofKind(one, run.kind))
    .filter((one) => one !== undefined)
    .filter(({ manifest: { fingerprint, startedAt } }) => {
      const id = `${fingerprint} ${startedAt}`;
      const isFirst = !seen.has(id);
      seen.add(id);
      return isFirst;
    })
    .flatMap((one) => {
      const like = estimateFrom.length > 0 ? 'named' : likenessOf(one, planned);
      return like === undefined ? [] : [measurementOf(one, like)];
    });
}

async function namedRuns({ run, estimateFrom }: Planned, io: Pick<Io, 'cwd'>): Promise<Found[]> {
  const found: Found[] = [];
  for (const named of estimateFrom) {
    const path = resolve(io.cwd, named);
    const isFolder = (await stat(path).catch(() => undefined))?.isDirectory() ?? false;
    const manifests = isFolder
      ? await manifestsIn(path, io)
      : await manifestAt(path.replace(/(\.journal)?\.jsonl$/, '.manifest.json'), io);
    const usable = manifests.filter((one) => ofKind(one, run.kind) !== undefined);
    if (usable.length === 0) {
      throw new UserError(
        `--estimate-from: ${named} holds no manifest of awb ${run.kind}; name a run's folder or one of its files`,
        EXIT.inputMissing,
      );
    }
    found.push(...usable);
  }
  return found;
}

async function foundRuns(dir: string, io: Pick<Io, 'cwd' | 'env'>): Promise<Found[]> {
  const found = await manifestsIn(dir, io);
  const beside = await readdir(dirname(dir), { withFileTypes: true }).catch(() => []);
  const folders = beside.filter((entry) => entry.isDirectory() && entry.name !== basename(dir)).slice(0, MOST_FOLDERS);
  for (const { name } of folders) found.push(...(await manifestsIn(join(dirname(dir), name), io)));
  for (const path of (io.env.AWB_DB || DEFAULT_DB).split(',')) found.push(...storedRuns(resolve(io.cwd, path), io));
  return found;
}

async function manifestsIn(dir: string, io: Pick<Io, 'cwd'>): Promise<Found[]> {
  const names = await readdir(dir).catch(() => []);
  const manifests = names
    .filter((name) => /^(predictions|judged(\..*)?|calibration|likelihood)\.manifest\.json$/.test(name))
    .sort();
  return (await Promise.all(manifests.map((name) => manifestAt(join(dir, name), io)))).flat();
}

async function manifestAt(path: string, io: Pick<Io, 'cwd'>): Promise<Found[]> {
  const manifest = await readManifest(path).catch(() => undefined);
  return manifest === undefined ? [] : [{ name: shownPath(path, io), manifest, isBeside: true }];
}

/** The runs of a SQLite file, whose judged files may lie anywhere. */
function storedRuns(path: string, io: Pick<Io, 'cwd'>): Found[] {
  if (!existsSync(path)) return [];
  try {
    const store = openExistingStore(path);
    try {
      return store.runs().flatMap(({ id, label, manifest }) => {
        const name = `run ${label ?? id} of ${shownPath(path, io)}`;
        const value = manifest === undefined ? undefined : parseObject(manifest);
        const checked = value && checkedOrNone(() => checkedManifest(value, name));
        return checked === undefined ? [] : [{ name, manifest: checked, isBeside: false }];
      });
    } finally {
      store.close();
    }
  } catch {
    return [];
  }
}

function checkedOrNone(check: () => Manifest): Manifest | undefined {
  try {
    return check();
  } catch {
    return undefined;
  }
}

/** The manifest of the kind: a judged file's holds that of its predictions, and a calibration asks a judge as a judging does. */
function ofKind(found: Found, kind: Run['kind']): Found | undefined {
  const isOfKind = (manifest: Manifest) => asksWorldModel(manifest.kind) === asksWorldModel(kind);
  if (isOfKind(found.manifest)) return found;
  const { predictions } = found.manifest;
  return predictions !== undefined && isOfKind(predictions) ? { ...found, manifest: predictions } : undefined;
}

/** Undefined where a run tells nothing of this one. */
function likenessOf({ manifest, isBeside }: Found, planned: Planned): Likeness | undefined {
  const { kind, identity } = planned.run;
  const { identity: theirs, settings, servedModels } = manifest;
  const model = asksWorldModel(kind) ? 'model' : 'judge';
  // A baseline asks nobody.
  if (theirs[model] === undefined) return undefined;
  const isSame =
    planned.local === undefined
      ? theirs[model] === planned.model || (servedModels ?? []).includes(planned.model)
      : settings?.local === planned.local;
  if (isSame) return isEqual(askedWith(theirs), askedWith(identity)) ? 'settings' : 'model';
  // Checkpoints bear names of their own, and stand beside each other; judges differ too much.
  return asksWorldModel(kind) && isBeside ? 'other' : undefined;
}

/** What replies depend on, beside whom and about what they are asked for. */
function askedWith({ data, predictions, model, judge, snapshot, recheck, calibration, ...rest }: Manifest['identity']) {
  return rest;
}

function isEqual(a: unknown, b: unknown): boolean {
  return canonicalJson(a) === canonicalJson(b);
}

function measurementOf({ name, manifest }: Found, like: Likeness): Measurement {
  const { identity, servedModels, pace, counts }: Partial<Manifest> & Pick<Manifest, 'identity'> = manifest;
  const asked = identity[asksWorldModel(manifest.kind) ? 'model' : 'judge'];
  const model = typeof asked === 'string' ? asked : (servedModels?.[0] ?? 'local model');
  const rows = (counts?.ok ?? 0) + (counts?.failed ?? 0);
  return { name, model, like, rows, domains: domainsOf(manifest), pace };
}

/** What earlier versions left out of manifests is undefined. */
function domainsOf({ costs, tokens, counts }: Partial<Manifest>): Map<string, DomainMeasure> {
  if (costs !== undefined) {
    return new Map(
      Object.entries(costs).map(([domain, { rows, usage, counted }]) => [domain, { rows, usage, counted }]),
    );
  }
  const rows = counts?.ok ?? 0;
  const usage: Usage = isObject(tokens) ? tokens : {};
  return new Map(rows === 0 ? [] : [[ALL_DOMAINS, { rows, usage }]]);
}
