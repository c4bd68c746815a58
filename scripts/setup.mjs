// Makes a fresh clone runnable: installs what the lock file names, and compiles. Harmless when repeated.

import { spawnSync } from 'node:child_process';
import { existsSync, statSync } from 'node:fs';

const root = new URL('..', import.meta.url);
const installed = new URL('node_modules/.package-lock.json', root);
const lock = new URL('package-lock.json', root);

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) {
  console.error('Installing dependencies (a minute or two where better-sqlite3 has to be compiled) ...');
  run('npm', ['ci', '--no-audit', '--no-fund']);
}
run(process.execPath, ['node_modules/typescript/bin/tsc', '-p', 'tsconfig.json']);

function run(command, args) {
  const windows = process.platform === 'win32' && command === 'npm';
  const { status } = spawnSync(command, args, { cwd: root, stdio: ['ignore', 2, 2], shell: windows });
  if (status !== 0) process.exit(status ?? 1);
}
