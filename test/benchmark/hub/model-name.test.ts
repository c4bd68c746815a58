// What a user may write for a model, and under which names it is served.

import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { aliasesOf, resolveModel } from '../../../src/benchmark/hub/models.js';
import { EXIT } from '../../../src/core/errors.js';
import { failure, openHub } from '../../support/hub.js';

describe('a name', () => {
  test('a revision may be a pull request, and has a folder of its own', async () => {
    const hub = await openHub();
    const path = await resolveModel('hf:user/repo@refs/pr/1:Q4_K_M', hub.options());
    expect(path).toBe(join(hub.directory, 'user--repo@refs--pr--1', 'm-Q4_K_M.gguf'));
    expect(hub.seen.every(({ url }) => url?.includes('/refs%2Fpr%2F1'))).toBe(true);
    expect(await resolveModel('hf:user/repo@refs/pr/1/m-Q4_K_M.gguf', hub.options())).toBe(path);
    expect((await failure(resolveModel('hf:user/repo@refs/../x:Q8_0', hub.options()))).exitCode).toBe(EXIT.usage);
  });
});

test('the reference model is also served under its name on the hub, and no name twice', () => {
  expect(aliasesOf('qwen-agentworld-35b-a3b', [])).toEqual(['Qwen/Qwen-AgentWorld-35B-A3B']);
  expect(aliasesOf('mine.gguf', ['a', 'mine', 'a'])).toEqual(['a']);
});
