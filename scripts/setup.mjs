// Makes a fresh clone runnable: installs what the lock file names, and compiles. Harmless when repeated.

import { spawn, spawnSync } from 'node:child_process';
import { existsSync, readFileSync, realpathSync, rmSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

const root = new URL('..', import.meta.url);
const installed = new URL('node_modules/.package-lock.json', root);
const lock = new URL('package-lock.json', root);
const AMX_LIBRARIES = ['linux-x64/bins/linux-x64/libggml-cpu-sapphirerapids.so'];
/** In a pipe npm is silent for a minute or more; on a terminal it shows its own progress. */
const STILL_INSTALLING_MS = 15_000;

if (!existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs) await install();
// llama.cpp's code for AMX (v0.4.0) gives NaN where one thread computes several slots, and is suspected of wrong first tokens
// elsewhere: this checkout does without it, by the next best code.
for (const library of AMX_LIBRARIES) rmSync(new URL(`node_modules/@node-llama-cpp/${library}`, root), { force: true });
await run(process.execPath, ['scripts/compile.mjs']);

async function install() {
  console.error('First run: installing dependencies (a minute or two where better-sqlite3 has to be compiled) ...');
  const headers = headersFolder();
  const startedAt = Date.now();
  const ticker = process.stderr.isTTY
    ? undefined
    : setInterval(() => {
        console.error(`... still installing, ${Math.round((Date.now() - startedAt) / 1000)} s`);
      }, STILL_INSTALLING_MS);
  const code = await status('npm', ['ci', '--no-audit', '--no-fund'], headers && { npm_config_nodedir: headers });
  clearInterval(ticker);
  if (code === 0) return;
  if (headers === undefined && !nodedirIsSet()) {
    console.error(`
If better-sqlite3 is what failed: neither its prebuilt binary could be downloaded nor Node's headers to compile it, and
there are no headers beside ${process.execPath}. Either
  - install Node.js from an archive of nodejs.org, which holds its headers (include/node), or set
    npm_config_nodedir to a folder that holds include/node of ${process.version}, or
  - set npm_config_better_sqlite3_binary_host to a mirror of the prebuilt binaries,
and run the same command again.`);
  }
  process.exit(code);
}

/** The folder above the headers that lie beside this Node, where nothing else names one; undefined where none match. */
function headersFolder() {
  if (nodedirIsSet()) return undefined;
  const folder = dirname(dirname(realpathSync(process.execPath)));
  const header = join(folder, 'include/node/node_version.h');
  if (!existsSync(header)) return undefined;
  const text = readFileSync(header, 'utf8');
  const part = (name) => new RegExp(`#define NODE_${name}_VERSION (\\d+)`).exec(text)?.[1];
  const version = `v${part('MAJOR')}.${part('MINOR')}.${part('PATCH')}`;
  return version === process.version ? folder : undefined;
}

function nodedirIsSet() {
  if (Object.keys(process.env).some((name) => /^npm_(package_)?config_(node_gyp_)?nodedir$/i.test(name))) return true;
  const asked = spawnSync('npm', ['config', 'get', 'nodedir'], { cwd: root, encoding: 'utf8', shell: isWindows() });
  return !['', 'undefined', 'null'].includes(asked.stdout?.trim() ?? '');
}

async function run(command, args) {
  const code = await status(command, args);
  if (code !== 0) process.exit(code);
}

/** What the command prints goes to stderr. */
function status(command, args, variables = {}) {
  const shell = isWindows() && command === 'npm';
  const env = { ...process.env, ...variables };
  return new Promise((done) => {
    spawn(command, args, { cwd: root, stdio: ['ignore', 2, 2], shell, env })
      .on('error', (error) => {
        console.error(`cannot run ${command}: ${error.message}`);
        done(1);
      })
      .on('close', (code) => done(code ?? 1));
  });
}

function isWindows() {
  return process.platform === 'win32';
}
