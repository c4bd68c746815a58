// Downloads through a proxy on loopback.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import { proxiedDownloads } from '../../../src/model/http/wire.js';
import { awb, temporaryFolder } from '../../support/cli.js';
import { openHub, sha256 } from '../../support/hub.js';
import { startProxy, type TunnelProxy } from '../../support/proxy.js';

const ROWS = Buffer.from('{"task":"mcp"}\n'.repeat(20_000));
const proxies: TunnelProxy[] = [];
afterEach(() => {
  for (const proxy of proxies.splice(0)) proxy.close();
});

async function behindProxy() {
  const hub = await openHub({ files: { 'mcp_test.jsonl': ROWS } });
  const proxy = await startProxy({ to: Number(new URL(hub.url).port) });
  proxies.push(proxy);
  const env = { HF_ENDPOINT: 'http://hub.invalid:8080', HTTP_PROXY: proxy.url.replace('//', '//me:geheim@') };
  return { hub, proxy, env, cwd: await temporaryFolder() };
}

describe('awb data fetch', () => {
  test('goes through the proxy that the environment names, with its credentials', async () => {
    const { hub, proxy, env, cwd } = await behindProxy();
    const { code, stdout, stderr } = await awb(['data', 'fetch'], { env, cwd });
    expect(code).toBe(EXIT.done);
    expect(sha256(await readFile(join(cwd, 'data/mcp_test.jsonl')))).toBe(sha256(ROWS));
    expect(new Set(proxy.tunnels)).toEqual(new Set(['hub.invalid:8080']));
    expect(proxy.credentials[0]).toBe(`Basic ${Buffer.from('me:geheim').toString('base64')}`);
    expect(hub.downloads()).toHaveLength(1);
    expect(stdout + stderr).not.toContain('geheim');
  });

  test('says which proxy is used for a hub that cannot be reached, without its password', async () => {
    const { proxy, env, cwd } = await behindProxy();
    proxy.close();
    const { code, stderr } = await awb(['data', 'fetch'], { env, cwd });
    expect(code).toBe(EXIT.unavailable);
    expect(stderr).toContain(
      `hub.invalid:8080 (through the proxy of HTTP_PROXY, ${proxy.host}) cannot be reached (ECONNREFUSED)`,
    );
    expect(stderr).not.toContain('geheim');
  });

  test('asks no proxy about what NO_PROXY names', async () => {
    const { proxy, env, cwd } = await behindProxy();
    const { code } = await awb(['data', 'fetch'], { env: { ...env, NO_PROXY: 'hub.invalid' }, cwd });
    expect([code, proxy.tunnels]).toEqual([EXIT.unavailable, []]);
  });
});

test('an address of this machine is asked directly', async () => {
  const downloads = proxiedDownloads({ HTTP_PROXY: 'http://127.0.0.1:1' });
  const hub = await openHub();
  const url = new URL(`${hub.url}/api/models/user/repo/tree/main`);
  expect(downloads.proxyOf(url)).toBeUndefined();
  expect((await downloads.fetch(url, {})).status).toBe(200);
});

test('a proxy that cannot be used is refused', () => {
  const downloads = proxiedDownloads({ HTTPS_PROXY: 'ftp://proxy' });
  expect(() => downloads.proxyOf(new URL('https://huggingface.co'))).toThrow(/HTTPS_PROXY/);
});
