// `awb data fetch` as a process: against a hub on loopback, killed, interrupted, twice at once, and without a hub.

import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { RELEASED } from '../../src/core/domains.js';
import { EXIT } from '../../src/core/errors.js';
import { awb, RECORDED, startAwb, temporaryFolder } from '../support/cli.js';
import { closeServers, entryOf, listenTo, openHub, sendRange, sha256, TOKEN } from '../support/hub.js';

const NAMES = ['android', 'mcp', 'os', 'search', 'swe', 'terminal', 'web'].map((domain) => `${domain}_test.jsonl`);

async function openBenchmark(setup: Parameters<typeof openHub>[0] = {}) {
  const files = Object.fromEntries(
    await Promise.all(NAMES.map(async (name) => [name, await readFile(join(RECORDED, name))] as const)),
  );
  return openHub({ files, entries: Object.entries(files).map(entryOf), ...setup });
}

/** A hub that sends the first bytes of a file and then stalls. */
function openStalling(bytesSent: number) {
  return openBenchmark({
    send: (bytes, _, response) => {
      response.writeHead(200, { 'content-length': bytes.length });
      response.write(bytes.subarray(0, bytesSent));
    },
  });
}

const rowsIn = async (folder: string) => (await readdir(folder)).filter((name) => name.endsWith('_test.jsonl')).sort();

/** Resolves once a download has written to the folder. */
async function untilPart(folder: string): Promise<string> {
  for (;;) {
    const part = (await readdir(folder).catch((): string[] => [])).find((name) => name.endsWith('.part'));
    if (part !== undefined && (await readFile(join(folder, part))).length > 0) return part;
    await new Promise((done) => setTimeout(done, 20));
  }
}

describe('awb data fetch', () => {
  test('stores the files of the released commit in data, says so, and says what to type next', async () => {
    const [hub, cwd] = [await openBenchmark(), await temporaryFolder()];
    const { code, stdout, stderr } = await awb(['data', 'fetch'], { env: { HF_ENDPOINT: hub.url }, cwd });
    expect({ code, stderr }).toEqual({
      code: EXIT.done,
      stderr: expect.stringMatching(/^downloading 7 files of Qwen\/AgentWorldBench: \d+ kB to data\n/),
    });
    expect(stdout).toMatch(/mcp_test\.jsonl +\d+ kB +fetched/);
    expect(stdout).toContain(`data: Qwen/AgentWorldBench at commit ${RELEASED.commit}`);
    expect(stdout).toMatch(/^next: .* data check$/m);
    expect(stdout.split('\n').every((line) => line.length <= 80)).toBe(true);
    expect(hub.seen[0]?.url).toBe(`/api/datasets/Qwen/AgentWorldBench/tree/${RELEASED.commit}?recursive=true`);
    for (const name of NAMES) {
      expect(sha256(await readFile(join(cwd, 'data', name)))).toBe(sha256(await readFile(join(RECORDED, name))));
    }
  });

  test('when repeated, says that nothing was fetched, without asking the hub', async () => {
    const [hub, cwd] = [await openBenchmark(), await temporaryFolder()];
    const env = { HF_ENDPOINT: hub.url };
    await awb(['data', 'fetch'], { env, cwd });
    closeServers();
    const { code, stdout, stderr } = await awb(['data', 'fetch'], { env, cwd });
    expect({ code, stderr }).toEqual({ code: EXIT.done, stderr: '' });
    expect(stdout).toMatch(/every file is there and checked; nothing was fetched/);
  });

  test('--json shows files, hashes and commit, and --quiet leaves stderr empty', async () => {
    const [hub, cwd] = [await openBenchmark(), await temporaryFolder()];
    const args = ['data', 'fetch', '--revision', 'main', '--output-dir', 'rows', '--json', '--quiet'];
    const { stdout, stderr } = await awb(args, { env: { HF_ENDPOINT: hub.url }, cwd });
    expect(stderr).toBe('');
    const document = JSON.parse(stdout);
    expect(document).toMatchObject({
      schema: 'awb.data-fetch/1',
      folder: join(cwd, 'rows'),
      revision: 'main',
      aside: null,
    });
    expect(document.files.map((file: { name: string }) => file.name)).toEqual(NAMES);
    const mcp = await readFile(join(RECORDED, 'mcp_test.jsonl'));
    expect(document.files[1]).toEqual({
      name: 'mcp_test.jsonl',
      bytes: mcp.length,
      sha256: sha256(mcp),
      state: 'fetched',
    });
    expect(document.fetched_bytes).toBe(
      document.files.reduce((sum: number, { bytes }: { bytes: number }) => sum + bytes, 0),
    );
  });

  test('if killed, is continued by the same command', async () => {
    const [stalling, cwd] = [await openStalling(20_000), await temporaryFolder()];
    const { child } = startAwb(['data', 'fetch'], { HF_ENDPOINT: stalling.url }, cwd);
    const part = await untilPart(join(cwd, 'data'));
    child.kill('SIGKILL');
    await once(child, 'exit');
    const { length } = await readFile(join(cwd, 'data', part));
    const hub = await openBenchmark();
    expect((await awb(['data', 'fetch'], { env: { HF_ENDPOINT: hub.url }, cwd })).code).toBe(EXIT.done);
    expect(hub.downloads()[0]?.headers.range).toBe(`bytes=${length}-`);
    expect(await rowsIn(join(cwd, 'data'))).toEqual(NAMES);
  });

  test('ends on Ctrl-C at once with 130 and says that the same command continues', async () => {
    const [stalling, cwd] = [await openStalling(20_000), await temporaryFolder()];
    const { child, ended } = startAwb(['data', 'fetch'], { HF_ENDPOINT: stalling.url }, cwd);
    await untilPart(join(cwd, 'data'));
    child.kill('SIGINT');
    const { code, stdout, stderr } = await ended;
    expect([code, stdout]).toEqual([EXIT.interrupted, '']);
    expect(stderr).toMatch(/run the same command again/);
  });

  test('refuses to work while another one works in the same folder', async () => {
    const [stalling, cwd] = [await openStalling(20_000), await temporaryFolder()];
    const { child, ended } = startAwb(['data', 'fetch'], { HF_ENDPOINT: stalling.url }, cwd);
    await untilPart(join(cwd, 'data'));
    const second = await startAwb(['data', 'fetch'], { HF_ENDPOINT: stalling.url }, cwd).ended;
    expect([second.code, second.stderr]).toEqual([
      EXIT.cannotCreate,
      expect.stringMatching(/another awb is downloading/),
    ]);
    child.kill('SIGKILL');
    await ended;
  });

  test('names the variable for a mirror if the hub is unreachable', async () => {
    const gone = await listenTo(() => {});
    closeServers();
    const cwd = await temporaryFolder();
    const { code, stderr } = await awb(['data', 'fetch'], { env: { HF_ENDPOINT: gone }, cwd });
    expect([code, stderr]).toEqual([EXIT.unavailable, expect.stringMatching(/cannot be reached.*HF_ENDPOINT/)]);
  });

  test('sends the token only to the hub, and shows it nowhere', async () => {
    const atCdn: (string | undefined)[] = [];
    const mcp = await readFile(join(RECORDED, 'mcp_test.jsonl'));
    const cdn = await listenTo((request, response) => {
      atCdn.push(request.headers.authorization);
      sendRange(mcp, request, response);
    });
    const files = { 'mcp_test.jsonl': mcp };
    const hub = await openHub({
      files,
      send: (_, __, response) => void response.writeHead(302, { location: cdn }).end(),
    });
    const cwd = await temporaryFolder();
    const { code, stdout, stderr } = await awb(['data', 'fetch'], {
      env: { HF_ENDPOINT: hub.url, HF_TOKEN: TOKEN },
      cwd,
    });
    expect(code).toBe(EXIT.done);
    expect(hub.seen.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${TOKEN}`, `Bearer ${TOKEN}`]);
    expect(atCdn).toEqual([undefined]);
    expect(stdout + stderr + (await readFile(join(cwd, 'data/awb-source.json'), 'utf8'))).not.toContain(TOKEN);
  });

  test('shows hostile names from a hub without anything that controls a terminal', async () => {
    const name = 'a\u001b[31m\u202e_test.jsonl';
    const hub = await openHub({ files: { [name]: Buffer.from('{}\n') } });
    const cwd = await temporaryFolder();
    const { stdout, stderr } = await awb(['data', 'fetch'], { env: { HF_ENDPOINT: hub.url }, cwd });
    expect(stdout).toContain('a_test.jsonl');
    expect(stdout + stderr).not.toMatch(/[\u001b\u202e]/);
  });

  test.each(['a b', '../x', ''])('refuses the revision %j before any request', async (revision) => {
    const hub = await openBenchmark();
    const cwd = await temporaryFolder();
    const { code } = await awb(['data', 'fetch', '--revision', revision], { env: { HF_ENDPOINT: hub.url }, cwd });
    expect([code, hub.seen.length]).toEqual([EXIT.usage, 0]);
  });

  test.runIf(existsSync('/proc/self'))('is refused if its folder cannot be created', async () => {
    const hub = await openBenchmark();
    const args = ['data', 'fetch', '--output-dir', '/proc/none/x'];
    const { code, stderr } = await awb(args, { env: { HF_ENDPOINT: hub.url } });
    expect([code, stderr]).toEqual([EXIT.cannotWrite, expect.stringContaining('cannot write /proc/none/x (ENOENT)')]);
  });

  test('names files that are in the way, and how to have them replaced', async () => {
    const [hub, cwd] = [await openBenchmark(), await temporaryFolder()];
    await writeFile(join(cwd, 'mcp_test.jsonl'), 'mine\n');
    const args = ['data', 'fetch', '--output-dir', '.'];
    const { code, stderr } = await awb(args, { env: { HF_ENDPOINT: hub.url }, cwd });
    expect([code, stderr]).toEqual([EXIT.cannotCreate, expect.stringMatching(/\n {2}mcp_test\.jsonl\n.*--replace/)]);
    const replaced = await awb([...args, '--replace'], { env: { HF_ENDPOINT: hub.url }, cwd });
    const aside = /kept in (\S+)/.exec(replaced.stdout)?.[1] as string;
    expect(await readFile(join(cwd, aside, 'mcp_test.jsonl'), 'utf8')).toBe('mine\n');
  });
});
