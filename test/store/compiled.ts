// The store's modules as JavaScript, for tests that need them in another process.

import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { join, resolve } from 'node:path';
import { promisify } from 'node:util';

const root = resolve(import.meta.dirname, '../..');

export interface Compiled {
  /** Writes a script next to the compiled `store/`, and returns its path. */
  script(name: string, text: string): Promise<string>;
  remove(): Promise<void>;
}

/** Compiles src/store into a folder inside node_modules, where packages are found. */
export async function compileStore(): Promise<Compiled> {
  await mkdir(join(root, 'node_modules/.cache'), { recursive: true });
  const dir = await mkdtemp(join(root, 'node_modules/.cache/store-'));
  const flags = '--ignoreConfig --module nodenext --target es2023 --skipLibCheck --types node --rootDir src --outDir';
  const files = ['src/disk/lock.ts', 'src/store/store.ts'];
  await promisify(execFile)(join(root, 'node_modules/.bin/tsc'), [...flags.split(' '), dir, ...files], { cwd: root });
  await writeFile(join(dir, 'package.json'), '{"type":"module"}');
  return {
    async script(name, text) {
      await writeFile(join(dir, name), text);
      return join(dir, name);
    },
    remove: () => rm(dir, { recursive: true }),
  };
}
