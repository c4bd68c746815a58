// What the first command in a fresh clone does where nothing can be downloaded, by an npm of the test's own; and `npm run gpu`, by a registry of its own.

import { execFile, spawnSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  linkSync,
  mkdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeEach, describe, expect, test } from 'vitest';
import { ROOT, temporaryFolder } from '../support/cli.js';

const NATIVE = 'node_modules/better-sqlite3/build/Release/better_sqlite3.node';
const [MAJOR, MINOR, PATCH] = process.versions.node.split('.');

let clone: string;
let node: string;

/** A clone that holds no more than setup needs, a Node of its own, and an npm that notes how it was called. */
beforeEach(async () => {
  const dir = await temporaryFolder();
  clone = join(dir, 'clone');
  node = join(dir, 'node/bin/node');
  for (const folder of ['clone/scripts', 'clone/node_modules', 'node/bin']) {
    mkdirSync(join(dir, folder), { recursive: true });
  }
  copyFileSync(join(ROOT, 'scripts/setup.mjs'), join(clone, 'scripts/setup.mjs'));
  writeFileSync(join(clone, 'package-lock.json'), '{}');
  writeFileSync(
    join(clone, 'scripts/compile.mjs'),
    "import { writeFileSync } from 'node:fs'; writeFileSync('compiled', '');",
  );
  try {
    linkSync(process.execPath, node);
  } catch {
    copyFileSync(process.execPath, node);
  }
  const npm = `#!/bin/sh
if [ "$1" = config ]; then echo "\${TEST_NPMRC:-undefined}"; exit 0; fi
echo "$*|$npm_config_nodedir" >> "$TEST_CALLED"
if [ "$1" = rebuild ]; then exit "\${TEST_NPM_CODE:-0}"; fi
`;
  writeFileSync(join(dirname(node), 'npm'), npm);
  chmodSync(join(dirname(node), 'npm'), 0o755);
});

function setUp(env: Readonly<Record<string, string>> = {}) {
  const called = join(clone, 'called');
  const { status, stderr } = spawnSync(node, ['scripts/setup.mjs'], {
    cwd: clone,
    encoding: 'utf8',
    env: { PATH: `${dirname(node)}:/usr/bin:/bin`, TEST_CALLED: called, ...env },
  });
  const lines = existsSync(called) ? readFileSync(called, 'utf8').trimEnd().split('\n') : [];
  const [calls, nodedirs] = [0, 1].map((at) => lines.map((line) => line.split('|')[at]));
  return { status, stderr, calls, nodedir: nodedirs?.at(-1), compiled: existsSync(join(clone, 'compiled')) };
}

function putNativePart(folder: string): void {
  mkdirSync(dirname(join(folder, NATIVE)), { recursive: true });
  writeFileSync(join(folder, NATIVE), '');
}

function putHeaders(patch = PATCH): void {
  const folder = join(dirname(dirname(node)), 'include/node');
  mkdirSync(folder, { recursive: true });
  const text = `#define NODE_MAJOR_VERSION ${MAJOR}\n#define NODE_MINOR_VERSION ${MINOR}\n#define NODE_PATCH_VERSION ${patch}\n`;
  writeFileSync(join(folder, 'node_version.h'), text);
}

describe.skipIf(process.platform === 'win32')('setup', () => {
  test('compiles against the headers beside this Node, so that none are downloaded', () => {
    putHeaders();
    const { status, calls, nodedir, compiled } = setUp();
    expect({ status, compiled }).toEqual({ status: 0, compiled: true });
    expect(calls).toEqual(['ci --no-audit --no-fund --ignore-scripts', 'rebuild better-sqlite3']);
    expect(nodedir).toBe(dirname(dirname(node)));
  });

  test.each([
    ['headers of another version are left alone', () => putHeaders('999'), {}, ''],
    ['a folder named in the environment goes first', putHeaders, { npm_config_nodedir: '/named' }, '/named'],
    ['a folder named in .npmrc goes first', putHeaders, { TEST_NPMRC: '/named' }, ''],
  ])('%s', (_, prepare, env, nodedir) => {
    prepare();
    expect(setUp(env)).toMatchObject({ status: 0, nodedir });
  });

  test('where the installation fails without headers, both remedies are named', () => {
    const { status, stderr, compiled } = setUp({ TEST_NPM_CODE: '7' });
    expect({ status, compiled }).toEqual({ status: 7, compiled: false });
    expect(stderr).toContain(`include/node of ${process.version}`);
    expect(stderr).toContain('npm_config_better_sqlite3_binary_host');
  });

  test('where they were there, the failure is not blamed on them', () => {
    putHeaders();
    expect(setUp({ TEST_NPM_CODE: '1' }).stderr).not.toContain('npm_config_nodedir');
  });

  test('what is installed already is not installed again, unless its native part is missing', () => {
    writeFileSync(join(clone, 'node_modules/.package-lock.json'), '{}');
    putNativePart(clone);
    expect(setUp()).toMatchObject({ status: 0, calls: [], compiled: true });
    rmSync(join(clone, NATIVE));
    expect(setUp()).toMatchObject({ status: 0, calls: [expect.stringMatching(/^ci /), 'rebuild better-sqlite3'] });
  });
});

/** A registry of packages that hold a binary for GPUs, by name: packuments and tarballs. */
async function serveRegistry(dir: string, names: readonly string[], version: string) {
  const files = new Map<string, Buffer>();
  const server = createServer((request, response) => {
    const file = files.get(decodeURIComponent(request.url ?? ''));
    response.writeHead(file === undefined ? 404 : 200).end(file);
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  for (const name of names) {
    const source = join(dir, 'registry', name);
    const manifest = { name, version, main: 'dist/index.js' };
    for (const [path, text] of [
      ['package.json', JSON.stringify(manifest)],
      ['dist/index.js', ''],
      ['bins/code', 'for GPUs'],
    ] as const) {
      mkdirSync(dirname(join(source, 'package', path)), { recursive: true });
      writeFileSync(join(source, 'package', path), text);
    }
    await promisify(execFile)('tar', ['-czf', join(source, 'packed.tgz'), '-C', source, 'package']);
    const tarball = readFileSync(join(source, 'packed.tgz'));
    const integrity = `sha512-${createHash('sha512').update(tarball).digest('base64')}`;
    const versions = { [version]: { ...manifest, dist: { tarball: `${url}/${name}.tgz`, integrity } } };
    files.set(`/${name}`, Buffer.from(JSON.stringify({ name, 'dist-tags': { latest: version }, versions })));
    files.set(`/${name}.tgz`, tarball);
  }
  return { url, close: () => server.close() };
}

describe.skipIf(process.platform !== 'linux' || process.arch !== 'x64')('npm run gpu', () => {
  test('puts GPU code of the same release where empty packages were, and nothing else', async () => {
    const { overrides, devDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const version = devDependencies['node-llama-cpp'];
    const kinds = ['linux-x64-cuda', 'linux-x64-cuda-ext', 'linux-x64-vulkan'].map((name) => `@node-llama-cpp/${name}`);
    const registry = await serveRegistry(dirname(clone), kinds, version);
    copyFileSync(join(ROOT, 'package.json'), join(clone, 'package.json'));
    cpSync(join(ROOT, 'dist'), join(clone, 'dist'), { recursive: true });
    const names = ['node-llama-cpp', ...Object.keys(overrides['node-llama-cpp'])];
    const manifestOf = (name: string) => join(clone, 'node_modules', name, 'package.json');
    for (const name of names) {
      mkdirSync(dirname(manifestOf(name)), { recursive: true });
      writeFileSync(manifestOf(name), JSON.stringify({ name: 'empty', version: '1.0.0', main: 'index.js' }));
      writeFileSync(join(dirname(manifestOf(name)), 'index.js'), '');
    }
    writeFileSync(join(clone, 'node_modules/.package-lock.json'), '{}');
    putNativePart(clone);
    const env = { ...process.env, npm_config_registry: registry.url, npm_config_cache: join(clone, 'cache') };
    await promisify(execFile)('npm', ['run', 'gpu'], { cwd: clone, env }).finally(registry.close);
    const installed = names.filter((name) => JSON.parse(readFileSync(manifestOf(name), 'utf8')).name !== 'empty');
    expect(installed.sort()).toEqual(kinds);
    for (const name of installed) expect(JSON.parse(readFileSync(manifestOf(name), 'utf8')).version).toBe(version);
    expect(existsSync(join(clone, 'node_modules/.gpu'))).toBe(false);
  });
});
