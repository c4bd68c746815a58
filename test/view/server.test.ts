import { request } from 'node:http';
import { type AddressInfo, createServer } from 'node:net';
import { describe, expect, onTestFinished, test } from 'vitest';
import { inputMissing } from '../../src/core/errors.js';
import { startViewer } from '../../src/view/server.js';

const errors: string[] = [];
const documents = new Map<string, unknown>([
  ['index', { runs: [] }],
  ['run/abc', { name: '</script><script>alert(1)</script>' }],
]);

async function viewer(host = '127.0.0.1', port = 0) {
  const document = async (name: string) => {
    if (name === 'gone') throw inputMissing('This run is not there any more.');
    if (name === 'broken') throw new Error('a fault');
    return documents.get(name);
  };
  const started = await startViewer({ document }, { host, port, onError: (text) => errors.push(text) });
  onTestFinished(() => started.close());
  return started;
}

/** Asks as a browser would, but with these headers. */
function get(url: string, headers: Readonly<Record<string, string>> = {}, path?: string) {
  return new Promise<{ status: number; body: string; headers: NodeJS.Dict<string | string[]> }>((done, failed) => {
    const sent = request(url, { headers, ...(path === undefined ? {} : { path }) }, (response) => {
      let body = '';
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => done({ status: response.statusCode ?? 0, body, headers: response.headers }));
    });
    sent.on('error', failed);
    sent.end();
  });
}

describe('the viewer on this machine', () => {
  test('serves the app and its documents, with a policy of what may run there', async () => {
    const { url } = await viewer();
    const page = await get(url);
    expect(page.status).toBe(200);
    expect(page.headers['content-security-policy']).toContain("script-src 'self'");
    expect(page.headers['content-security-policy']).not.toContain('unsafe');
    expect((await get(`${url}app.js`)).headers['content-type']).toContain('javascript');
    expect((await get(`${url}app.css`)).headers['content-type']).toContain('css');
    expect(JSON.parse((await get(`${url}api/run/abc`)).body)).toEqual(documents.get('run/abc'));
  });

  test('answers no web page, under any name', async () => {
    const { url } = await viewer();
    const { port } = new URL(url);
    for (const headers of [
      { host: 'evil.example' },
      { host: `evil.example:${port}` },
      { origin: 'https://evil.example' },
      { origin: 'null' },
      { host: `localhost:${port}`, origin: `http://127.0.0.1:${port}` },
    ]) {
      expect((await get(`${url}api/index`, headers)).status).toBe(403);
    }
    expect((await get(`${url}api/index`, { host: `localhost:${port}` })).status).toBe(200);
  });

  test.each([
    '/../package.json',
    '/api/../../etc/passwd',
    '/%2e%2e/%2e%2e/etc/passwd',
    '/app.js/..%2f..%2fpackage.json',
    '/api/%00',
  ])('has nothing at %s', async (path) => {
    const { url } = await viewer();
    const { status, body } = await get(url, {}, path);
    expect(status).toBe(404);
    expect(body).not.toMatch(/agentworldbench"|root:/);
  });

  test('says what the user can do, and reports its own errors to the terminal', async () => {
    const { url } = await viewer();
    expect(await get(`${url}api/gone`)).toMatchObject({ status: 422, body: 'This run is not there any more.' });
    expect(await get(`${url}api/nothing`)).toMatchObject({ status: 404 });
    expect((await get(`${url}api/broken`)).body).not.toContain('a fault');
    expect(errors).toEqual(['a fault']);
  });

  test('refuses a port in use', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    onTestFinished(() => void other.close());
    await new Promise((done) => other.once('listening', done));
    // A server that listens has an address.
    const { port } = other.address() as AddressInfo;
    await expect(viewer('127.0.0.1', port)).rejects.toThrow(`port ${port} of 127.0.0.1 is in use`);
  });
});

test('the viewer for other machines only answers requests with the token', async () => {
  const { url } = await viewer('0.0.0.0');
  const { port, searchParams } = new URL(url);
  const token = searchParams.get('token') ?? '';
  expect(token).toHaveLength(32);
  const at = (path: string) => `http://127.0.0.1:${port}/${path}`;
  expect((await get(at(''))).status).toBe(403);
  expect((await get(at('api/index?token=wrong'))).status).toBe(403);
  expect((await get(at(`api/index?token=${token}`))).status).toBe(200);
  expect((await get(at(`?token=${token}`))).body).toContain(`app.js?token=${token}`);
});
