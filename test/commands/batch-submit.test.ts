// awb batch submit against a loopback of the Files and Batches API: each part is submitted once, whatever happens in between.

import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { batchFolder } from '../support/batch-folder.js';
import { type BatchServer, startBatchServer, type Trouble } from '../support/batch-server.js';
import { awb, startAwb, temporaryFolder } from '../support/cli.js';
import { startLoopbackServer } from '../support/loopback-server.js';
import { holdMessage } from '../support/messages.js';
import { startProxy } from '../support/proxy.js';

const KEY = 'sk-secret-0123456789';
const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

async function serve(options: Parameters<typeof startBatchServer>[0] = {}) {
  const server = await startBatchServer(options);
  closers.push(server.close);
  return server;
}

function submit(dir: string, server: BatchServer, ...flags: string[]) {
  return awb(['batch', 'submit', dir, '--base-url', server.url, '--poll', '0.01', ...flags]);
}

async function submissionOf(dir: string) {
  return JSON.parse(await readFile(join(dir, 'submission.json'), 'utf8'));
}

/** The parts that batches were made from, by the files that they name. */
function partsOf({ batches, files }: BatchServer): string[] {
  return batches.map(({ input_file_id }) => {
    const file = files.find(({ id }) => id === input_file_id);
    return String(file?.filename).replace(/^awb-[0-9a-f]{12}-/, '');
  });
}

describe('awb batch submit', () => {
  test('uploads each part unchanged, makes a batch of it, and says what comes next', async () => {
    const server = await serve();
    const dir = await batchFolder([3, 2]);
    const { code, stdout } = await submit(dir, server);
    expect(code).toBe(EXIT.later);
    expect(stdout).toContain('next: ');
    expect(stdout).toContain(`batch status ${dir}`);
    const { files, batches } = server;
    expect(files.map(({ purpose }) => purpose)).toEqual(['batch', 'batch']);
    expect(files[0]?.content).toEqual(await readFile(join(dir, 'requests-0001.jsonl')));
    expect(files[1]?.content).toEqual(await readFile(join(dir, 'requests-0002.jsonl')));
    expect(batches[0]).toMatchObject({
      endpoint: '/v1/chat/completions',
      completion_window: '24h',
      input_file_id: files[0]?.id,
      metadata: {
        awb_run: 'step-100',
        awb_kind: 'judge',
        awb_fingerprint: 'f'.repeat(64),
        awb_part: 'requests-0001.jsonl',
      },
    });
  });

  test('submits nothing twice', async () => {
    const server = await serve();
    const dir = await batchFolder([3, 2]);
    await submit(dir, server);
    expect((await submit(dir, server)).code).toBe(EXIT.later);
    server.finish();
    expect((await submit(dir, server)).code).toBe(EXIT.done);
    expect(partsOf(server)).toEqual(['requests-0001.jsonl', 'requests-0002.jsonl']);
    expect(server.files.filter(({ purpose }) => purpose === 'batch')).toHaveLength(2);
  });

  test('--wait ends when all batches have ended, and reports their states', async () => {
    const server = await serve({ looks: 2 });
    const dir = await batchFolder([3, 2]);
    const { code, stdout, stderr } = await submit(dir, server, '--wait');
    expect(code).toBe(EXIT.done);
    expect(stderr).toContain('requests-0001.jsonl: in_progress');
    expect(stderr).toContain('requests-0002.jsonl: completed');
    expect(stdout).toContain(`batch fetch ${dir}`);
  });

  test.each(['creation', 'validation'] as const)(
    'holds parts back while the server has no room (refused at %s)',
    async (toldAt) => {
      // There is room for one of three parts.
      const server = await serve({ enqueued: { tokens: 200, toldAt } });
      const dir = await batchFolder([3, 3, 3]);
      const before = await submit(dir, server);
      expect(before.code).toBe(EXIT.later);
      const { code, stderr } = await submit(dir, server, '--wait');
      expect(code).toBe(EXIT.done);
      expect(stderr).toContain('accepts no more tokens for now');
      const completed = server.batches.filter(({ status }) => status === 'completed');
      expect(completed).toHaveLength(3);
      expect(partsOf(server).filter((_, index) => server.batches[index]?.status === 'completed')).toEqual([
        'requests-0001.jsonl',
        'requests-0002.jsonl',
        'requests-0003.jsonl',
      ]);
      // A waiting file is not uploaded again.
      expect(server.files.filter(({ purpose }) => purpose === 'batch')).toHaveLength(3);
    },
  );

  test('sends the next part with the same command once the first has ended', async () => {
    const server = await serve({ enqueued: { tokens: 200, toldAt: 'creation' }, looks: 1000 });
    const dir = await batchFolder([3, 3]);
    const { stdout } = await submit(dir, server);
    expect(stdout).toMatch(/requests-0002\.jsonl +3 +waiting for room/);
    await submit(dir, server);
    expect(partsOf(server)).toEqual(['requests-0001.jsonl']);
    server.finish();
    await submit(dir, server);
    expect(partsOf(server)).toEqual(['requests-0001.jsonl', 'requests-0002.jsonl']);
  });

  test('retries rate limits, failures and broken connections, and makes each batch once', async () => {
    const limited = { status: 429, headers: { 'retry-after-ms': '1' }, body: { error: { message: 'slow down' } } };
    const troubles: Record<string, Trouble[]> = {
      'POST /files': ['reset-after', { status: 500 }],
      'POST /batches': [limited, { status: 502 }, 'reset-after'],
      'GET /batches/batch_0000': ['reset', limited],
      'GET /files/file-0002': [{ status: 503 }],
      'GET /files/file-0002/content': ['half', 'reset'],
    };
    const server = await serve({ trouble: ({ method, path }) => troubles[`${method} ${path}`]?.shift() });
    const dir = await batchFolder([2]);
    expect((await submit(dir, server, '--wait')).code).toBe(EXIT.done);
    expect(server.batches).toHaveLength(1);
    expect((await awb(['batch', 'fetch', dir])).code).toBe(EXIT.done);
    expect((await readFile(join(dir, 'outputs-0001.jsonl'), 'utf8')).trim().split('\n')).toHaveLength(2);
    expect(Object.values(troubles).flat()).toEqual([]);
  });

  test('gives up when its patience ends, and says that nothing is lost', async () => {
    const server = await serve({ trouble: () => ({ status: 503 }) });
    const { code, stderr } = await submit(await batchFolder([1]), server, '--retry-minutes', '0.005');
    expect(code).toBe(EXIT.unavailable);
    expect(stderr).toContain('--retry-minutes');
  });

  test('says which flag gives the key, and writes the key nowhere', async () => {
    const server = await serve({ key: KEY });
    const dir = await batchFolder([1]);
    const without = await submit(dir, server);
    expect(without.code).toBe(EXIT.authRefused);
    expect(without.stderr).toContain('--api-key or AWB_API_KEY');
    const wrong = await submit(dir, server, '--api-key', 'sk-wrong-9876543210');
    expect(wrong.code).toBe(EXIT.authRefused);
    // The server's error contains the key.
    expect(wrong.stderr).not.toContain('sk-wrong-9876543210');
    const right = await submit(dir, server, '--api-key', KEY);
    expect(right.code).toBe(EXIT.later);
    expect(await readFile(join(dir, 'submission.json'), 'utf8')).not.toContain(KEY);
    expect(right.stdout + right.stderr).not.toContain(KEY);
  });

  test('says why a part failed, and submits it again only on request', async () => {
    const bad = { code: 'model_not_found', message: 'no \u001b[31mred\u001b[0m model', line: 2, param: 'body.model' };
    const server = await serve({
      end: (batch) => (batch === 0 ? { status: 'failed', errors: [bad] } : { status: 'completed' }),
    });
    const dir = await batchFolder([2]);
    const failed = await submit(dir, server, '--wait');
    expect(failed.code).toBe(EXIT.incomplete);
    expect(failed.stdout).toContain('requests-0001.jsonl:2: model_not_found: no red model');
    expect(failed.stdout).toContain(`submit ${dir} --again`);
    expect((await submit(dir, server, '--wait')).code).toBe(EXIT.incomplete);
    expect(server.batches).toHaveLength(1);
    expect((await submit(dir, server, '--wait', '--again')).code).toBe(EXIT.done);
    expect(server.batches).toHaveLength(2);
  });

  test('omits requests that have a result in the folder', async () => {
    const server = await serve();
    const dir = await batchFolder([2, 3]);
    const lines = (await readFile(join(dir, 'requests-0002.jsonl'), 'utf8')).trim().split('\n');
    const results = ['row-1_0_abc', 'row-2_0_abc', 'row-4_0_abc'].map((custom_id) =>
      JSON.stringify({ custom_id, response: {} }),
    );
    await writeFile(join(dir, 'mine.jsonl'), results.join('\n'));
    // A copy of the requests is not an answer to any of them.
    await writeFile(join(dir, 'copy.jsonl'), lines.join('\n'));
    await submit(dir, server);
    expect(partsOf(server)).toEqual(['requests-0002.jsonl']);
    expect(server.files[0]?.content.toString()).toBe(`${lines[0]}\n${lines[2]}\n`);
  });

  test('has nothing to do if every request has a result', async () => {
    const server = await serve();
    const dir = await batchFolder([1]);
    await writeFile(join(dir, 'mine.jsonl'), `${JSON.stringify({ custom_id: 'row-1_0_abc', response: {} })}\n`);
    const { code, stdout } = await submit(dir, server);
    expect(code).toBe(EXIT.done);
    expect(stdout).toMatch(/requests-0001\.jsonl +1 +answered/);
    expect(server.requests).toEqual([]);
  });

  test('uses the server on which the folder was tested, and later the one to which it was submitted', async () => {
    const server = await serve();
    const dir = await batchFolder([1], { baseUrl: server.url });
    expect((await awb(['batch', 'submit', dir])).code).toBe(EXIT.later);
    const elsewhere = await awb(['batch', 'submit', dir, '--base-url', 'http://127.0.0.1:1/v1']);
    expect(elsewhere.code).toBe(EXIT.identityDiffers);
    expect(elsewhere.stderr).toContain(server.url);
    const nowhere = await awb(['batch', 'submit', await batchFolder([1])]);
    expect(nowhere.code).toBe(EXIT.usage);
    expect(nowhere.stderr).toContain('--base-url');
  });

  test('refuses a part that differs from what was written', async () => {
    const server = await serve();
    const dir = await batchFolder([1]);
    await writeFile(join(dir, 'requests-0001.jsonl'), '{"custom_id":"x"}\n');
    const changed = await submit(dir, server);
    expect(changed.code).toBe(EXIT.badData);
    await rm(join(dir, 'requests-0001.jsonl'));
    expect((await submit(dir, server)).stderr).toContain('is missing');
    expect(server.requests).toEqual([]);
  });

  test('refuses an edited part, even if it has the same length', async () => {
    const server = await serve();
    const dir = await batchFolder([2]);
    const path = join(dir, 'requests-0001.jsonl');
    await writeFile(path, (await readFile(path, 'utf8')).replace('row 2', 'row 7'));
    const hidden = { [dir]: 'B', [new URL(server.url).host]: 'HOST' };
    const submitted = await holdMessage(
      'batch-edited-part',
      ['batch', 'submit', dir, '--base-url', server.url],
      hidden,
    );
    expect(submitted.code).toBe(EXIT.badData);
    expect(server.requests).toEqual([]);
  });

  test('says that there is no such API, and that a folder is not a batch folder', async () => {
    const server = await startLoopbackServer([{ status: 404, body: { detail: 'Not Found' } }]);
    closers.push(server.close);
    const { code, stderr } = await awb(['batch', 'submit', await batchFolder([1]), '--base-url', server.url]);
    expect(code).toBe(EXIT.unavailable);
    expect(stderr).toContain('no Files and Batches API at this address');
    const none = await awb(['batch', 'submit', await temporaryFolder(), '--base-url', server.url]);
    expect(none.code).toBe(EXIT.inputMissing);
    expect(none.stderr).toContain('--batch-dir');
  });

  test('refuses to guess whether a batch was made on a server that lists none', async () => {
    let isFirst = true;
    const server = await serve({
      unknown: /^GET \/batches$/,
      trouble({ method, path }) {
        if (method !== 'POST' || path !== '/batches' || !isFirst) return undefined;
        isFirst = false;
        return 'reset-after';
      },
    });
    const dir = await batchFolder([1]);
    const { code, stderr } = await submit(dir, server);
    expect(code).toBe(EXIT.unavailable);
    expect(stderr).toContain('--again');
    expect((await submit(dir, server)).code).toBe(EXIT.unavailable);
    expect(server.batches).toHaveLength(1);
    expect((await submit(dir, server, '--again')).code).toBe(EXIT.later);
    expect(server.batches).toHaveLength(2);
  });

  test('with --again, records everything that it will send, so the next command sends what found no room', async () => {
    const enqueued = { tokens: 1e9, toldAt: 'creation' as const };
    const end = (batch: number) =>
      batch < 3 ? ({ status: 'expired', answered: 0, isSilent: true } as const) : ({ status: 'completed' } as const);
    const server = await serve({ enqueued, end, looks: 1_000 });
    const dir = await batchFolder([3, 3, 3]);
    await submit(dir, server);
    server.finish();
    await awb(['batch', 'fetch', dir, '--base-url', server.url]);
    enqueued.tokens = 200;
    expect((await submit(dir, server, '--again')).code).toBe(EXIT.later);
    for (let command = 0; command < 3; command++) {
      server.finish();
      await submit(dir, server);
    }
    const names = partsOf(server).slice(3);
    expect(names).toEqual(['requests-0001.jsonl', 'requests-0002.jsonl', 'requests-0003.jsonl']);
  });

  test('uses the proxy from the environment, with its credentials', async () => {
    const server = await serve({ key: KEY });
    const proxy = await startProxy({ to: Number(new URL(server.url).port) });
    closers.push(async () => proxy.close());
    const dir = await batchFolder([40]);
    const env = { HTTP_PROXY: proxy.url.replace('//', '//me:pass-0123456789@'), AWB_API_KEY: KEY };
    const { code } = await awb(['batch', 'submit', dir, '--base-url', 'http://api.example/v1'], { env });
    expect(code).toBe(EXIT.later);
    expect(proxy.tunnels[0]).toBe('api.example:80');
    expect(server.files[0]?.content).toEqual(await readFile(join(dir, 'requests-0001.jsonl')));
    expect(await readFile(join(dir, 'submission.json'), 'utf8')).not.toContain('pass-0123456789');
  });

  test('keeps the query of an address for later commands, but no key in it', async () => {
    const server = await serve();
    const dir = await batchFolder([1]);
    const address = `${server.url}?api-version=2025-04-01&api-key=secret-0123456789`;
    expect((await awb(['batch', 'submit', dir, '--base-url', address])).code).toBe(EXIT.later);
    expect((await submissionOf(dir)).baseUrl).toBe(`${server.url}?api-version=2025-04-01`);
    await awb(['batch', 'status', dir]);
    expect(server.requests.at(-1)?.path).toBe('/batches/batch_0000?api-version=2025-04-01');
  });

  test('can be interrupted while it waits, and continues', async () => {
    const server = await serve({ looks: 1000 });
    const dir = await batchFolder([1]);
    const stop = new AbortController();
    const waiting = awb(['batch', 'submit', dir, '--base-url', server.url, '--wait', '--poll', '0.01'], {
      stop: stop.signal,
    });
    while (server.requests.length < 6) await new Promise((resolve) => setTimeout(resolve, 5));
    stop.abort('SIGINT');
    const { code, stderr } = await waiting;
    expect(code).toBe(EXIT.interrupted);
    expect(stderr).toContain('run the same command again to continue');
    server.finish();
    expect((await submit(dir, server, '--wait')).code).toBe(EXIT.done);
    expect(server.batches).toHaveLength(1);
  });

  test('is refused while another process works on the folder', async () => {
    const server = await serve({ looks: 1000 });
    const dir = await batchFolder([1]);
    const { child, ended } = startAwb(['batch', 'submit', dir, '--base-url', server.url, '--wait', '--poll', '0.05']);
    while (server.requests.length < 4) await new Promise((resolve) => setTimeout(resolve, 5));
    const second = await submit(dir, server);
    expect(second.code).toBe(EXIT.cannotCreate);
    expect(second.stderr).toContain('another awb batch command is working on');
    expect((await awb(['batch', 'status', dir])).code).toBe(EXIT.later);
    child.kill('SIGINT');
    expect((await ended).code).toBe(EXIT.interrupted);
  });
});

describe('a key', () => {
  const env = { AWB_API_KEY: KEY, OPENAI_API_KEY: KEY };

  test.each(['submit', 'status', 'fetch', 'cancel'])(
    'is not sent by awb batch %s to a server that only the folder names',
    async (command) => {
      const [mine, other] = [await serve(), await serve()];
      const dir = await batchFolder([1]);
      await submit(dir, mine);
      const path = join(dir, 'submission.json');
      await writeFile(path, (await readFile(path, 'utf8')).replaceAll(mine.url, other.url));
      const hidden = { [dir]: 'B', [new URL(other.url).host]: 'HOST' };
      const said = await holdMessage(`batch-key-${command}`, ['batch', command, dir], hidden, { env });
      expect(said.code).toBe(EXIT.usage);
      expect(said.stderr).toContain(`--base-url`);
      expect(other.requests).toEqual([]);
    },
  );

  test('is not sent to a server that batch.json names', async () => {
    const server = await serve();
    const dir = await batchFolder([1], { baseUrl: server.url });
    const { code } = await awb(['batch', 'submit', dir], { env: { AWB_API_KEY: KEY } });
    expect(code).toBe(EXIT.usage);
    expect(server.requests).toEqual([]);
  });

  test.each([
    ['by the flag', (url: string) => ({ flags: ['--base-url', url], env })],
    ['by the environment', (url: string) => ({ flags: [], env: { ...env, AWB_BASE_URL: url } })],
  ])('is sent to a server that is named %s, and the next step names it, too', async (_, named) => {
    const server = await serve({ key: KEY });
    const dir = await batchFolder([1], { baseUrl: 'http://127.0.0.1:1/v1' });
    const { flags, env } = named(server.url);
    const { code, stdout } = await awb(['batch', 'submit', dir, ...flags], { env });
    expect(code).toBe(EXIT.later);
    expect(stdout).toContain(`batch status ${dir} --base-url ${server.url}`);
  });

  test('does not follow a redirect to another server', async () => {
    const other = await serve();
    const headers = { location: `${other.url}/files` };
    const server = await serve({ trouble: () => ({ status: 307, headers }) });
    const dir = await batchFolder([1]);
    const { code } = await submit(dir, server, '--api-key', KEY, '--retry-minutes', '0');
    expect(code).toBe(EXIT.unavailable);
    expect(other.requests).toEqual([]);
  });
});
