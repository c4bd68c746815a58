// The checkpoints in a folder: which are there, which are complete, and a stamp that tells when one has changed.

import { createHash } from 'node:crypto';
import type { Stats } from 'node:fs';
import { readdir, realpath, stat } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { codeOf, EXIT, UserError } from '../errors.js';

export interface Checkpoint {
  /** Its name in the folder. */
  readonly name: string;
  /** Absolute. */
  readonly path: string;
  /** Of the names, sizes and times of its files. */
  readonly stamp: string;
}

interface Found {
  readonly complete: readonly Checkpoint[];
  /** Names that have no marker yet. */
  readonly unmarked: readonly string[];
}

/** `step-2` before `step-10`. */
const IN_ORDER = new Intl.Collator('en', { numeric: true });

/**
 * The checkpoints of a folder in the order of their names, numbers by their size.
 * @throws UserError (66) where the folder cannot be read
 */
export async function checkpointsIn(dir: string, pattern: string, marker: string): Promise<Found> {
  const names = await readdir(dir).catch((error: unknown) => {
    throw new UserError(`cannot read the folder of checkpoints ${dir} (${codeOf(error)})`, EXIT.inputMissing);
  });
  const isNamed = patternOf(pattern);
  const complete: Checkpoint[] = [];
  const unmarked: string[] = [];
  const candidates = names.filter(
    (name) => isNamed(name) && !name.startsWith('.') && name !== marker && !name.endsWith(`.${marker}`),
  );
  for (const name of candidates.sort(IN_ORDER.compare)) {
    const path = join(dir, name);
    if (!(await isMarked(path, marker))) {
      unmarked.push(name);
      continue;
    }
    const stamp = await stampOf(path, marker);
    if (stamp !== undefined) complete.push({ name, path, stamp });
  }
  return { complete, unmarked };
}

async function isMarked(path: string, marker: string): Promise<boolean> {
  return (await statOf(join(path, marker))) !== undefined || (await statOf(`${path}.${marker}`)) !== undefined;
}

/** Undefined where it has gone meanwhile. */
async function stampOf(path: string, marker: string): Promise<string | undefined> {
  const found = await statOf(path);
  if (found === undefined) return undefined;
  const lines: string[] = [];
  if (!found.isDirectory()) lines.push(lineOf('', found));
  else {
    for (const name of (await namesBelow(path)).sort()) {
      const file = name === marker ? undefined : await statOf(join(path, name));
      if (file !== undefined && !file.isDirectory()) lines.push(lineOf(name, file));
    }
  }
  return createHash('sha256').update(JSON.stringify(lines)).digest('hex').slice(0, 16);
}

/** What lies in a folder, at any depth, also behind links. Each folder counts once, and none above it: links may lead back. */
async function namesBelow(path: string): Promise<string[]> {
  const seen = new Set<string>();
  const names: string[] = [];
  const real = await realpath(path).catch(() => path);
  for (let above = dirname(real); !seen.has(above); above = dirname(above)) seen.add(above);
  const folders = [''];
  for (let folder = folders.pop(); folder !== undefined; folder = folders.pop()) {
    const place = await realpath(join(path, folder)).catch(() => undefined);
    if (place === undefined || seen.has(place)) continue;
    seen.add(place);
    const entries = await readdir(place, { withFileTypes: true }).catch(() => []);
    for (const entry of entries.sort((a, b) => (a.name < b.name ? -1 : 1))) {
      const name = join(folder, entry.name);
      names.push(name);
      const isFolder = entry.isSymbolicLink()
        ? (await statOf(join(place, entry.name)))?.isDirectory()
        : entry.isDirectory();
      if (isFolder) folders.push(name);
    }
  }
  return names;
}

function lineOf(name: string, { size, mtimeMs }: Stats): string {
  return `${name} ${size} ${mtimeMs}`;
}

async function statOf(path: string): Promise<Stats | undefined> {
  return stat(path).catch(() => undefined);
}

function patternOf(glob: string): (name: string) => boolean {
  const source = glob
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  const pattern = new RegExp(`^${source}$`, 's');
  return (name) => pattern.test(name);
}
