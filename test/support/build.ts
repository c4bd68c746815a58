// Before the tests: compiles the project, since some tests start the program as a user does (dist/bin.js in another process), and gives the
// tests a temporary folder.

import { execFileSync } from 'node:child_process';
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';

/** @returns a function that removes the temporary folders of all tests at the end */
export default function build(): () => void {
  const root = resolve(import.meta.dirname, '../..');
  execFileSync(process.execPath, ['scripts/compile.mjs'], {
    cwd: root,
    stdio: 'inherit',
  });
  const folder = mkdtempSync(join(tmpdir(), 'awb-test-'));
  // Some tests read as another user.
  chmodSync(folder, 0o755);
  process.env.TMPDIR = folder;
  return () => rmSync(folder, { recursive: true, force: true });
}
