// What made this run: settings and fingerprints. It refuses to mix two runs in one file.

import { createHash } from 'node:crypto';
import { EXIT, UserError } from '../errors.js';
import { canonicalJson, isObject, type JsonObject } from '../json.js';
import type { Usage } from '../types.js';
import { readJson, writeJson } from './files.js';

/** What a run's numbers depend on; a run is continued only under an equal one. Values are JSON. */
export type Identity = Readonly<Record<string, unknown>>;

export interface Manifest {
  readonly schema: 'awb.manifest/1';
  readonly kind: 'infer' | 'judge';
  readonly tool: { readonly name: string; readonly version: string };
  /** The checkpoint's name, as the user gave it. */
  readonly label?: string | undefined;
  readonly meta: Readonly<Record<string, string>>;
  readonly identity: Identity;
  /** SHA-256 hex of the canonical identity. */
  readonly fingerprint: string;
  /** Every setting in force, secrets left out. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Hosts that were asked, without credentials or paths. */
  readonly endpoints: readonly string[];
  /** Models as the servers named them. */
  readonly servedModels: readonly string[];
  /** What `awb serve` says of the models it served: file, quantisation, llama.cpp release, cache, slots. */
  readonly models?: readonly Readonly<Record<string, unknown>>[];
  readonly data: Readonly<Record<string, unknown>>;
  /** Under `judge`: the manifest of the predictions, where one lies beside them. */
  readonly predictions?: Manifest | undefined;
  /** Rows, times repeats, that the run chose, by domain: the denominator of coverage. */
  readonly chosen: Readonly<Record<string, number>>;
  readonly counts: Counts;
  readonly tokens: Usage;
  readonly notices: readonly string[];
  readonly startedAt: string;
  readonly endedAt?: string;
  readonly state: 'running' | 'complete' | 'incomplete' | 'interrupted' | 'stopped';
  /** The process that works, or worked, on the run. */
  readonly process: { readonly pid: number; readonly host: string };
  /** The assembled file, its size, a fingerprint of the form it was written in, and SHA-256 hex of its bytes, which earlier versions left out. */
  readonly output?: { readonly file: string; readonly bytes: number; readonly form: string; readonly sha256?: string };
  /** SHA-256 hex of all the rest as canonical JSON; earlier versions left it out. */
  readonly checksum?: string;
}

export interface Counts {
  readonly chosen: number;
  readonly ok: number;
  readonly failed: number;
  readonly notDone: number;
  /** Chosen rows that could not be asked at all: unusable lines of the data, rows without a prediction. */
  readonly absent: number;
  readonly failures: Readonly<Record<string, number>>;
  readonly flags: Readonly<Record<string, number>>;
}

/** Reads a run's manifest; undefined where there is none. @throws UserError: 66 where it cannot be read, 65 as `checkedManifest`. */
export async function readManifest(path: string): Promise<Manifest | undefined> {
  const value = await readJson(path);
  return value === undefined ? undefined : checkedManifest(value, path);
}

/**
 * A manifest of which every field is known to be what `Manifest` says, or to be absent: files are edited, and disks fail.
 * @param path names it in the error
 * @throws UserError (65) for a file of another kind or version, without its identity, or with a field of another type.
 */
export function checkedManifest(value: JsonObject, path: string): Manifest {
  if (value.schema !== 'awb.manifest/1') {
    throw new UserError(
      `${path} has schema ${JSON.stringify(value.schema ?? null)}, this version reads "awb.manifest/1"; use the awb version that wrote it, or another --output-dir`,
      EXIT.badData,
    );
  }
  if (!isObject(value.identity)) {
    throw new UserError(`${path} has lost its "identity"; move it aside, or start over with --fresh`, EXIT.badData);
  }
  const odd = oddField(value);
  if (odd !== undefined) {
    throw new UserError(`${path} is damaged: "${odd}" is not what it was written as; ${REMEDY}`, EXIT.badData);
  }
  return value as unknown as Manifest;
}

const REMEDY = 'mend it, move it aside, or start over with --fresh';

type Check = (value: unknown) => boolean;
const isText: Check = (value) => typeof value === 'string';
const isCount: Check = (value) => Number.isSafeInteger(value) && (value as number) >= 0;
const listOf =
  (check: Check): Check =>
  (value) =>
    Array.isArray(value) && value.every(check);
const mapOf =
  (check: Check): Check =>
  (value) =>
    isObject(value) && Object.values(value).every(check);
const fieldsOf =
  (fields: Readonly<Record<string, Check>>): Check =>
  (value) =>
    isObject(value) && Object.entries(fields).every(([name, check]) => value[name] === undefined || check(value[name]));

const FIELDS: Readonly<Record<string, Check>> = {
  kind: (value) => value === 'infer' || value === 'judge',
  tool: mapOf(isText),
  label: isText,
  meta: mapOf(isText),
  identity: isObject,
  fingerprint: isText,
  settings: isObject,
  endpoints: listOf(isText),
  servedModels: listOf(isText),
  models: listOf(isObject),
  data: isObject,
  chosen: mapOf(isCount),
  counts: fieldsOf({
    chosen: isCount,
    ok: isCount,
    failed: isCount,
    notDone: isCount,
    absent: isCount,
    failures: mapOf(isCount),
    flags: mapOf(isCount),
  }),
  // Servers have reported more than can be counted.
  tokens: mapOf((value) => typeof value === 'number'),
  notices: listOf(isText),
  startedAt: isText,
  endedAt: isText,
  state: isText,
  process: isObject,
  output: fieldsOf({ file: isText, bytes: isCount, form: isText, sha256: isText }),
  checksum: isText,
};

/** The first field, by its path, that is there and of another type than was written. */
function oddField(manifest: JsonObject): string | undefined {
  const odd = Object.keys(FIELDS).find((name) => manifest[name] !== undefined && !FIELDS[name]?.(manifest[name]));
  if (odd !== undefined || manifest.predictions === undefined) return odd;
  if (!isObject(manifest.predictions)) return 'predictions';
  const within = oddField(manifest.predictions);
  return within === undefined ? undefined : `predictions.${within}`;
}

/**
 * What is to be said of a run's file, or of its manifest, that is not as the run wrote it, which a user may want or a failing disk
 * have done; undefined where both are, or where the manifest does not tell.
 */
export function changeSince(manifest: Manifest | undefined, path: string, sha256: string): string | undefined {
  if (manifest === undefined) return undefined;
  const { kind, output, checksum } = manifest;
  const said = (what: string, how: string) =>
    `${what} was edited or damaged since awb ${kind} wrote it (${how}); the same awb ${kind} command writes it anew`;
  const { sha256: written = sha256 } = output ?? {};
  if (written !== sha256) return said(path, 'its manifest has another SHA-256');
  if (checksum === undefined || checksum === checksumOf(manifest)) return undefined;
  return said(`the manifest of ${path}`, 'its checksum is another one');
}

function checksumOf({ checksum: _, ...rest }: Manifest): string {
  return createHash('sha256').update(canonicalJson(rest)).digest('hex');
}

export async function writeManifest(path: string, manifest: Manifest): Promise<void> {
  await writeJson(path, { ...manifest, checksum: checksumOf(manifest) });
}

/** SHA-256 hex over the identity with its keys sorted, so that the order of building does not matter. */
export function fingerprintOf(identity: Identity): string {
  return createHash('sha256').update(canonicalJson(identity)).digest('hex');
}

/** One line per field that differs: `sampling.temperature: 0.6 before, 1 now`. */
export function differencesOf(before: Identity, now: Identity): string[] {
  return compare('', before, now);
}

/** @throws UserError (78) that shows the difference field by field. */
export function requireSameIdentity(before: Identity, now: Identity, where: string): void {
  const differences = differencesOf(before, now);
  if (differences.length === 0) return;
  throw new UserError(
    [
      `${where} was begun with other settings, and rows of both must not mix:`,
      ...differences.map((difference) => `  ${difference}`),
      'Give the settings of before to continue it, another --output-dir to keep both, or --fresh to start over (the old files are kept aside).',
    ].join('\n'),
    EXIT.identityDiffers,
  );
}

/** Empty exactly where both have the same canonical JSON. An object against nothing is shown by its fields. */
function compare(field: string, before: unknown, now: unknown): string[] {
  if (isTree(before, now)) {
    const old = new Map(Object.entries(before ?? {}));
    const current = new Map(Object.entries(now ?? {}));
    return [...new Set([...old.keys(), ...current.keys()])]
      .sort()
      .flatMap((key) => compare(field === '' ? key : `${field}.${key}`, old.get(key), current.get(key)));
  }
  const show = (value: unknown) => (value === undefined ? 'absent' : canonicalJson(value));
  return show(before) === show(now) ? [] : [`${field}: ${show(before)} before, ${show(now)} now`];
}

function isTree(before: unknown, now: unknown): boolean {
  const sides = [before, now].filter((side) => side !== undefined);
  return sides.every(isObject) && sides.some((side) => Object.keys(side as object).length > 0);
}
