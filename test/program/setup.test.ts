// What the first command in a fresh clone does where nothing can be downloaded: scripts/setup.mjs with an npm of the test's own.

import { spawnSync } from 'node:child_process';
import { chmodSync, copyFileSync, existsSync, linkSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { ROOT, temporaryFolder } from '../support/cli.js';

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
printf '%s|%s' "$*" "$npm_config_nodedir" > "$TEST_CALLED"
exit "\${TEST_NPM_CODE:-0}"
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
  const [args, nodedir] = existsSync(called) ? readFileSync(called, 'utf8').split('|') : [];
  return { status, stderr, args, nodedir, compiled: existsSync(join(clone, 'compiled')) };
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
    const { status, args, nodedir, compiled } = setUp();
    expect({ status, args, compiled }).toEqual({ status: 0, args: 'ci --no-audit --no-fund', compiled: true });
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

  test('what is installed already is not installed again', () => {
    writeFileSync(join(clone, 'node_modules/.package-lock.json'), '{}');
    expect(setUp()).toMatchObject({ status: 0, args: undefined, compiled: true });
  });
});
