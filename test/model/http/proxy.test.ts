// Which proxy an endpoint is asked through, and which are refused before anything is asked.

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT, UserError } from '../../../src/core/errors.js';
import { proxyFor } from '../../../src/model/http/address.js';
import { awb, RECORDED } from '../../support/cli.js';

const HTTP = 'http://model.test/v1';
const HTTPS = 'https://api.model.test:8443/v1';
const P = 'http://proxy:3128';
const Q = 'http://other:1';

describe('the proxy of an endpoint', () => {
  it.each<[string, string, Record<string, string>, string | undefined]>([
    ['is none where nobody names one', HTTP, {}, undefined],
    ['is that of its scheme', HTTPS, { HTTP_PROXY: P, HTTPS_PROXY: Q }, Q],
    ['is that of its scheme, not of https', HTTP, { HTTP_PROXY: P, HTTPS_PROXY: Q }, P],
    ['is that of http where https has none', HTTPS, { HTTP_PROXY: P }, P],
    ['is the one in small letters before capitals', HTTP, { HTTP_PROXY: P, http_proxy: Q }, Q],
    ['is none for an empty variable', HTTP, { HTTP_PROXY: '' }, undefined],
    ['may lack its scheme', HTTP, { HTTP_PROXY: 'proxy:3128' }, P],
    ['is none for a host that is excluded', HTTP, { HTTP_PROXY: P, NO_PROXY: 'x, model.test' }, undefined],
    ['is none for a subdomain of it', HTTPS, { HTTP_PROXY: P, no_proxy: '.MODEL.test' }, undefined],
    ['is none for a subdomain by a star', HTTPS, { HTTP_PROXY: P, no_proxy: '*.model.test:8443' }, undefined],
    ['is there for another port', HTTPS, { HTTP_PROXY: P, no_proxy: 'model.test:443' }, P],
    ['is there for a host that only ends alike', HTTP, { HTTP_PROXY: P, no_proxy: 'del.test' }, P],
    ['is none where all is excluded', HTTP, { HTTP_PROXY: P, no_proxy: 'x,*' }, undefined],
    ['is none for this machine', 'http://127.0.0.1:8000/v1', { HTTP_PROXY: P }, undefined],
    ['is none for this machine by its name', 'http://localhost:8000/v1', { HTTP_PROXY: P }, undefined],
    ['is none for this machine in IPv6', 'http://[::1]:8000/v1', { HTTP_PROXY: P }, undefined],
  ])('%s', (_name, url, env, proxy) => {
    expect(proxyFor(url, env)?.url).toBe(proxy);
  });

  it('keeps its credentials out of its address', () => {
    const proxy = proxyFor(HTTP, { HTTP_PROXY: 'http://me:p%40ss-word@proxy:3128/' });
    expect(proxy).toMatchObject({ url: P, host: 'proxy:3128', authorization: `Basic ${btoa('me:p@ss-word')}` });
    expect(proxy?.secrets).toEqual(['p@ss-word', 'p%40ss-word', btoa('me:p@ss-word')]);
  });

  it.each([
    'http://me:hunter2hunter2@bad host:1',
    'http://me:hunter2hunter2@host:99999999',
    'ftp://me:hunter2hunter2@host',
    'me:hunter2@hunter2@bad host',
    'http://',
  ])('is refused as %j without its password', (value) => {
    const refusal = () => proxyFor('http://127.0.0.1/v1', { HTTP_PROXY: value });
    expect(refusal).toThrow(UserError);
    expect(refusal).toThrow(/^HTTP_PROXY: (?!.*hunter2)/);
  });
});

it.each(['--verbose', '--quiet'])('a run with a proxy that cannot be is refused at its start (%s)', async (flag) => {
  const out = await mkdtemp(join(tmpdir(), 'awb-proxy-'));
  const where = ['--data-dir', RECORDED, '--output-dir', join(out, 'run'), '--model-base-url', HTTP];
  const { code, stdout, stderr } = await awb(['infer', ...where, '--model-name', 'm', flag], {
    env: { HTTP_PROXY: 'http://me:hunter2hunter2@bad host:1', AWB_DEBUG: '1' },
  });
  expect(code).toBe(EXIT.usage);
  expect(stderr).toMatch(/^awb: HTTP_PROXY: /);
  expect(stdout + stderr).not.toContain('hunter2');
});
