// `awb export mlflow` against the recorded answers of a real MLflow server (fixtures/mlflow/replies.json).

import { readFileSync } from 'node:fs';
import { createServer, type IncomingHttpHeaders, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { around, judgedRun } from '../support/judged-runs.js';

interface Reply {
  readonly method: string;
  readonly path: string;
  readonly status: number;
  readonly body: unknown;
}
const { first, again, deleted }: Record<'first' | 'again' | 'deleted', Reply[]> = JSON.parse(
  readFileSync(join(ROOT, 'fixtures/mlflow/replies.json'), 'utf8'),
);

interface Seen {
  readonly path: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}
let server: Server;
let seen: Seen[];
let replies: readonly Reply[];
let dir: string;
let source: string;

beforeEach(async () => {
  seen = [];
  server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk) => chunks.push(chunk));
    request.on('end', () => {
      const path = String(request.url);
      seen.push({ path, headers: request.headers, body: Buffer.concat(chunks).toString() });
      const bare = path.split('?')[0];
      const reply = replies.find((each) => each.method === request.method && each.path === bare);
      response.writeHead(reply?.status ?? 404, { 'content-type': 'application/json' });
      response.end(typeof reply?.body === 'string' ? reply.body : JSON.stringify(reply?.body ?? {}));
    });
  });
  await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  dir = await temporaryFolder();
  source = await judgedRun(join(dir, 'a'), { label: 'a', rating: around(3), meta: { step: '300' } });
});
afterEach(() => {
  server.closeAllConnections();
  server.close();
});

const uri = (path = '') => `http://127.0.0.1:${(server.address() as AddressInfo).port}${path}`;
const run = (words: string[] = [], env: Record<string, string> = {}) =>
  awb(['export', 'mlflow', source, '--tracking-uri', uri(), ...words], { cwd: dir, env });
const sent = (path: string) => seen.filter((each) => each.path.includes(path)).map(({ body }) => JSON.parse(body));
const itemsOf = (kind: 'params' | 'metrics' | 'tags') => sent('runs/log-batch').flatMap((body) => body[kind] ?? []);

describe('a run unknown to the server', () => {
  test('is created in a new experiment, with scores at its step, and ends', async () => {
    replies = first;
    const { code, stdout } = await run(['--experiment', 'nightly', '--json']);
    expect(code).toBe(0);
    expect(JSON.parse(stdout)).toMatchObject({ experiment: 'nightly', experiment_id: '2', updated: false });
    expect(sent('experiments/create')).toEqual([{ name: 'nightly' }]);
    const scores = JSON.parse((await awb(['score', source, '--json'], { cwd: dir })).stdout);
    expect(itemsOf('metrics')).toContainEqual(
      expect.objectContaining({ key: 'overall/total', value: scores.overall.total_score, step: 300 }),
    );
    expect(itemsOf('tags')).toContainEqual({ key: 'meta.step', value: '300' });
    expect(sent('runs/update')).toMatchObject([{ status: 'FINISHED', run_name: 'a' }]);
  });

  test('is found again by its tag, however it is scored or continued', async () => {
    replies = first;
    await run();
    await run();
    const [one, two] = sent('runs/search');
    const [{ tags }] = sent('runs/create');
    expect(one.filter).toBe(two.filter);
    expect(one.filter).toBe(`tags.\`awb.run\` = '${tags[0].value}'`);
  });
});

describe('a run that the server has', () => {
  test('is updated: no run is created, and no existing parameter is sent again', async () => {
    replies = again;
    const { code, stdout } = await run(['--json']);
    expect({ code, updated: JSON.parse(stdout).updated }).toEqual({ code: 0, updated: true });
    expect(seen.filter(({ path }) => path.includes('create'))).toEqual([]);
    const known = JSON.stringify(again.find(({ path }) => path.endsWith('runs/search'))?.body);
    for (const { key } of itemsOf('params')) expect(known).not.toContain(`"key":"${key}"`);
    expect(itemsOf('metrics').length).toBeGreaterThan(10);
  });
});

describe('credentials', () => {
  test('with a token are sent as such, those of a user take precedence, and neither is shown', async () => {
    replies = [];
    const token = 'token-of-the-server';
    const { code, stderr } = await run(['--verbose'], { MLFLOW_TRACKING_TOKEN: token });
    expect(code).toBe(69);
    expect(seen[0]?.headers.authorization).toBe(`Bearer ${token}`);
    expect(stderr).not.toContain(token);
    await run([], { MLFLOW_TRACKING_TOKEN: token, MLFLOW_TRACKING_USERNAME: 'u', MLFLOW_TRACKING_PASSWORD: 'p' });
    expect(seen.at(-1)?.headers.authorization).toBe(`Basic ${Buffer.from('u:p').toString('base64')}`);
  });

  test('that are refused end with 77 and what to set, and stay hidden even if the server echoes them', async () => {
    const password = 'long-secret-password';
    const body = { message: `no user u with ${password} ${Buffer.from(`u:${password}`).toString('base64')}` };
    replies = [{ method: 'GET', path: '/api/2.0/mlflow/experiments/get-by-name', status: 401, body }];
    const { code, stderr } = await run([], { MLFLOW_TRACKING_USERNAME: 'u', MLFLOW_TRACKING_PASSWORD: password });
    expect(code).toBe(77);
    expect(stderr).toContain('MLFLOW_TRACKING_PASSWORD');
    expect(stderr).not.toContain(password);
    expect(stderr).not.toContain(Buffer.from(`u:${password}`).toString('base64'));
  });
});

describe('nothing is exported', () => {
  test('into a deleted experiment', async () => {
    replies = deleted;
    const { code, stderr } = await run(['--experiment', 'gone']);
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('"gone"') });
  });

  test.each([
    [
      'that is not MLflow',
      [{ method: 'GET', path: '/api/2.0/mlflow/experiments/get-by-name', status: 200, body: '<html>' }],
    ],
    ['without this path', []],
  ])('to a server %s', async (_name, told) => {
    replies = told;
    const { code, stderr } = await run();
    expect({ code, stderr }).toMatchObject({ code: 69, stderr: expect.stringContaining('--tracking-uri') });
  });

  test('without a server, or with one that is not an address', async () => {
    const words = ['export', 'mlflow', source];
    expect((await awb(words, { cwd: dir })).stderr).toContain('MLFLOW_TRACKING_URI');
    const { code, stderr } = await awb(words, { cwd: dir, env: { MLFLOW_TRACKING_URI: 'databricks' } });
    expect({ code, stderr }).toMatchObject({ code: 2, stderr: expect.stringContaining('http://') });
  });
});
