// Downloads against a hub on loopback that can cut off, redirect, refuse and lie.

import { spawn } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { mkdir, mkdtemp, readdir, readFile, stat, utimes, writeFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT, UserError } from '../../src/errors.js';
import {
  AGENTWORLD,
  type DownloadProgress,
  listModels,
  type ModelOptions,
  resolveModel,
} from '../../src/hub/download.js';
import { lockFile } from '../../src/store/lock.js';
import { ROOT } from '../support/cli.js';

const MODEL = randomBytes(300_000);
const SHA256 = sha256(MODEL);
const TOKEN = 'hf_sEcReT';

function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const closers: (() => void)[] = [];
afterEach(() => {
  for (const close of closers.splice(0)) close();
});

async function listenTo(handler: Handler): Promise<string> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

interface HubSetup {
  readonly files?: Readonly<Record<string, Buffer>>;
  /** Entries of the listing instead of those of `files`. */
  readonly entries?: readonly unknown[];
  /** Sends a file; the default honours ranges. */
  readonly send?: (bytes: Buffer, request: IncomingMessage, response: ServerResponse) => void;
  /** Comes before everything; true where it answered. */
  readonly first?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

function sendRange(bytes: Buffer, request: IncomingMessage, response: ServerResponse): void {
  const from = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1];
  if (from === undefined) {
    response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
    return;
  }
  const range = `bytes ${from}-${bytes.length - 1}/${bytes.length}`;
  response.writeHead(206, { 'content-range': range, 'content-length': bytes.length - Number(from) });
  response.end(bytes.subarray(Number(from)));
}

function entryOf([path, bytes]: [string, Buffer]): unknown {
  return {
    type: 'file',
    path,
    size: bytes.length,
    oid: 'f00',
    lfs: { oid: sha256(bytes), size: bytes.length, pointerSize: 135 },
  };
}

async function openHub(setup: HubSetup = {}) {
  const { files = { 'm-Q4_K_M.gguf': MODEL }, send = sendRange } = setup;
  const seen: IncomingMessage[] = [];
  const url = await listenTo((request, response) => {
    seen.push(request);
    if (setup.first?.(request, response)) return;
    const path = request.url ?? '';
    if (path.includes('/tree/')) {
      response.end(JSON.stringify(setup.entries ?? Object.entries(files).map(entryOf)));
      return;
    }
    // The revision is one part of the path, whatever slashes it holds.
    const bytes = files[decodeURIComponent(path.replace(/^\/[^/]+\/[^/]+\/resolve\/[^/]+\//, ''))];
    if (bytes === undefined) response.writeHead(404).end();
    else send(bytes, request, response);
  });
  const directory = await mkdtemp(join(tmpdir(), 'awb-models-'));
  const options = (more: Partial<ModelOptions> = {}): ModelOptions => ({
    directory,
    env: { HF_ENDPOINT: url },
    lock: lockFile,
    retryDelayMs: 1,
    ...more,
  });
  const downloads = () => seen.filter((request) => request.url?.includes('/resolve/'));
  return { url, seen, downloads, directory, options };
}

async function filesIn(directory: string): Promise<string[]> {
  return (await readdir(directory, { recursive: true }))
    .filter((path) => path.includes('.') && !path.endsWith('/.lock'))
    .sort();
}

/** The error that a promise rejects with. */
async function failure(promise: Promise<unknown>): Promise<UserError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(UserError);
  return error as UserError;
}

describe('a model on a hub', () => {
  test('is downloaded, checked, and found again without the hub', async () => {
    const hub = await openHub();
    const first = await resolveModel('hf:user/repo:q4_k_m', hub.options());
    expect(first).toEqual({
      path: join(hub.directory, 'user--repo', 'm-Q4_K_M.gguf'),
      sha256: SHA256,
      source: 'hf:user/repo/m-Q4_K_M.gguf',
    });
    expect(sha256(await readFile(first.path))).toBe(SHA256);
    expect(await filesIn(hub.directory)).toEqual(['user--repo/m-Q4_K_M.gguf', 'user--repo/m-Q4_K_M.gguf.sha256']);
    const asked = hub.seen.length;
    expect(await resolveModel('hf:user/repo:Q4_K_M', hub.options())).toEqual(first);
    expect(await resolveModel('hf:user/repo/m-Q4_K_M.gguf', hub.options())).toEqual(first);
    expect(hub.seen.length).toBe(asked);
  });

  test('its noted hash is not believed once the file was changed', async () => {
    const hub = await openHub();
    const { path } = await resolveModel('hf:user/repo:Q4_K_M', hub.options());
    const later = new Date(Date.now() + 5_000);
    await utimes(path, later, later);
    expect(await resolveModel('hf:user/repo:Q4_K_M', hub.options())).not.toHaveProperty('sha256');
  });

  test('nor once another was put in its place with an older time', async () => {
    const hub = await openHub();
    const { path } = await resolveModel('hf:user/repo:Q4_K_M', hub.options());
    const [before, long] = [new Date(Date.now() - 60_000), new Date(Date.now() - 600_000)];
    await utimes(`${path}.sha256`, before, before);
    await writeFile(path, 'another');
    await utimes(path, long, long);
    expect(await resolveModel('hf:user/repo:Q4_K_M', hub.options())).not.toHaveProperty('sha256');
  });

  test('a revision may be a pull request, and has a folder of its own', async () => {
    const hub = await openHub();
    const { path, source } = await resolveModel('hf:user/repo@refs/pr/1:Q4_K_M', hub.options());
    expect(path).toBe(join(hub.directory, 'user--repo@refs--pr--1', 'm-Q4_K_M.gguf'));
    expect(source).toBe('hf:user/repo@refs/pr/1/m-Q4_K_M.gguf');
    expect(hub.seen.every(({ url }) => url?.includes('/refs%2Fpr%2F1'))).toBe(true);
    expect((await resolveModel('hf:user/repo@refs/pr/1/m-Q4_K_M.gguf', hub.options())).path).toBe(path);
    expect((await failure(resolveModel('hf:user/repo@refs/../x:Q8_0', hub.options()))).exitCode).toBe(EXIT.usage);
  });

  test('every part of a split one is downloaded, and its first part is the path', async () => {
    const parts = { 'Q8_0/m-Q8_0-00001-of-00002.gguf': MODEL, 'Q8_0/m-Q8_0-00002-of-00002.gguf': MODEL.subarray(9) };
    const hub = await openHub({ files: parts });
    const progress: DownloadProgress[] = [];
    const found = await resolveModel('hf:user/repo:Q8_0', hub.options({ onProgress: (step) => progress.push(step) }));
    expect(found.path).toBe(join(hub.directory, 'user--repo/Q8_0/m-Q8_0-00001-of-00002.gguf'));
    expect((await stat(found.path.replace('00001-of', '00002-of'))).size).toBe(MODEL.length - 9);
    expect(progress.at(-1)).toMatchObject({
      step: 'downloading',
      bytes: 2 * MODEL.length - 9,
      totalBytes: 2 * MODEL.length - 9,
    });
    expect(progress.map(({ bytes }) => bytes)).toEqual(progress.map(({ bytes }) => bytes).sort((a, b) => a - b));
  });

  test('what it will be is told before the first byte, and can be refused', async () => {
    const hub = await openHub();
    const refused = resolveModel(
      'hf:user/repo',
      hub.options({
        beforeDownload: (model) => {
          expect(model).toEqual({ name: 'hf:user/repo/m-Q4_K_M.gguf', quantization: 'Q4_K_M', bytes: MODEL.length });
          throw new UserError('does not fit');
        },
      }),
    );
    expect((await failure(refused)).message).toBe('does not fit');
    expect(hub.downloads()).toEqual([]);
  });

  const several = {
    'm-Q4_K_M.gguf': MODEL,
    'm-UD-Q4_K_M.gguf': MODEL.subarray(0, 10),
    'm.Q8_0.gguf': MODEL.subarray(0, 20),
    'BF16/m-BF16-00001-of-00002.gguf': MODEL,
    'mmproj-F16.gguf': MODEL,
    'readme.md': MODEL,
  };
  test.each<[string, string, number, RegExp]>([
    [
      'no quantisation where there are several',
      'hf:user/repo',
      EXIT.usage,
      /several models.*UD-Q4_K_M \(0\.0 MB\), Q8_0 .*Q4_K_M \(0\.3 MB\)$/,
    ],
    [
      'one that is not there',
      'hf:user/repo:Q5_K_M',
      EXIT.inputMissing,
      /holds no Q5_K_M \(did you mean Q4_K_M\?\); name one as hf:user\/repo:QUANT: /,
    ],
    ['half a split model', 'hf:user/repo:BF16', EXIT.inputMissing, /holds no BF16/],
    ['a projector for pictures', 'hf:user/repo:F16', EXIT.inputMissing, /holds no F16/],
    ['a file that is not there', 'hf:user/repo/n.gguf', EXIT.inputMissing, /holds no n\.gguf/],
  ])('%s is refused with the choices', async (_, name, exitCode, message) => {
    const hub = await openHub({ files: several });
    const error = await failure(resolveModel(name, hub.options()));
    expect(error.message).toMatch(message);
    expect(error.exitCode).toBe(exitCode);
    expect(hub.downloads()).toEqual([]);
  });

  test('two files of one quantisation are told apart by name', async () => {
    const hub = await openHub({ files: { 'a-Q8_0.gguf': MODEL, 'b-Q8_0.gguf': MODEL } });
    expect((await failure(resolveModel('hf:user/repo:Q8_0', hub.options()))).message).toMatch(
      /hf:user\/repo\/FILE: a-Q8_0\.gguf/,
    );
    expect((await resolveModel('hf:user/repo/b-Q8_0.gguf', hub.options())).source).toBe('hf:user/repo/b-Q8_0.gguf');
  });

  test('a repository without one says so', async () => {
    const hub = await openHub({ files: { 'readme.md': MODEL } });
    expect((await failure(resolveModel('hf:user/repo', hub.options()))).message).toMatch(/no GGUF/);
  });

  test('a listing on several pages is read to its end', async () => {
    const hub = await openHub({
      first(request, response) {
        if (!request.url?.includes('/tree/') || request.url.includes('cursor')) return false;
        response.setHeader('link', `<${request.url}&cursor=2>; rel="next"`);
        response.end('[]');
        return true;
      },
    });
    expect((await resolveModel('hf:user/repo:Q4_K_M', hub.options())).sha256).toBe(SHA256);
  });

  test('a path that leads out of the folder is never written', async () => {
    const entries = ['../evil-Q8_0.gguf', '/abs-Q8_0.gguf', 'a/../../b-Q8_0.gguf', 'c:\\d-Q8_0.gguf'].map((path) =>
      entryOf([path, MODEL]),
    );
    const hub = await openHub({ entries });
    expect((await failure(resolveModel('hf:user/repo:Q8_0', hub.options()))).message).toMatch(/no GGUF/);
    await failure(resolveModel('hf:user/repo/../../x.gguf', hub.options()));
    expect(await readdir(hub.directory)).toEqual([]);
  });

  test('its list is sorted by size', async () => {
    const hub = await openHub({ files: several });
    expect((await listModels('hf:user/repo', hub.options())).map(({ quantization }) => quantization)).toEqual([
      'UD-Q4_K_M',
      'Q8_0',
      'Q4_K_M',
    ]);
  });
});

describe('a download that is cut off', () => {
  test('goes on where it stopped when the command is run again after Ctrl-C', async () => {
    const hub = await openHub();
    const stop = new AbortController();
    const onProgress = ({ bytes }: DownloadProgress) => bytes > 0 && stop.abort('SIGINT');
    const error = await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options({ signal: stop.signal, onProgress })));
    expect(error.exitCode).toBe(EXIT.interrupted);
    const [part] = await filesIn(hub.directory);
    expect(part).toMatch(/\.part$/);
    const { size } = await stat(join(hub.directory, part as string));
    expect(size).toBeGreaterThan(0);
    const steps: DownloadProgress[] = [];
    const found = await resolveModel('hf:user/repo:Q4_K_M', hub.options({ onProgress: (step) => steps.push(step) }));
    expect(found.sha256).toBe(SHA256);
    expect(hub.downloads().map(({ headers }) => headers.range)).toEqual([undefined, `bytes=${size}-`]);
    expect(steps[0]?.step).toBe('checking');
    expect(await filesIn(hub.directory)).toEqual(['user--repo/m-Q4_K_M.gguf', 'user--repo/m-Q4_K_M.gguf.sha256']);
  });

  test('SIGTERM has its own exit code', async () => {
    const hub = await openHub();
    const signal = AbortSignal.abort('SIGTERM');
    expect((await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options({ signal })))).exitCode).toBe(
      EXIT.terminated,
    );
  });

  test('goes on by itself as long as something comes', async () => {
    const hub = await openHub({
      send(bytes, request, response) {
        const from = Number(/\d+/.exec(request.headers.range ?? '0')?.[0]);
        const headers = {
          'content-length': bytes.length - from,
          'content-range': `bytes ${from}-${bytes.length - 1}/${bytes.length}`,
        };
        response.writeHead(from === 0 ? 200 : 206, headers);
        response.write(bytes.subarray(from, from + 30_000), () => response.destroy());
      },
    });
    const found = await resolveModel('hf:user/repo:Q4_K_M', hub.options());
    expect(sha256(await readFile(found.path))).toBe(SHA256);
    expect(hub.downloads().length).toBeGreaterThanOrEqual(10);
  });

  test('ends with the part kept when nothing comes any more', async () => {
    const hub = await openHub({ send: (_, __, response) => void response.destroy() });
    const error = await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options()));
    expect(error.exitCode).toBe(EXIT.unavailable);
    expect(error.message).toMatch(/run the same command again/);
    expect(hub.downloads()).toHaveLength(5);
  });

  test('starts over where the server knows no ranges', async () => {
    const hub = await openHub({ send: (bytes, _, response) => void response.end(bytes) });
    await mkdir(join(hub.directory, 'user--repo'));
    await writeFile(
      join(hub.directory, 'user--repo', `m-Q4_K_M.gguf.${SHA256.slice(0, 12)}.part`),
      MODEL.subarray(0, 1_000),
    );
    const found = await resolveModel('hf:user/repo:Q4_K_M', hub.options());
    expect(hub.downloads()[0]?.headers.range).toBe('bytes=1000-');
    expect(sha256(await readFile(found.path))).toBe(SHA256);
  });

  test('a damaged part is found out, removed and named', async () => {
    const hub = await openHub();
    await mkdir(join(hub.directory, 'user--repo'));
    await writeFile(join(hub.directory, 'user--repo', `m-Q4_K_M.gguf.${SHA256.slice(0, 12)}.part`), 'damaged');
    const error = await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options()));
    expect(error.exitCode).toBe(EXIT.badData);
    expect(await filesIn(hub.directory)).toEqual([]);
    expect((await resolveModel('hf:user/repo:Q4_K_M', hub.options())).sha256).toBe(SHA256);
  });

  test('a part that is longer than the file is begun anew', async () => {
    const hub = await openHub();
    await mkdir(join(hub.directory, 'user--repo'));
    const part = join(hub.directory, 'user--repo', `m-Q4_K_M.gguf.${SHA256.slice(0, 12)}.part`);
    await writeFile(part, Buffer.concat([MODEL, MODEL]));
    const found = await resolveModel('hf:user/repo:Q4_K_M', hub.options());
    expect(sha256(await readFile(found.path))).toBe(SHA256);
  });

  test('a part of a file that has changed since is not continued', async () => {
    const hub = await openHub();
    await mkdir(join(hub.directory, 'user--repo'));
    await writeFile(join(hub.directory, 'user--repo', 'm-Q4_K_M.gguf.0123456789ab.part'), 'of another file');
    await resolveModel('hf:user/repo:Q4_K_M', hub.options());
    expect(hub.downloads()[0]?.headers.range).toBeUndefined();
  });
});

describe('the content', () => {
  test('is checked against the hash that a redirect states where the list has none', async () => {
    const cdn = await listenTo((request, response) => sendRange(MODEL, request, response));
    const entries = [{ type: 'file', path: 'm-Q4_K_M.gguf', size: MODEL.length, oid: 'f00' }];
    const redirecting = (hash: string) =>
      openHub({
        entries,
        send: (_, __, response) =>
          void response.writeHead(302, { location: `${cdn}/x`, 'x-linked-etag': `"${hash}"` }).end(),
      });
    expect((await resolveModel('hf:user/repo:Q4_K_M', (await redirecting(SHA256)).options())).sha256).toBe(SHA256);
    const lied = await redirecting('0'.repeat(64));
    expect((await failure(resolveModel('hf:user/repo:Q4_K_M', lied.options()))).exitCode).toBe(EXIT.badData);
  });

  const UNHASHED = [{ type: 'file', path: 'm-Q4_K_M.gguf', size: MODEL.length, oid: 'f00' }];

  test('without any hash of the hub the model is taken, and none is claimed', async () => {
    const cdn = await listenTo((request, response) => {
      response.setHeader('x-linked-etag', `"${'0'.repeat(64)}"`);
      sendRange(MODEL, request, response);
    });
    const hub = await openHub({
      entries: UNHASHED,
      send: (_, __, response) => void response.writeHead(302, { location: `${cdn}/x` }).end(),
    });
    expect(await resolveModel('hf:user/repo:Q4_K_M', hub.options())).not.toHaveProperty('sha256');
  });

  test('is never longer than the hub says', async () => {
    const hub = await openHub({
      entries: UNHASHED,
      send: (bytes, _, response) => void response.end(Buffer.concat([bytes, bytes])),
    });
    const error = await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options()));
    expect(error.exitCode).toBe(EXIT.badData);
    expect(await filesIn(hub.directory)).toEqual([]);
  });
});

describe('the token', () => {
  test('goes to the hub, never where the hub redirects to', async () => {
    const atCdn: (string | undefined)[] = [];
    const cdn = await listenTo((request, response) => {
      atCdn.push(request.headers.authorization);
      sendRange(MODEL, request, response);
    });
    const hub = await openHub({
      send: (_, __, response) => void response.writeHead(307, { location: `${cdn}/x` }).end(),
    });
    await resolveModel('hf:user/repo:Q4_K_M', hub.options({ env: { HF_ENDPOINT: hub.url, HF_TOKEN: ` ${TOKEN}\n` } }));
    expect(hub.seen.map(({ headers }) => headers.authorization)).toEqual([`Bearer ${TOKEN}`, `Bearer ${TOKEN}`]);
    expect(atCdn).toEqual([undefined]);
  });

  test.each([401, 403, 404, 418, 500])('is in no message (status %i)', async (status) => {
    const hub = await openHub({
      first: (request, response) => {
        response.writeHead(status).end(`bad token ${request.headers.authorization}`);
        return true;
      },
    });
    const error = await failure(
      resolveModel('hf:user/repo:Q4_K_M', hub.options({ env: { HF_ENDPOINT: hub.url, HF_TOKEN: TOKEN } })),
    );
    expect(error.message).not.toContain(TOKEN);
  });

  test('one that no header can carry is refused without being shown', async () => {
    const hub = await openHub();
    const error = await failure(
      resolveModel('hf:u/r:Q4_K_M', hub.options({ env: { HF_ENDPOINT: hub.url, HF_TOKEN: `${TOKEN}\nx` } })),
    );
    expect(error.message).toMatch(/HF_TOKEN/);
    expect(error.message).not.toContain(TOKEN);
  });
});

describe('a hub that refuses', () => {
  test.each<[number, number, RegExp]>([
    [401, EXIT.authRefused, /HF_TOKEN/],
    [403, EXIT.authRefused, /conditions/],
    [404, EXIT.inputMissing, /no such repository/],
    [418, EXIT.unavailable, /418/],
    [503, EXIT.unavailable, /status 503/],
  ])('with %i ends with code %i', async (status, exitCode, message) => {
    const hub = await openHub({
      first: (_, response) => {
        response.writeHead(status).end('<html>');
        return true;
      },
    });
    const error = await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options()));
    expect([error.exitCode, error.message]).toEqual([exitCode, expect.stringMatching(message)]);
    expect(error.message).not.toContain('\n');
  });

  test('for a while is asked again', async () => {
    let left = 3;
    const hub = await openHub({
      first(_, response) {
        if (left-- <= 0) return false;
        response.writeHead(left % 2 === 0 ? 429 : 502).end();
        return true;
      },
    });
    expect((await resolveModel('hf:user/repo:Q4_K_M', hub.options())).sha256).toBe(SHA256);
  });

  test('and is not there at all is named once, with the way around it', async () => {
    const gone = await listenTo(() => {});
    for (const close of closers.splice(0)) close();
    const error = await failure(
      resolveModel('hf:user/repo:Q4_K_M', { directory: tmpdir(), lock: lockFile, env: { HF_ENDPOINT: gone } }),
    );
    expect(error.exitCode).toBe(EXIT.unavailable);
    expect(error.message).toMatch(/ECONNREFUSED.*HF_ENDPOINT/);
  });

  test('and answers with a page is no hub', async () => {
    const hub = await openHub({ first: (_, response) => Boolean(response.end('<html>')) });
    expect((await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options()))).message).toMatch(/HF_ENDPOINT/);
  });

  test('and redirects in a circle is left', async () => {
    const hub = await openHub({
      first: (request, response) => Boolean(response.writeHead(302, { location: request.url ?? '' }).end()),
    });
    expect((await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options()))).message).toMatch(
      /redirects without end/,
    );
  });

  test.each(['ftp://x', 'nonsense', 'https://user:geheim@hub'])('HF_ENDPOINT=%s is refused', async (HF_ENDPOINT) => {
    const error = await failure(
      resolveModel('hf:user/repo:Q4_K_M', { directory: tmpdir(), lock: lockFile, env: { HF_ENDPOINT } }),
    );
    expect(error.message).toMatch(/HF_ENDPOINT must be/);
    expect(error.message).not.toContain('geheim');
  });
});

describe('the disk', () => {
  test('too little space is told before anything is downloaded', async () => {
    const hub = await openHub({ entries: [{ type: 'file', path: 'm-Q8_0.gguf', size: 2 ** 52 }] });
    const error = await failure(resolveModel('hf:user/repo:Q8_0', hub.options()));
    expect(error.exitCode).toBe(EXIT.cannotWrite);
    expect(error.message).toMatch(/GB free and the model needs 4503599\.6 GB more/);
    expect(hub.downloads()).toEqual([]);
  });

  test('a folder that cannot be made is named', async () => {
    const hub = await openHub();
    const file = join(hub.directory, 'file');
    await writeFile(file, '');
    const error = await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options({ directory: file })));
    expect(error.exitCode).toBe(EXIT.cannotCreate);
    expect(error.message).toContain(file);
  });

  test('two processes do not write into one part, from the first moment on, and a killed one does not stand in the way', async () => {
    const hub = await openHub();
    const folder = join(hub.directory, 'user--repo');
    await mkdir(folder);
    const lock = JSON.stringify(pathToFileURL(join(ROOT, 'dist/store/lock.js')).href);
    const code = `import(${lock}).then(({ lockFile }) => lockFile(${JSON.stringify(join(folder, '.lock'))}, '')).then(() => { console.log('held'); setInterval(() => {}, 1e6); })`;
    const other = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(other.stdout, 'data');
    const error = await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options()));
    expect([error.exitCode, error.message]).toEqual([EXIT.cannotCreate, expect.stringContaining('another awb')]);
    other.kill('SIGKILL');
    await once(other, 'exit');
    expect((await resolveModel('hf:user/repo:Q4_K_M', hub.options())).sha256).toBe(SHA256);
  });
});

describe('the named model', () => {
  const PINNED = `resolve/${AGENTWORLD.revision}/${AGENTWORLD.file}`;

  test('stands for one file of one revision', async () => {
    const entries = [{ type: 'file', path: AGENTWORLD.file, size: 3, lfs: { oid: AGENTWORLD.sha256, size: 3 } }];
    const hub = await openHub({ entries, files: { [AGENTWORLD.file]: Buffer.from('abc') } });
    const error = await failure(resolveModel('Qwen-AgentWorld-35B-A3B', hub.options()));
    expect(hub.downloads()[0]?.url).toBe(`/${AGENTWORLD.repository}/${PINNED}`);
    expect(error.exitCode).toBe(EXIT.badData);
  });

  test('is refused before the download where the hub has another file under that name', async () => {
    const hub = await openHub({ files: { [AGENTWORLD.file]: MODEL } });
    const error = await failure(resolveModel(AGENTWORLD.name, hub.options()));
    expect(error.message).toMatch(/no longer the file.*hf:unsloth/);
    expect(hub.downloads()).toEqual([]);
  });
});

describe('a path', () => {
  test('is taken as it is', async () => {
    const { directory, options } = await openHub();
    const path = join(directory, 'my.gguf');
    await writeFile(path, 'GGUF');
    expect(await resolveModel(path, options())).toEqual({ path, source: path });
  });

  test('to the first part of a split model needs the others', async () => {
    const { directory, options } = await openHub();
    const [first, second] = [join(directory, 'm-00001-of-00002.gguf'), join(directory, 'm-00002-of-00002.gguf')];
    await writeFile(first, 'GGUF');
    expect((await failure(resolveModel(first, options()))).message).toMatch(/lacks its part m-00002-of-00002\.gguf/);
    await writeFile(second, 'GGUF');
    expect((await resolveModel(first, options())).path).toBe(first);
    expect((await failure(resolveModel(second, options()))).message).toMatch(/name its first part/);
  });

  test.each<[string, RegExp]>([
    ['nowhere.gguf', /no model file nowhere\.gguf; check --model/],
    ['user/repo:Q8_0', /write hf:user\/repo:Q8_0/],
    ['qwen-agentworld-35b-a3', /did you mean qwen-agentworld-35b-a3b/],
    ['src', /is no file/],
    ['hf:user', /no model's name; write hf:user\/repo:QUANT/],
    ['hf:../..', /no model's name/],
  ])('%s is refused with what to write', async (name, message) => {
    const { options } = await openHub();
    expect((await failure(resolveModel(name, options()))).message).toMatch(message);
  });
});
