// A run's manifest on disk: read, written under a checksum, and compared with the file that it describes.

import { createHash } from 'node:crypto';
import { canonicalJson } from '../core/json.js';
import { readJson } from '../disk/file-reading.js';
import { writeJson } from '../disk/files.js';
import { checkedManifest, type Manifest } from './manifest.js';

/** Reads a run's manifest; undefined where there is none. @throws UserError: 66 where it cannot be read, 65 as `checkedManifest`. */
export async function readManifest(path: string): Promise<Manifest | undefined> {
  const value = await readJson(path);
  return value === undefined ? undefined : checkedManifest(value, path);
}

/**
 * One sentence on a run's file, or its manifest, that is not as the run wrote it: a user may have edited it, or a disk failed.
 * Undefined where both are as they were written, or where the manifest does not tell.
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
