// Downloads that are cut off, continued, checked, and written to a disk that may refuse.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, readFile, rename, stat, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import { describe, expect, test } from 'vitest';
import type { TransferProgress } from '../../../src/benchmark/hub/client.js';
import { resolveModel } from '../../../src/benchmark/hub/models.js';
import { EXIT } from '../../../src/core/errors.js';
import { ROOT } from '../../support/cli.js';
import { failure, filesIn, hashOf, MODEL, openHub, SHA256 } from '../../support/hub.js';

describe('a download that is cut off', () => {
  test('continues where it stopped when the command is run again after Ctrl-C', async () => {
    const hub = await openHub();
    const stop = new AbortController();
    const onProgress = ({ bytes }: TransferProgress) => bytes > 0 && stop.abort('SIGINT');
    const error = await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options({ signal: stop.signal, onProgress })));
    expect(error.exitCode).toBe(EXIT.interrupted);
    const [part] = await filesIn(hub.directory);
    expect(part).toMatch(/\.part$/);
    const { size } = await stat(join(hub.directory, part as string));
    expect(size).toBeGreaterThan(0);
    const steps: TransferProgress[] = [];
    const found = await resolveModel('hf:user/repo:Q4_K_M', hub.options({ onProgress: (step) => steps.push(step) }));
    expect(await hashOf(found)).toBe(SHA256);
    expect(hub.downloads().map(({ headers }) => headers.range)).toEqual([undefined, `bytes=${size}-`]);
    expect(steps[0]?.step).toBe('checking');
    expect(await filesIn(hub.directory)).toEqual(['user--repo/m-Q4_K_M.gguf']);
  });

  test('is not continued through a link that somebody has laid in its place', async () => {
    const hub = await openHub();
    const stop = new AbortController();
    const onProgress = ({ bytes }: TransferProgress) => bytes > 0 && stop.abort('SIGINT');
    await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options({ signal: stop.signal, onProgress })));
    const [part] = await filesIn(hub.directory);
    const victim = join(hub.directory, 'victim');
    await rename(join(hub.directory, part as string), victim);
    const before = await readFile(victim);
    await symlink(victim, join(hub.directory, part as string));
    const error = await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options()));
    expect(error.exitCode).toBe(EXIT.cannotWrite);
    expect(await readFile(victim)).toEqual(before);
  });

  test('SIGTERM has its own exit code', async () => {
    const hub = await openHub();
    const signal = AbortSignal.abort('SIGTERM');
    expect((await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options({ signal })))).exitCode).toBe(
      EXIT.terminated,
    );
  });

  test('continues by itself as long as something arrives', async () => {
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
    expect(await hashOf(found)).toBe(SHA256);
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
    expect(await hashOf(found)).toBe(SHA256);
  });

  test('a damaged part is found out, removed and named', async () => {
    const hub = await openHub();
    await mkdir(join(hub.directory, 'user--repo'));
    await writeFile(join(hub.directory, 'user--repo', `m-Q4_K_M.gguf.${SHA256.slice(0, 12)}.part`), 'damaged');
    const error = await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options()));
    expect(error.exitCode).toBe(EXIT.badData);
    expect(await filesIn(hub.directory)).toEqual([]);
    expect(await hashOf(await resolveModel('hf:user/repo:Q4_K_M', hub.options()))).toBe(SHA256);
  });

  test('a part that is longer than the file is started over', async () => {
    const hub = await openHub();
    await mkdir(join(hub.directory, 'user--repo'));
    const part = join(hub.directory, 'user--repo', `m-Q4_K_M.gguf.${SHA256.slice(0, 12)}.part`);
    await writeFile(part, Buffer.concat([MODEL, MODEL]));
    const found = await resolveModel('hf:user/repo:Q4_K_M', hub.options());
    expect(await hashOf(found)).toBe(SHA256);
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
  const UNHASHED = [{ type: 'file', path: 'm-Q4_K_M.gguf', size: MODEL.length, oid: 'f00' }];

  test('without any hash of the hub the model is taken', async () => {
    const hub = await openHub({ entries: UNHASHED });
    expect(await hashOf(await resolveModel('hf:user/repo:Q4_K_M', hub.options()))).toBe(SHA256);
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

describe('the disk', () => {
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
    const lock = JSON.stringify(pathToFileURL(join(ROOT, 'dist/disk/lock.js')).href);
    const code = `import(${lock}).then(({ lockFile }) => lockFile(${JSON.stringify(join(folder, '.lock'))}, '')).then(() => { console.log('held'); setInterval(() => {}, 1e6); })`;
    const other = spawn(process.execPath, ['-e', code], { stdio: ['ignore', 'pipe', 'inherit'] });
    await once(other.stdout, 'data');
    const error = await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options()));
    expect([error.exitCode, error.message]).toEqual([EXIT.cannotCreate, expect.stringContaining('another awb')]);
    other.kill('SIGKILL');
    await once(other, 'exit');
    expect(await hashOf(await resolveModel('hf:user/repo:Q4_K_M', hub.options()))).toBe(SHA256);
  });
});
