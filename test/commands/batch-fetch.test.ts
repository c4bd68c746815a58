// awb batch fetch against a loopback of the Files and Batches API: results are fetched as they appear, once, completely, and to where the
// run looks for them.

import { once } from 'node:events';
import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { batchFolder } from '../support/batch-folder.js';
import { type BatchServer, batchReply, startBatchServer, type Trouble } from '../support/batch-server.js';
import { awb, startAwb } from '../support/cli.js';
import { holdMessage } from '../support/messages.js';

const closers: (() => Promise<void>)[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});

/** A folder that was submitted to its own server. */
async function submitted(parts: readonly number[], options: Parameters<typeof startBatchServer>[0] = {}) {
  const server = await startBatchServer(options);
  closers.push(server.close);
  const dir = await batchFolder(parts);
  expect((await awb(['batch', 'submit', dir, '--base-url', server.url])).code).toBe(EXIT.later);
  return { server, dir };
}

const fetchAll = (dir: string, ...flags: string[]) => awb(['batch', 'fetch', dir, ...flags]);

async function idsIn(dir: string, file: string): Promise<string[]> {
  const lines = (await readFile(join(dir, file), 'utf8')).trim().split('\n');
  return lines.map((line) => JSON.parse(line).custom_id).sort();
}

function downloads({ requests }: BatchServer): number {
  return requests.filter(({ path }) => path.endsWith('/content')).length;
}

describe('awb batch fetch', () => {
  test('writes outputs and errors of each part unchanged, and names the next step', async () => {
    const answer = (body: Record<string, unknown>) =>
      JSON.stringify(body).includes('row 2')
        ? { status: 400, body: { error: { message: 'too long', code: 'context_length_exceeded' } } }
        : batchReply('fine');
    const { server, dir } = await submitted([3, 1], { answer });
    server.finish();
    const { code, stdout } = await fetchAll(dir);
    expect(code).toBe(EXIT.done);
    expect(stdout).toContain('next: repeat the awb judge --batch-dir command that wrote the folder');
    expect(await idsIn(dir, 'outputs-0001.jsonl')).toEqual(['row-1_0_abc', 'row-3_0_abc']);
    expect(await idsIn(dir, 'errors-0001.jsonl')).toEqual(['row-2_0_abc']);
    expect(await idsIn(dir, 'outputs-0002.jsonl')).toEqual(['row-4_0_abc']);
    const [output] = server.files.filter(({ filename }) => filename === 'batch_0000_output.jsonl');
    expect(await readFile(join(dir, 'outputs-0001.jsonl'))).toEqual(output?.content);
  });

  test('fetches what exists while the rest is awaited, and nothing twice', async () => {
    const { server, dir } = await submitted([1, 1], { looks: 1000, enqueued: { tokens: 50, toldAt: 'creation' } });
    expect((await fetchAll(dir)).code).toBe(EXIT.later);
    server.finish();
    expect((await fetchAll(dir)).code).toBe(EXIT.later);
    expect(downloads(server)).toBe(1);
    await awb(['batch', 'submit', dir]);
    server.finish();
    expect((await fetchAll(dir)).code).toBe(EXIT.done);
    expect((await fetchAll(dir)).code).toBe(EXIT.done);
    expect(downloads(server)).toBe(2);
  });

  test('fetches the results of an expired batch, and the rest is sent again only on request', async () => {
    const { server, dir } = await submitted([3], { end: () => ({ status: 'expired', answered: 1 }) });
    server.finish();
    const { code, stdout } = await fetchAll(dir);
    expect(code).toBe(EXIT.done);
    expect(stdout).toContain('expired, fetched');
    expect(await idsIn(dir, 'outputs-0001.jsonl')).toEqual(['row-1_0_abc']);
    expect(await idsIn(dir, 'errors-0001.jsonl')).toEqual(['row-2_0_abc', 'row-3_0_abc']);
    await awb(['batch', 'submit', dir]);
    expect(server.batches).toHaveLength(1);
  });

  test('reports requests without a result after their batch has ended, and the rest is sent on request', async () => {
    const { server, dir } = await submitted([3], {
      end: (batch) => (batch === 0 ? { status: 'expired', answered: 1, isSilent: true } : { status: 'completed' }),
    });
    server.finish();
    const { code, stdout } = await fetchAll(dir);
    expect(code).toBe(EXIT.incomplete);
    expect(stdout).toContain(`submit ${dir} --again, since some requests have no result`);
    expect((await awb(['batch', 'submit', dir, '--again'])).stderr).toContain('2 requests without a result');
    server.finish();
    expect((await fetchAll(dir)).code).toBe(EXIT.done);
    expect(await idsIn(dir, 'outputs-0001.jsonl')).toEqual(['row-1_0_abc']);
    expect(await idsIn(dir, 'outputs-0001-2.jsonl')).toEqual(['row-2_0_abc', 'row-3_0_abc']);
  });

  test('restarts a download that broke off in the middle', async () => {
    const troubles: Trouble[] = ['half', 'reset', 'half'];
    const trouble = ({ path }: { path: string }) => (path.endsWith('/content') ? troubles.shift() : undefined);
    const { server, dir } = await submitted([50], { trouble });
    server.finish();
    expect((await fetchAll(dir)).code).toBe(EXIT.done);
    expect(troubles).toEqual([]);
    expect(await idsIn(dir, 'outputs-0001.jsonl')).toHaveLength(50);
  });

  test('if killed at any request, leaves no partial file among the results, and continues', {
    timeout: 120_000,
  }, async () => {
    let wasKilled = true;
    for (let at = 0; wasKilled; at++) {
      let kill: (() => void) | undefined;
      let seen = 0;
      const { server, dir } = await submitted([5, 5], {
        trouble({ path }) {
          if (kill === undefined || seen++ !== at) return undefined;
          const killIt = kill;
          // Half of a file has been sent by then.
          setTimeout(killIt, path.endsWith('/content') ? 20 : 0);
          return path.endsWith('/content') ? 'half-open' : 'hang';
        },
      });
      server.finish();
      const { child, ended } = startAwb(['batch', 'fetch', dir]);
      kill = () => child.kill('SIGKILL');
      wasKilled = (await ended).signal === 'SIGKILL';
      kill = undefined;
      const names = (await readdir(dir)).filter((name) => name.endsWith('.jsonl') && !name.startsWith('requests'));
      for (const name of names) expect(await idsIn(dir, name)).toHaveLength(5);
      expect((await fetchAll(dir)).code).toBe(EXIT.done);
      const results = (await readdir(dir)).filter((name) => /^(outputs|errors)/.test(name));
      expect(results.sort()).toEqual(['outputs-0001.jsonl', 'outputs-0002.jsonl']);
      expect(at).toBeLessThan(20);
    }
  });

  test('leaves a file with that name unchanged if another program wrote it', async () => {
    const { server, dir } = await submitted([1]);
    await writeFile(join(dir, 'outputs-0001.jsonl'), 'mine\n');
    server.finish();
    await fetchAll(dir);
    expect(await readFile(join(dir, 'outputs-0001.jsonl'), 'utf8')).toBe('mine\n');
    expect(await idsIn(dir, 'outputs-0001-2.jsonl')).toEqual(['row-1_0_abc']);
  });

  test('says which results the server no longer has', async () => {
    const { server, dir } = await submitted([1, 1], { unknown: /file-0002/ });
    server.finish();
    const { code, stdout, stderr } = await fetchAll(dir);
    expect(stderr).toContain('no longer has the outputs of requests-0001.jsonl');
    expect(code).toBe(EXIT.incomplete);
    expect(stdout).toContain(`submit ${dir} --again`);
    expect(await idsIn(dir, 'outputs-0002.jsonl')).toEqual(['row-2_0_abc']);
    expect((await awb(['batch', 'submit', dir, '--again'])).code).toBe(EXIT.later);
    expect(server.batches).toHaveLength(3);
  });

  test('does not pay twice for results that only have not been fetched yet', async () => {
    const { server, dir } = await submitted([1]);
    server.finish();
    const { code, stderr } = await awb(['batch', 'submit', dir, '--again']);
    expect(code).toBe(EXIT.usage);
    expect(stderr).toContain('batch fetch');
    expect(server.batches).toHaveLength(1);
  });

  test('stops at a damaged submission.json, and needs one', async () => {
    const { dir } = await submitted([1]);
    await writeFile(join(dir, 'submission.json'), '{"schema":"awb.batch-submission/1"');
    expect((await fetchAll(dir)).code).toBe(EXIT.badData);
    await rm(join(dir, 'submission.json'));
    const { code, stderr } = await fetchAll(dir);
    expect(code).toBe(EXIT.inputMissing);
    expect(stderr).toContain('has been submitted');
  });
});

describe('an endless file of results', () => {
  /** The bytes sent (64 MB at most), and what the command printed. */
  async function fetchEndless(told: object) {
    let sent = 0;
    // It answers instead of the other server, and has no port of its own.
    const endless = createServer(async (_, response) => {
      const piece = Buffer.alloc(65_536, 'x');
      for (; sent < 64e6 && !response.destroyed; sent += piece.length) {
        if (!response.write(piece)) await Promise.race([once(response, 'drain'), once(response, 'close')]);
      }
      response.end();
    });
    const ended = { id: 'batch_0', status: 'completed', output_file_id: 'file-out' };
    const { server, dir } = await submitted([1], {
      trouble({ method, path }) {
        if (method === 'POST' && path === '/batches') return { status: 200, body: { ...ended, status: 'validating' } };
        if (path === '/batches/batch_0') return { status: 200, body: ended };
        if (path === '/files/file-out') return { status: 200, body: { id: 'file-out', ...told } };
        return path === '/files/file-out/content' ? { to: endless } : undefined;
      },
    });
    return { sent: () => sent, server, dir };
  }

  test.each([
    ['the size that the server gave', { bytes: 11 }, 'batch-fetch-too-long'],
    ['4 MB per request if the server gave none', {}, 'batch-fetch-unbounded'],
  ])('is read up to %s', async (_, told, name) => {
    const { sent, server, dir } = await fetchEndless(told);
    const hidden = { [dir]: 'B', [new URL(server.url).host]: 'HOST' };
    const { code } = await holdMessage(name, ['batch', 'fetch', dir], hidden);
    expect(code).toBe(EXIT.unavailable);
    expect(sent()).toBeLessThan(64e6);
    expect((await readdir(dir)).filter((file) => file.startsWith('outputs'))).toEqual([]);
  });
});

describe('a completed batch that leaves requests without a result', () => {
  /** A folder of 26 requests whose batch ended in this way according to the server. Times are omitted, since they vary. */
  async function completed(answered: number) {
    const lines = Array.from({ length: answered }, (_, index) =>
      JSON.stringify({ custom_id: `row-${index + 1}_0_abc`, response: { status_code: 200, body: {} } }),
    );
    const text = lines.map((line) => `${line}\n`).join('');
    const counts = { total: 26, completed: 26, failed: 0 };
    const ended = { id: 'batch_0', status: 'completed', request_counts: counts };
    const batch = { ...ended, ...(answered > 0 && { output_file_id: 'file-out' }) };
    const answers: Record<string, unknown> = {
      'POST /batches': { id: 'batch_0', status: 'validating' },
      'GET /batches/batch_0': batch,
      'GET /files/file-out': { id: 'file-out', bytes: text.length },
      'GET /files/file-out/content': Buffer.from(text),
    };
    return submitted([26], {
      trouble({ method, path }) {
        const body = answers[`${method} ${path}`];
        return body === undefined ? undefined : { status: 200, body };
      },
    });
  }

  test.each([
    ['no file of results', 0, 'batch-without-results'],
    ['ten of its lines', 10, 'batch-with-ten-results'],
  ])('with %s is reported by every command, with the command that helps', async (_, answered, name) => {
    const { server, dir } = await completed(answered);
    const hidden = { [dir]: 'B', [new URL(server.url).host]: 'HOST' };
    const commands = ['status', 'submit', 'fetch', 'submit', 'status'];
    for (const [index, command] of commands.entries()) {
      const { code, stdout } = await holdMessage(`${name}-${index + 1}-${command}`, ['batch', command, dir], hidden);
      if (stdout.includes('next: awb batch fetch')) continue;
      expect(code).toBe(EXIT.incomplete);
      expect(stdout).toContain(`next: awb batch submit ${dir} --again`);
    }
  });
});
