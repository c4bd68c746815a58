// Compiles the project before the tests, since some of them start the program as a user does: dist/bin.js in a process of its own.

import { execFileSync } from 'node:child_process';
import { resolve } from 'node:path';

export default function build(): void {
  const root = resolve(import.meta.dirname, '../..');
  execFileSync(process.execPath, ['scripts/compile.mjs'], {
    cwd: root,
    stdio: 'inherit',
  });
}
