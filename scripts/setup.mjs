// Makes a fresh clone runnable: installs what the lock file names, and compiles. Harmless when repeated. `npm run gpu` adds the code for GPUs.

import { spawn, spawnSync } from 'node:child_process';
import {
  existsSync,
  mkdirSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { dirname, join } from 'node:path';

const root = new URL('..', import.meta.url);
const installed = new URL('node_modules/.package-lock.json', root);
const lock = new URL('package-lock.json', root);
const native = new URL('node_modules/better-sqlite3/build/Release/better_sqlite3.node', root);
const AMX_BINARIES = ['linux-x64', 'linux-x64-cuda', 'linux-x64-vulkan'];
/** In a pipe npm is silent for a minute or more; on a terminal it shows its own progress. */
const STILL_INSTALLING_MS = 15_000;

const isStale = !existsSync(installed) || statSync(installed).mtimeMs < statSync(lock).mtimeMs;
if (isStale || !existsSync(native)) await install();
if (process.argv[2] === 'gpu') await addGpuCode(process.argv.slice(3));
// llama.cpp's code for AMX (v0.4.0) gives NaN where one thread computes several slots, and is suspected of wrong first tokens
// elsewhere: this checkout removes it, so that the next best code is used.
for (const name of AMX_BINARIES) {
  const library = `node_modules/@node-llama-cpp/${name}/bins/${name}/libggml-cpu-sapphirerapids.so`;
  rmSync(new URL(library, root), { force: true });
}
await run(process.execPath, ['scripts/compile.mjs']);

async function install() {
  console.error('First run: installing dependencies (a minute or two if better-sqlite3 has to be compiled) ...');
  const headers = headersFolder();
  const startedAt = Date.now();
  const ticker = process.stderr.isTTY
    ? undefined
    : setInterval(() => {
        console.error(`... still installing, ${Math.round((Date.now() - startedAt) / 1000)} s`);
      }, STILL_INSTALLING_MS);
  // npm hides why an optional package cannot be compiled, and leaves it out. `npm rebuild` shows it.
  const unpacked = await status('npm', ['ci', '--no-audit', '--no-fund', '--ignore-scripts']);
  const compile = () => status('npm', ['rebuild', 'better-sqlite3'], headers && { npm_config_nodedir: headers });
  const code = unpacked || (await compile());
  clearInterval(ticker);
  if (code === 0) return;
  if (headers === undefined && !nodedirIsSet()) {
    console.error(`
If better-sqlite3 failed: neither its prebuilt binary nor Node's headers to compile it could be downloaded, and
there are no headers next to ${process.execPath}. Either
  - install Node.js from a nodejs.org archive, which includes its headers (include/node), or set
    npm_config_nodedir to a folder that contains include/node of ${process.version}, or
  - set npm_config_better_sqlite3_binary_host to a mirror of the prebuilt binaries,
and run the same command again.`);
  }
  process.exit(code);
}

/**
 * Replaces the empty packages with which package.json keeps installs small by node-llama-cpp's packages for GPUs. Overrides hold for
 * everything in the root project; so npm installs these into a separate project, from which they are moved.
 */
async function addGpuCode(flags) {
  const { overrides, devDependencies } = JSON.parse(readFileSync(new URL('package.json', root), 'utf8'));
  const platform = `@node-llama-cpp/${isWindows() ? 'win' : process.platform}-${process.arch}-`;
  const names = Object.keys(overrides['node-llama-cpp']).filter((name) => name.startsWith(platform));
  if (names.length === 0) {
    console.error(`Nothing to add: node-llama-cpp has no GPU code to add on ${process.platform} ${process.arch}.`);
    return;
  }
  const project = new URL('node_modules/.gpu/', root);
  rmSync(project, { recursive: true, force: true });
  mkdirSync(project);
  const dependencies = Object.fromEntries(names.map((name) => [name, devDependencies['node-llama-cpp']]));
  writeFileSync(new URL('package.json', project), JSON.stringify({ private: true, dependencies }));
  console.error(`Installing ${names.join(', ')} ...`);
  const code = await status('npm', ['install', '--ignore-scripts', '--no-audit', '--no-fund', ...flags], {}, project);
  if (code !== 0) process.exit(code);
  if (flags.includes('--package-lock-only')) return;
  for (const name of names) {
    rmSync(new URL(`node_modules/${name}`, root), { recursive: true, force: true });
    renameSync(new URL(`node_modules/${name}`, project), new URL(`node_modules/${name}`, root));
  }
  rmSync(project, { recursive: true });
}

/** The folder whose include/node matches this Node, unless the user has set one; undefined if there is none. */
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
function status(command, args, variables = {}, cwd = root) {
  const shell = isWindows() && command === 'npm';
  const env = { ...process.env, ...variables };
  return new Promise((done) => {
    spawn(command, args, { cwd, stdio: ['ignore', 2, 2], shell, env })
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
