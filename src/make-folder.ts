// A folder and those above it, made one by one: Node's own way never ends where a parent denies that its children exist (/proc).

import { codeOf } from './errors.js';

/** What making folders takes of `node:fs/promises` and `node:path`: the ground floor touches no disk itself. */
interface Disk {
  mkdir(path: string): Promise<unknown>;
  stat(path: string): Promise<{ isDirectory(): boolean }>;
  dirname(path: string): string;
}

/** Makes a folder where there is none, with those above it. @throws the file system's error, EEXIST for a file in its place */
export async function makeFolders(path: string, disk: Disk): Promise<void> {
  try {
    await makeOne(path, disk);
  } catch (error) {
    const parent = disk.dirname(path);
    if (codeOf(error) !== 'ENOENT' || parent === path) throw error;
    await makeFolders(parent, disk);
    await makeOne(path, disk);
  }
}

async function makeOne(path: string, disk: Disk): Promise<void> {
  try {
    await disk.mkdir(path);
  } catch (error) {
    if (codeOf(error) !== 'EEXIST' || !(await disk.stat(path)).isDirectory()) throw error;
  }
}
