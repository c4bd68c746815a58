// A dataset fetched from a hub on loopback: once, again, cut off, changed since, and into a folder that is not empty.

import { mkdir, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { readSourceRecord, SOURCE_RECORD } from '../../../src/benchmark/hub/client.js';
import { type DatasetOptions, fetchDataset } from '../../../src/benchmark/hub/dataset.js';
import { EXIT } from '../../../src/core/errors.js';
import { temporaryFolder } from '../../support/cli.js';
import { COMMIT, closeServers, entryOf, failure, openHub, sha256, smallEntryOf } from '../../support/hub.js';

const MCP = Buffer.from('{"task":"mcp"}\n'.repeat(9_000));
const SWE = Buffer.from('{"task":"swe"}\n'.repeat(7_000));
const FILES = {
  'README.md': Buffer.from('# Card\n'),
  'mcp_test.jsonl': MCP,
  'swe_test.jsonl': SWE,
  '.gitattributes': Buffer.from('*'),
};
const OTHER = 'd'.repeat(40);

type Hub = Awaited<ReturnType<typeof openHub>>;

function hubOf(files: Readonly<Record<string, Buffer>> = FILES, setup: Parameters<typeof openHub>[0] = {}) {
  const entries = Object.entries(files).map((file) => (file[1].length < 1_000 ? smallEntryOf(file) : entryOf(file)));
  return openHub({ files, entries, ...setup });
}

function fetchFrom(hub: Hub, folder: string, more: Partial<DatasetOptions> = {}) {
  return fetchDataset({
    repository: 'user/repo',
    revision: 'main',
    folder,
    replace: false,
    env: { HF_ENDPOINT: hub.url },
    retryDelayMs: 1,
    now: () => new Date('2026-11-21T12:00:00Z'),
    ...more,
  });
}

const states = ({ files }: Awaited<ReturnType<typeof fetchDataset>>) =>
  Object.fromEntries(files.map(({ file, state }) => [file.name, state]));
const names = async (folder: string) => (await readdir(folder)).filter((name) => name !== '.lock').sort();
const WHOLE = [SOURCE_RECORD, 'mcp_test.jsonl', 'swe_test.jsonl'];

describe('a dataset', () => {
  test('is fetched of the commit that its branch is, and nothing else of the repository', async () => {
    const [hub, folder] = [await hubOf(), join(await temporaryFolder(), 'new/data')];
    const fetched = await fetchFrom(hub, folder);
    expect(states(fetched)).toEqual({ 'mcp_test.jsonl': 'fetched', 'swe_test.jsonl': 'fetched' });
    expect(await names(folder)).toEqual(WHOLE);
    expect(await readFile(join(folder, 'swe_test.jsonl'))).toEqual(SWE);
    expect(hub.seen.map(({ url }) => url)).toEqual([
      '/api/datasets/user/repo/revision/main',
      `/api/datasets/user/repo/tree/${COMMIT}?recursive=true`,
      ...['mcp_test.jsonl', 'swe_test.jsonl'].map((name) => `/datasets/user/repo/resolve/${COMMIT}/${name}`),
    ]);
  });

  test('leaves a record of hub, commit, sizes and hashes, those too that the hub does not state', async () => {
    const [hub, folder] = [await hubOf(), await temporaryFolder()];
    await fetchFrom(hub, folder);
    const record = JSON.parse(await readFile(join(folder, SOURCE_RECORD), 'utf8'));
    expect(record).toMatchObject({ hub: hub.url, repository: 'user/repo', revision: 'main', commit: COMMIT });
    expect(record.files).toMatchObject([
      { name: 'mcp_test.jsonl', bytes: MCP.length, sha256: sha256(MCP) },
      { name: 'swe_test.jsonl', bytes: SWE.length, sha256: sha256(SWE) },
    ]);
  });

  test('that is there is checked and not downloaded again, and of a named commit the hub is not even asked', async () => {
    const [hub, folder] = [await hubOf(), await temporaryFolder()];
    await fetchFrom(hub, folder);
    const downloads = hub.downloads().length;
    const again = await fetchFrom(hub, folder);
    expect([hub.downloads().length, again.fetchedBytes]).toEqual([downloads, 0]);
    closeServers();
    expect(states(await fetchFrom(hub, folder, { revision: COMMIT }))).toEqual({
      'mcp_test.jsonl': 'unchanged',
      'swe_test.jsonl': 'unchanged',
    });
  });

  test('whose rows lie in folders is put side by side, and refused where two of them would have one name', async () => {
    const folder = await temporaryFolder();
    const hub = await hubOf({ 'en/mcp_test.jsonl': MCP, 'swe/x/swe_test.jsonl': SWE });
    await fetchFrom(hub, folder);
    expect(await readFile(join(folder, 'swe_test.jsonl'))).toEqual(SWE);
    expect(await names(folder)).toEqual([SOURCE_RECORD, 'mcp_test.jsonl', 'swe_test.jsonl']);
    const twice = await hubOf({ 'en/mcp_test.jsonl': MCP, 'de/MCP_test.jsonl': SWE });
    const error = await failure(fetchFrom(twice, await temporaryFolder()));
    expect([error.exitCode, error.message]).toEqual([
      EXIT.badData,
      expect.stringMatching(/de\/MCP_test.*en\/mcp_test/),
    ]);
  });

  test('without rows, and a path that would lead out of the folder, bring nothing', async () => {
    const folder = await temporaryFolder();
    const hub = await hubOf({ 'README.md': Buffer.from('# Card'), '../out_test.jsonl': MCP });
    const error = await failure(fetchFrom(hub, folder));
    expect([error.exitCode, error.message]).toEqual([
      EXIT.inputMissing,
      expect.stringMatching(/no \*_test\.jsonl.*--revision/),
    ]);
    expect(hub.downloads()).toEqual([]);
  });

  test('of a revision that is gone names it', async () => {
    const hub = await hubOf(FILES, { commits: {} });
    const error = await failure(fetchFrom(hub, await temporaryFolder(), { revision: 'v9' }));
    expect(error.exitCode).toBe(EXIT.inputMissing);
    expect(error.message).toMatch(/no such .*revision.*user\/repo, v9/);
  });

  test('whose small file is not what git calls it is refused', async () => {
    const folder = await temporaryFolder();
    const hub = await openHub({
      files: { 'mcp_test.jsonl': Buffer.from('other') },
      entries: [smallEntryOf(['mcp_test.jsonl', Buffer.from('right')])],
    });
    const error = await failure(fetchFrom(hub, folder));
    expect([error.exitCode, error.message]).toEqual([
      EXIT.badData,
      expect.stringMatching(/in git.*not what the hub states/),
    ]);
    expect(await names(folder)).toEqual([SOURCE_RECORD]);
  });
});

describe('a fetch that was cut off', () => {
  test('continues where it stopped, in the middle of a file, and keeps what had arrived', async () => {
    const [hub, folder] = [await hubOf(), await temporaryFolder()];
    const stop = new AbortController();
    const onProgress: DatasetOptions['onProgress'] = ({ file, bytes }) => {
      if (file === 'swe_test.jsonl' && bytes > MCP.length) stop.abort('SIGINT');
    };
    const error = await failure(fetchFrom(hub, folder, { signal: stop.signal, onProgress }));
    expect(error.exitCode).toBe(EXIT.interrupted);
    const part = `swe_test.jsonl.${sha256(SWE).slice(0, 12)}.part`;
    expect(await names(folder)).toEqual([SOURCE_RECORD, 'mcp_test.jsonl', part]);
    const { size } = await stat(join(folder, part));
    const fetched = await fetchFrom(hub, folder);
    expect(states(fetched)).toMatchObject({ 'mcp_test.jsonl': 'unchanged', 'swe_test.jsonl': 'fetched' });
    expect(hub.downloads().at(-1)?.headers.range).toBe(`bytes=${size}-`);
    expect(await readFile(join(folder, 'swe_test.jsonl'))).toEqual(SWE);
    expect(await names(folder)).toEqual(WHOLE);
  });
});

describe('a file that changed since it was fetched', () => {
  test.each<[string, Buffer]>([
    ['by an edit of the same length', Buffer.from(MCP).fill('x', 5, 6)],
    ['by a full disk', MCP.subarray(0, 1_000)],
  ])('%s is found, and fetched again where it may give way', async (_, content) => {
    const [hub, folder] = [await hubOf(), await temporaryFolder()];
    await fetchFrom(hub, folder);
    const { mtime } = await stat(join(folder, 'mcp_test.jsonl'));
    await writeFile(join(folder, 'mcp_test.jsonl'), content);
    await utimes(join(folder, 'mcp_test.jsonl'), mtime, mtime);
    expect((await failure(fetchFrom(hub, folder))).message).toMatch(/mcp_test[\s\S]*--replace/);
    const fetched = await fetchFrom(hub, folder, { replace: true });
    expect(states(fetched)).toMatchObject({ 'mcp_test.jsonl': 'replaced', 'swe_test.jsonl': 'unchanged' });
    expect(await readFile(join(folder, 'mcp_test.jsonl'))).toEqual(MCP);
    expect(await readFile(join(folder, fetched.aside as string, 'mcp_test.jsonl'))).toEqual(content);
  });

  test('so that the record cannot be read makes no difference to files that are right', async () => {
    const [hub, folder] = [await hubOf(), await temporaryFolder()];
    await fetchFrom(hub, folder);
    await writeFile(join(folder, SOURCE_RECORD), '{"schema":');
    expect(await readSourceRecord(folder)).toBeUndefined();
    expect((await fetchFrom(hub, folder)).fetchedBytes).toBe(0);
    expect(await readSourceRecord(folder)).toMatchObject({ commit: COMMIT });
  });
});

describe('a folder that is not empty', () => {
  test('with other files of these names is left as it is, unless they are to give way', async () => {
    const [hub, folder] = [await hubOf(), await temporaryFolder()];
    await writeFile(join(folder, 'mcp_test.jsonl'), 'mine\n');
    const error = await failure(fetchFrom(hub, folder));
    expect([error.exitCode, error.message]).toEqual([
      EXIT.cannotCreate,
      expect.stringMatching(/mcp_test[\s\S]*--replace/),
    ]);
    expect(hub.downloads()).toEqual([]);
    expect(await names(folder)).toEqual(['mcp_test.jsonl']);
    const fetched = await fetchFrom(hub, folder, { replace: true });
    expect(states(fetched)).toMatchObject({ 'mcp_test.jsonl': 'replaced' });
    expect(await readFile(join(folder, 'before-2026-11-21T12-00-00-000Z/mcp_test.jsonl'), 'utf8')).toBe('mine\n');
  });

  test('with the same files downloads only what is missing', async () => {
    const [hub, folder] = [await hubOf(), await temporaryFolder()];
    await writeFile(join(folder, 'mcp_test.jsonl'), MCP);
    expect(states(await fetchFrom(hub, folder))).toMatchObject({
      'mcp_test.jsonl': 'unchanged',
      'swe_test.jsonl': 'fetched',
    });
  });

  test('names rows that are not of the dataset', async () => {
    const [hub, folder] = [await hubOf(), await temporaryFolder()];
    await writeFile(join(folder, 'extra_test.jsonl'), '{}\n');
    expect((await fetchFrom(hub, folder)).strangers).toEqual(['extra_test.jsonl']);
  });

  test('with a folder in the place of a file is refused', async () => {
    const [hub, folder] = [await hubOf(), await temporaryFolder()];
    await mkdir(join(folder, 'mcp_test.jsonl'));
    expect((await failure(fetchFrom(hub, folder))).message).toMatch(/mcp_test\.jsonl is not a readable file/);
  });
});

describe('another commit', () => {
  const NEW = Buffer.from('{"task":"mcp","v":2}\n'.repeat(8_000));
  const FILES_THERE = { 'mcp_test.jsonl': NEW, 'os_test.jsonl': SWE };

  test('takes the place of what was fetched where that may give way, also of what it does not have any more', async () => {
    const folder = await temporaryFolder();
    await fetchFrom(await hubOf(), folder);
    const hub = await hubOf(FILES_THERE, { commits: { main: OTHER } });
    expect((await failure(fetchFrom(hub, folder))).exitCode).toBe(EXIT.cannotCreate);
    const fetched = await fetchFrom(hub, folder, { replace: true });
    expect(states(fetched)).toEqual({ 'mcp_test.jsonl': 'replaced', 'os_test.jsonl': 'fetched' });
    expect(await readFile(join(folder, 'mcp_test.jsonl'))).toEqual(NEW);
    expect(await names(folder)).toEqual([SOURCE_RECORD, fetched.aside, 'mcp_test.jsonl', 'os_test.jsonl'].sort());
    expect(await names(join(folder, fetched.aside as string))).toEqual(['mcp_test.jsonl', 'swe_test.jsonl']);
    expect(await readSourceRecord(folder)).toMatchObject({ commit: OTHER });
  });

  test('that was cut off half way is continued, and not taken for whole meanwhile', async () => {
    const folder = await temporaryFolder();
    await fetchFrom(await hubOf(), folder);
    const hub = await hubOf(FILES_THERE, { commits: { main: OTHER } });
    const stop = new AbortController();
    const beforeDownload = () => stop.abort('SIGINT');
    await failure(fetchFrom(hub, folder, { replace: true, signal: stop.signal, beforeDownload }));
    expect(await readSourceRecord(folder)).toMatchObject({ commit: OTHER, complete: false });
    expect(states(await fetchFrom(hub, folder))).toMatchObject({ 'mcp_test.jsonl': 'fetched' });
  });
});
