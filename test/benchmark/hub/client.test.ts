// The hub over HTTP: its token, its refusals, and where it is.

import { tmpdir } from 'node:os';
import { describe, expect, test } from 'vitest';
import { resolveModel } from '../../../src/benchmark/hub/models.js';
import { EXIT } from '../../../src/core/errors.js';
import {
  closeServers,
  failure,
  hashOf,
  listenTo,
  MODEL,
  openHub,
  SHA256,
  sendRange,
  TOKEN,
} from '../../support/hub.js';

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
    expect(await hashOf(await resolveModel('hf:user/repo:Q4_K_M', hub.options()))).toBe(SHA256);
  });

  test('and does not exist is named once, with a workaround', async () => {
    const gone = await listenTo(() => {});
    closeServers();
    const error = await failure(
      resolveModel('hf:user/repo:Q4_K_M', {
        cwd: tmpdir(),
        directory: tmpdir(),
        env: { HF_ENDPOINT: gone },
      }),
    );
    expect(error.exitCode).toBe(EXIT.unavailable);
    expect(error.message).toMatch(/ECONNREFUSED.*HF_ENDPOINT/);
  });

  test('and redirects in a circle is left', async () => {
    const hub = await openHub({
      first: (request, response) => Boolean(response.writeHead(302, { location: request.url ?? '' }).end()),
    });
    expect((await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options()))).message).toMatch(
      /redirect count exceeded.*HF_ENDPOINT/,
    );
  });

  test.each(['ftp://x', 'nonsense', 'https://user:geheim@hub'])('HF_ENDPOINT=%s is refused', async (HF_ENDPOINT) => {
    const error = await failure(
      resolveModel('hf:user/repo:Q4_K_M', { cwd: tmpdir(), directory: tmpdir(), env: { HF_ENDPOINT } }),
    );
    expect(error.message).toMatch(/HF_ENDPOINT must be/);
    expect(error.message).not.toContain('geheim');
  });
});
