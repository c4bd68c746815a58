// A Hugging Face hub on loopback that can cut off, redirect, refuse and lie.

import { execFileSync } from 'node:child_process';
import { createHash, randomBytes } from 'node:crypto';
import { mkdtemp, readdir, readFile } from 'node:fs/promises';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { expect } from 'vitest';
import type { ModelOptions } from '../../src/benchmark/hub/models.js';
import { UserError } from '../../src/core/errors.js';
import { cleanups } from './cleanups.js';

export const MODEL = randomBytes(300_000);
export const SHA256 = sha256(MODEL);
export const TOKEN = 'hf_sEcReT';

export function sha256(bytes: Buffer): string {
  return createHash('sha256').update(bytes).digest('hex');
}

type Handler = (request: IncomingMessage, response: ServerResponse) => void;

const closers: (() => void)[] = [];
cleanups.push(closeServers);

export function closeServers(): void {
  for (const close of closers.splice(0)) close();
}

export async function listenTo(handler: Handler): Promise<string> {
  const server = createServer(handler).listen(0, '127.0.0.1');
  await new Promise((resolve) => server.once('listening', resolve));
  closers.push(() => {
    server.close();
    server.closeAllConnections();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** The commit of every revision of the hub. */
export const COMMIT = 'c0ffee'.padEnd(40, '0');

interface HubSetup {
  readonly files?: Readonly<Record<string, Buffer>>;
  /** The commit of a revision. If this is given, other revisions are unknown. */
  readonly commits?: Readonly<Record<string, string>>;
  /** Entries of the listing that replace those of `files`. */
  readonly entries?: readonly unknown[];
  /** Sends a file; the default supports ranges. */
  readonly send?: (bytes: Buffer, request: IncomingMessage, response: ServerResponse) => void;
  /** Runs before everything else; true if it answered. */
  readonly first?: (request: IncomingMessage, response: ServerResponse) => boolean;
}

export function sendRange(bytes: Buffer, request: IncomingMessage, response: ServerResponse): void {
  const from = /^bytes=(\d+)-$/.exec(request.headers.range ?? '')?.[1];
  if (from === undefined) {
    response.writeHead(200, { 'content-length': bytes.length }).end(bytes);
    return;
  }
  const range = `bytes ${from}-${bytes.length - 1}/${bytes.length}`;
  response.writeHead(206, { 'content-range': range, 'content-length': bytes.length - Number(from) });
  response.end(bytes.subarray(Number(from)));
}

export function entryOf([path, bytes]: [string, Buffer]): unknown {
  return {
    type: 'file',
    path,
    size: bytes.length,
    oid: 'f00',
    lfs: { oid: sha256(bytes), size: bytes.length, pointerSize: 135 },
  };
}

export async function openHub(setup: HubSetup = {}) {
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
    const revision = /^\/api\/(?:models|datasets)\/[^/]+\/[^/]+\/revision\/([^/]+)$/.exec(path)?.[1];
    if (revision !== undefined) {
      const sha = setup.commits === undefined ? COMMIT : setup.commits[decodeURIComponent(revision)];
      if (sha === undefined) response.writeHead(404).end();
      else response.end(JSON.stringify({ id: 'user/repo', sha, siblings: [] }));
      return;
    }
    // The revision is one part of the path, even if it contains slashes.
    const bytes = files[decodeURIComponent(path.replace(/^(?:\/datasets)?\/[^/]+\/[^/]+\/resolve\/[^/]+\//, ''))];
    if (bytes === undefined) response.writeHead(404).end();
    else send(bytes, request, response);
  });
  const directory = await mkdtemp(join(tmpdir(), 'awb-models-'));
  const options = (more: Partial<ModelOptions> = {}): ModelOptions => ({
    cwd: directory,
    directory,
    env: { HF_ENDPOINT: url },
    retryDelayMs: 1,
    ...more,
  });
  const downloads = () => seen.filter((request) => request.url?.includes('/resolve/'));
  return { url, seen, downloads, directory, options };
}

export async function filesIn(directory: string): Promise<string[]> {
  return (await readdir(directory, { recursive: true }))
    .filter((path) => path.includes('.') && !path.endsWith('/.lock'))
    .sort();
}

/** The entry of a file whose bytes are in git itself, named as `git hash-object` names them. */
export function smallEntryOf([path, bytes]: [string, Buffer]): unknown {
  const oid = execFileSync('git', ['hash-object', '--stdin'], { input: bytes, encoding: 'utf8' }).trim();
  return { type: 'file', path, size: bytes.length, oid };
}

/** The SHA-256 of a file in hex. */
export async function hashOf(path: string): Promise<string> {
  return sha256(await readFile(path));
}

/** The error with which a promise rejects. */
export async function failure(promise: Promise<unknown>): Promise<UserError> {
  const error = await promise.then(
    () => undefined,
    (thrown: unknown) => thrown,
  );
  expect(error).toBeInstanceOf(UserError);
  return error as UserError;
}
