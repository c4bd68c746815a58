// The judgings in a folder, each in files of its own: which one a judging continues, or what a new one is called.

import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { differencesOf, fingerprintOf, type Identity, type Manifest, readManifest } from '../run/manifest.js';

/** A judging that was begun in the folder: `<name>.jsonl`, its journal and its manifest. */
export interface StoredJudging {
  readonly name: string;
  readonly manifest: Manifest;
}

const FIRST = 'judged';
/** Stands in the names of rechecks, which are no judgings of their own. */
export const RECHECK = '.recheck-';

/** The file to be judged into, without its extension; `why` says why it is not the folder's first. */
export interface ChosenFile {
  readonly name: string;
  readonly why?: string;
}

/**
 * The file that a judging belongs to: the one that was begun under the same identity; `judged` where the folder has none yet; else
 * one of its own, named by the label, or after what judges.
 */
export async function chooseFile(
  dir: string,
  identity: (stored: Manifest | undefined) => Identity,
  names: { readonly label: string | undefined; readonly judge: string },
): Promise<ChosenFile> {
  const stored = await judgingsIn(dir);
  const labelled = names.label === undefined ? undefined : fileOfLabel(names.label);
  const same = stored.find(({ name, manifest }) => name === labelled || isSame(identity(manifest), manifest.identity));
  if (same !== undefined) return { name: same.name };
  const first = stored.find(({ name }) => name === FIRST);
  if (first === undefined && !existsSync(join(dir, `${FIRST}.jsonl`))) return { name: FIRST };
  const name = labelled ?? fileOfLabel(`${names.judge}-${fingerprintOf(identity(undefined)).slice(0, 6)}`);
  const holds =
    first === undefined
      ? 'was not written by awb judge'
      : `holds another judging (${differencesOf(first.manifest.identity, identity(first.manifest)).join('; ')})`;
  return { name, why: `${FIRST}.jsonl ${holds}; it stays as it is, and this judging goes to ${name}.jsonl` };
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

function isSame(a: Identity, b: Identity): boolean {
  return fingerprintOf(a) === fingerprintOf(b);
}
