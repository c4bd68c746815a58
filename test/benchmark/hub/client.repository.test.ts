// What a hub lists of a repository.

import { describe, expect, test } from 'vitest';
import { openRepository } from '../../../src/benchmark/hub/client.js';
import { resolveModel } from '../../../src/benchmark/hub/models.js';
import { EXIT } from '../../../src/core/errors.js';
import { COMMIT, failure, openHub } from '../../support/hub.js';

describe('a listing', () => {
  test('and answers with a page is not a hub', async () => {
    const hub = await openHub({ first: (_, response) => Boolean(response.end('<html>')) });
    expect((await failure(resolveModel('hf:user/repo:Q4_K_M', hub.options()))).message).toMatch(/HF_ENDPOINT/);
  });
});

describe('the commit of a revision', () => {
  const opened = (hub: { readonly url: string }, revision: string) =>
    openRepository(
      { kind: 'dataset', repository: 'user/repo', revision },
      { env: { HF_ENDPOINT: hub.url }, retryDelayMs: 1 },
    );

  test('is asked of the hub, whatever the revision is called', async () => {
    const hub = await openHub({ commits: { 'refs/pr/1': COMMIT } });
    expect(await opened(hub, 'refs/pr/1').findCommit()).toBe(COMMIT);
    expect(hub.seen.map(({ url }) => url)).toEqual(['/api/datasets/user/repo/revision/refs%2Fpr%2F1']);
    expect((await failure(opened(hub, 'gone').findCommit())).exitCode).toBe(EXIT.inputMissing);
  });

  test.each(['{}', '{"sha":"main"}', '<html>'])('%s is not an answer of a hub', async (answer) => {
    const hub = await openHub({ first: (_, response) => Boolean(response.end(answer)) });
    expect((await failure(opened(hub, 'main').findCommit())).message).toMatch(/HF_ENDPOINT/);
  });
});
