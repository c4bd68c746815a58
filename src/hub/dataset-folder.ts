// Order in the folder of a dataset: what gives way is kept aside, leftovers go, strangers are named.

import { mkdir, readdir, rename, rm } from 'node:fs/promises';
import { join } from 'node:path';
import { holdsRows } from './dataset-files.js';
import { onDisk } from './disk-errors.js';
import type { SourceFile } from './source-record.js';

/**
 * Moves files of a folder into a new one below it, whose name comes back; undefined where there are none to move.
 * Throws a UserError (73 or 74) where the disk refuses.
 */
export async function setAside(folder: string, names: readonly string[], now: Date): Promise<string | undefined> {
  if (names.length === 0) return undefined;
  const aside = `before-${now.toISOString().replace(/[:.]/g, '-')}`;
  await onDisk(join(folder, aside), mkdir(join(folder, aside)));
  for (const name of names) await onDisk(join(folder, name), rename(join(folder, name), join(folder, aside, name)));
  return aside;
}

/** Takes away what downloads of other contents of these files began and never ended. */
export async function clearParts(folder: string, files: readonly SourceFile[]): Promise<void> {
  for (const name of await readdir(folder).catch((): string[] => [])) {
    const [, whole] = /^(.+?)(?:\.[0-9a-f]{12})?\.part$/.exec(name) ?? [];
    if (files.some((file) => file.name === whole)) await rm(join(folder, name), { force: true });
  }
}

/** Files of rows that are not of the dataset and will be read with it. */
export async function strangersIn(folder: string, files: readonly SourceFile[]): Promise<string[]> {
  const names = await readdir(folder).catch((): string[] => []);
  return names.filter((name) => holdsRows({ name }) && !files.some((file) => file.name === name)).sort();
}
