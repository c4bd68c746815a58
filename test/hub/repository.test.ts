// What a hub lists of a repository.

import { describe, expect, test } from 'vitest';
import { resolveModel } from '../../src/hub/models.js';
import { failure, openHub, SHA256 } from '../support/hub.js';

describe('a listing', () => {
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

  test('and answers with a page is no hub', async () => {
    const hub = await openHub({ first: (_, response) => Boolean(response.end('<html>')) });
    expect((await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options()))).message).toMatch(/HF_ENDPOINT/);
  });
});
