// Which packages for GPUs an installation brings, checked only with lock files: what npm makes of package.json and today's registry.

import { execFile } from 'node:child_process';
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { beforeAll, beforeEach, expect, test } from 'vitest';
import { ROOT, temporaryFolder } from '../support/cli.js';

const { devDependencies, overrides } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
const VERSION: string = devDependencies['node-llama-cpp'];
const FOR_GPUS = ['linux-x64-cuda', 'linux-x64-cuda-ext', 'linux-x64-vulkan']
  .flatMap((name) => [name, name.replace('linux', 'win')])
  .map((name) => `@node-llama-cpp/${name}`)
  .sort();
const LOCK_ONLY = ['--package-lock-only', '--ignore-scripts', '--no-audit', '--no-fund'];

let unreachable = '';
let folder: string;

const npm = (args: readonly string[], cwd: string) => promisify(execFile)('npm', args, { cwd });

beforeAll(async () => {
  const asked = npm(['view', `node-llama-cpp@${VERSION}`, 'version', '--prefer-online'], ROOT);
  unreachable = await asked.then(
    () => '',
    ({ stderr }) => `the npm registry does not answer: ${String(stderr).slice(0, 300)}`,
  );
});

beforeEach(async (context) => {
  if (unreachable !== '') context.skip(unreachable);
  folder = await temporaryFolder();
});

/** A checkout, as far as installations read it. */
function checkout(): void {
  mkdirSync(join(folder, 'scripts'));
  for (const file of ['package.json', 'package-lock.json', 'scripts/setup.mjs']) {
    copyFileSync(join(ROOT, file), join(folder, file));
  }
}

/** The versions of the packages for GPUs that a lock file would really install; an alias for another package has none. */
function lockedFor(lock: string): Record<string, string> {
  const { packages } = JSON.parse(readFileSync(lock, 'utf8'));
  return Object.fromEntries(
    FOR_GPUS.flatMap((name) => {
      const places = Object.keys(packages).filter((path) => path.endsWith(`node_modules/${name}`));
      return places.map((path) => [name, packages[path].name ?? packages[path].version]);
    }),
  );
}

const all = (names: readonly string[], version: string) => Object.fromEntries(names.map((name) => [name, version]));

test('a checkout leaves them out, however it is installed', async () => {
  checkout();
  expect(Object.keys(overrides['node-llama-cpp'])).toEqual(expect.arrayContaining(FOR_GPUS));
  await npm(['install', ...LOCK_ONLY], folder);
  expect(lockedFor(join(folder, 'package-lock.json'))).toEqual(all(FOR_GPUS, 'empty-npm-package'));
});

test.skipIf(!['linux', 'win32'].includes(process.platform) || process.arch !== 'x64')(
  'npm run gpu adds those of this platform to a checkout',
  async () => {
    checkout();
    // What is installed already is not installed again, and nothing is compiled.
    const native = join(folder, 'node_modules/better-sqlite3/build/Release/better_sqlite3.node');
    mkdirSync(dirname(native), { recursive: true });
    for (const file of [native, join(folder, 'node_modules/.package-lock.json')]) writeFileSync(file, '{}');
    writeFileSync(join(folder, 'scripts/compile.mjs'), '');
    await npm(['run', 'gpu', '--', '--package-lock-only'], folder);
    const platform = process.platform === 'win32' ? 'win' : 'linux';
    const names = FOR_GPUS.filter((name) => name.includes(`/${platform}-`));
    expect(lockedFor(join(folder, 'node_modules/.gpu/package-lock.json'))).toEqual(all(names, VERSION));
  },
);

test('npm install node-llama-cpp installs them next to the published package', async () => {
  const packed = await npm(['pack', '--ignore-scripts', '--json', '--pack-destination', folder], ROOT);
  const [{ filename }] = JSON.parse(packed.stdout);
  await npm(['init', '--yes'], folder);
  await npm(['install', ...LOCK_ONLY, `./${filename}`], folder);
  expect(lockedFor(join(folder, 'package-lock.json'))).toEqual({});
  await npm(['install', ...LOCK_ONLY, `node-llama-cpp@${VERSION}`], folder);
  expect(lockedFor(join(folder, 'package-lock.json'))).toEqual(all(FOR_GPUS, VERSION));
});
