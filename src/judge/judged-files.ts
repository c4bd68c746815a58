// The judgings in a folder, each in files of its own: which one a judging continues, or what a new one is called.

import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { EXIT, UserError } from '../core/errors.js';
import { differencesOf, fingerprintOf, type Identity } from '../core/identity.js';
import { modeIdentity } from '../run/made-with.js';
import { type Manifest, readManifest } from '../run/manifest.js';

/** A judging that was begun in the folder: `<name>.jsonl`, its journal and its manifest. */
export interface StoredJudging {
  readonly name: string;
  readonly manifest: Manifest;
}

const FIRST = 'judged';
/** Stands in the names of rechecks, which are no judgings of their own. */
export const RECHECK = '.recheck-';

/** The file to be judged into, without its extension; `why` says why it is not the folder's first. */
interface ChosenFile {
  readonly name: string;
  readonly why?: string;
  /** Whether a judging stands there that was stopped before anything was judged (a mistyped model, a wrong key): it gives way. */
  readonly replaces: boolean;
}

/**
 * The file that a judging belongs to: the one that was begun under the same identity; `judged` where the folder has none yet; else
 * one of its own, named by the label, or after what judges.
 * @throws UserError (78) where it was begun by a version that judged otherwise, unless `fresh`.
 */
export async function chooseFile(
  dir: string,
  identity: (stored: Manifest | undefined) => Identity,
  names: {
    readonly label: string | undefined;
    readonly judge: string;
    readonly fresh: boolean;
  },
): Promise<ChosenFile> {
  const stored = await judgingsIn(dir);
  const labelled = names.label === undefined ? undefined : fileOfLabel(names.label);
  const same = stored.find(({ manifest }) => isSame(identity(manifest), manifest.identity));
  const begun = stored.filter(isBegun);
  const own =
    begun.find(({ name }) => name === labelled) ??
    same ??
    (labelled === undefined ? begun.find((judging) => isEarlier(judging, identity)) : undefined);
  if (own !== undefined && !names.fresh && isEarlier(own, identity))
    throw begunEarlier(join(dir, own.name), own, identity);
  if (own !== undefined) return { name: own.name, replaces: false };
  const first = begun.find(({ name }) => name === FIRST);
  const isStray = !stored.some(({ name }) => name === FIRST) && existsSync(join(dir, `${FIRST}.jsonl`));
  const isFirst = first === undefined && !isStray;
  const derived = `${names.judge}-${fingerprintOf(identity(undefined)).slice(0, 6)}`;
  const name = isFirst ? FIRST : (labelled ?? fileOfLabel(derived));
  const replaces = stored.some((judging) => judging.name === name);
  if (isFirst) return { name, replaces };
  const holds =
    first === undefined
      ? 'was not written by awb judge'
      : `holds another judging (${differencesOf(first.manifest.identity, identity(first.manifest)).join('; ')})`;
  return { name, replaces, why: `${FIRST}.jsonl ${holds}; it stays as it is, and this judging goes to ${name}.jsonl` };
}

/** All judgings of a folder, by name. @throws UserError (65) where a manifest cannot be read. */
export async function judgingsIn(dir: string): Promise<StoredJudging[]> {
  const files = await readdir(dir).catch(() => []);
  const found: StoredJudging[] = [];
  for (const file of files.sort()) {
    if (!/^judged(\..*)?\.manifest\.json$/.test(file) || file.includes(RECHECK)) continue;
    const manifest = await readManifest(join(dir, file));
    if (manifest?.kind === 'judge') found.push({ name: file.slice(0, -'.manifest.json'.length), manifest });
  }
  return found;
}

/** The name of a labelled judging's files, fit for any file system. */
export function fileOfLabel(label: string): string {
  const fit = label.replace(/[^A-Za-z0-9._-]+/g, '-').replace(/^[-.]+|[-.]+$/g, '');
  return `${FIRST}.${fit || 'judging'}`;
}

/** The manifest of a killed run counts what was there before the run: only a run that was stopped in order is believed. */
function isBegun({ manifest }: StoredJudging): boolean {
  return manifest.state !== 'stopped' || manifest.counts.ok > 0;
}

/** Fields of a mode's identity that the user chooses: all others change with the version alone. */
const CHOSEN = ['verdicts', 'verdict_schema', 'rubrics.name', 'reference'];
/** Changes with the version, or where the user has changed a pack of the same name. */
const WORDED = 'rubrics.fingerprint';

/** Whether it differs in nothing but what its mode is, though the user gave the mode the same settings. */
function isEarlier({ manifest }: StoredJudging, identity: (stored: Manifest) => Identity): boolean {
  const now = identity(manifest);
  const differences = differencesOf(modeIdentity(manifest.identity), modeIdentity(now));
  if (differences.length < differencesOf(manifest.identity, now).length) return false;
  const fields = differences.map((line) => line.slice(0, line.indexOf(': ')));
  return fields.some((field) => field !== WORDED) && !fields.some((field) => CHOSEN.includes(field));
}

function begunEarlier(path: string, { manifest }: StoredJudging, identity: (stored: Manifest) => Identity): UserError {
  return new UserError(
    [
      `${path}.jsonl was begun by an earlier version, which judged otherwise, and judgements of both must not mix:`,
      ...differencesOf(manifest.identity, identity(manifest)).map((line) => `  ${line}`),
      'What is finished of it can still be scored and compared. --fresh judges every row again (the old files are kept aside), --label NAME judges into a file of its own.',
    ].join('\n'),
    EXIT.identityDiffers,
  );
}

function isSame(a: Identity, b: Identity): boolean {
  return fingerprintOf(a) === fingerprintOf(b);
}
