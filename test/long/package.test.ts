// What is published: the files of the package, the tag that may be published, and the program as npx runs it from the tarball.

import { execFileSync, spawnSync } from 'node:child_process';
import { cpSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { parse } from 'yaml';
import { ROOT, temporaryFolder } from '../support/cli.js';
import { holdText } from '../support/messages.js';
import { keptModel, scriptedModel } from '../support/tiny-model/model.js';

const { version, dependencies, optionalDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
/** Packages that a compiled file imports; Node's own modules have a colon. */
const IMPORTED = /^(?:import|export) .*?from '(@?\w[^':]*)';$|(?<=await )import\('(@?\w[^':]*)'\)/gm;

let dir: string;
let files: string[];

// What is compiled already (vitest's global set-up) is packed as it is.
beforeAll(async () => {
  dir = await temporaryFolder();
  const args = ['pack', '--ignore-scripts', '--json', '--pack-destination', dir];
  const packed = execFileSync('npm', args, { cwd: ROOT, encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  files = JSON.parse(packed)[0].files.map(({ path }: { readonly path: string }) => path);
});

describe('the package', () => {
  test('holds these folders and files, and no other', () => {
    const places = new Set(
      files.map((path) =>
        path
          .split('/')
          .slice(0, path.startsWith('fixtures') ? 2 : 1)
          .join('/'),
      ),
    );
    expect([...places].sort()).toEqual([
      'CHANGELOG.md',
      'LICENSE',
      'README.md',
      'dist',
      'docs',
      'examples',
      'fixtures/recorded',
      'fixtures/tiny-random.gguf',
      'package.json',
      'prompts',
      'rubrics',
      'scenarios',
      'schemas',
    ]);
    const ending = (folder: string) =>
      [...new Set(files.filter((path) => path.startsWith(`${folder}/`)).map((path) => path.split('.').at(-1)))].sort();
    expect({ dist: ending('dist'), docs: ending('docs') }).toEqual({ dist: ['css', 'js'], docs: ['md'] });
  });

  test('holds all that is bundled', () => {
    for (const folder of ['prompts', 'rubrics', 'scenarios', 'schemas', 'fixtures/recorded']) {
      const all = readdirSync(join(ROOT, folder), { recursive: true, withFileTypes: true });
      const names = all
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name).slice(ROOT.length + 1));
      expect(files).toEqual(expect.arrayContaining(names));
    }
  });

  test('needs nothing that is for its makers alone', () => {
    const imported = files
      .filter((path) => path.endsWith('.js'))
      .flatMap((path) => [...readFileSync(join(ROOT, path), 'utf8').matchAll(IMPORTED)])
      .map(([, first, later]) => String(first ?? later))
      .map((name) => name.split('/', name.startsWith('@') ? 2 : 1).join('/'));
    const { peerDependencies } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8'));
    const known = Object.keys({ ...dependencies, ...optionalDependencies, ...peerDependencies });
    expect([...new Set(imported)].filter((name) => !known.includes(name))).toEqual([]);
  });
});

describe('a release', () => {
  const check = (tag: string) =>
    spawnSync(process.execPath, [join(ROOT, 'scripts/release-check.mjs'), tag], { encoding: 'utf8' });

  test('is what the changelog tells, under the tag of its version', () => {
    expect(check(`v${version}`)).toMatchObject({ status: 0, stderr: '' });
    expect(check('v99.0.0')).toMatchObject({ status: 1, stderr: expect.stringContaining(`tag v${version}`) });
  });

  test('is tested first, and published with provenance by a job that alone may ask for it', () => {
    const { permissions, jobs } = parse(readFileSync(join(ROOT, '.github/workflows/release.yml'), 'utf8'));
    expect(permissions).toEqual({ contents: 'read' });
    expect(jobs.test.permissions).toBeUndefined();
    expect(jobs.publish).toMatchObject({ needs: 'test', permissions: { contents: 'read', 'id-token': 'write' } });
    const commands = jobs.publish.steps.map(({ run }: { readonly run?: string }) => run);
    expect(commands).toContain('npm publish --provenance --access public');
  });
});

test('npx runs the tarball in an empty folder, with its prompts and rubrics', async (context) => {
  const empty = await temporaryFolder();
  const tarball = join(dir, `agentworldbench-${version}.tgz`);
  // No network: by the lock file of this checkout, whose packages npm has in its cache unless that was emptied since.
  const { packages } = JSON.parse(readFileSync(join(ROOT, 'package-lock.json'), 'utf8'));
  const needed = Object.entries<Record<string, unknown>>(packages).filter(
    ([path, entry]) => path !== '' && !entry.dev && !entry.peer,
  );
  const needs = { dependencies, optionalDependencies };
  const own = { version, resolved: `file:${tarball}`, ...needs, bin: { awb: 'dist/bin.js' } };
  const root = { dependencies: { agentworldbench: `file:${tarball}` } };
  const lock = { '': root, 'node_modules/agentworldbench': own, ...Object.fromEntries(needed) };
  writeFileSync(join(empty, 'package.json'), JSON.stringify(root));
  writeFileSync(
    join(empty, 'package-lock.json'),
    JSON.stringify({ lockfileVersion: 3, requires: true, packages: lock }),
  );
  const flags = ['--offline', '--ignore-scripts', '--no-audit', '--no-fund', '--omit=peer', '--loglevel=error'];
  const installed = spawnSync('npm', ['ci', ...flags], { cwd: empty, encoding: 'utf8' });
  if (installed.stderr.includes('ENOTCACHED')) context.skip('npm has not all packages in its cache');
  expect([installed.status, installed.status && installed.stderr]).toEqual([0, 0]);
  // Its install script would compile, or download what was compiled.
  const compiled = 'node_modules/better-sqlite3/build';
  if (existsSync(join(ROOT, compiled))) cpSync(join(ROOT, compiled), join(empty, compiled), { recursive: true });
  // Variables of these tests are none of the program's, which would warn of them.
  const env = Object.fromEntries(Object.entries(process.env).filter(([name]) => !name.startsWith('AWB_')));
  const npx = (...args: string[]) =>
    spawnSync('npx', ['--no-install', '--', 'awb', ...args], { cwd: empty, encoding: 'utf8', env });
  expect(npx('--version').stdout.trim()).toBe(version);
  const recorded = join(empty, 'node_modules/agentworldbench/fixtures/recorded');
  expect(npx('infer', '--data-dir', recorded, '--baseline', 'persistence', '--limit', '1', '--quiet').status).toBe(0);
  const judge = ['judge', '--predictions', 'results/predictions.jsonl', '--judge-base-url', 'http://127.0.0.1:9/v1'];
  const bill = npx(...judge, '--judge-model', 'j', '--dry-run', '--json');
  expect(bill.status).toBe(0);
  expect(JSON.parse(bill.stdout)).toBeTypeOf('object');
  // A peer that is left to whoever serves models.
  const model = await keptModel(scriptedModel({ thinking: '', content: '' }), empty);
  await holdText('serve-without-runtime', npx('serve', '--model', model).stderr.replace(/^npm warn .*\n/gm, ''));
});
