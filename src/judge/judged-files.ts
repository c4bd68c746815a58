// The judgings in a folder, each in files of its own: which one a judging continues, or what a new one is called.

import { existsSync } from 'node:fs';
import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { differencesOf, fingerprintOf, type Identity } from '../core/identity.js';
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
 */
export async function chooseFile(
  dir: string,
  identity: (stored: Manifest | undefined) => Identity,
  names: { readonly label: string | undefined; readonly judge: string },
): Promise<ChosenFile> {
  const stored = await judgingsIn(dir);
  const labelled = names.label === undefined ? undefined : fileOfLabel(names.label);
  const begun = stored.filter(isBegun);
  const isSame = ({ manifest }: StoredJudging) =>
    fingerprintOf(identity(manifest)) === fingerprintOf(manifest.identity);
  const own = begun.find(({ name }) => name === labelled) ?? stored.find(isSame);
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
