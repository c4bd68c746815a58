// From a model's name to its file, against a hub on loopback.

import { stat, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import type { TransferProgress } from '../../../src/benchmark/hub/client.js';
import { AGENTWORLD, resolveModel } from '../../../src/benchmark/hub/models.js';
import { EXIT, UserError } from '../../../src/core/errors.js';
import { failure, filesIn, hashOf, MODEL, openHub, SHA256 } from '../../support/hub.js';

describe('a model on a hub', () => {
  test('is downloaded, checked, and found again without the hub', async () => {
    const hub = await openHub();
    const first = await resolveModel('hf:user/repo:q4_k_m', hub.options());
    expect(first).toBe(join(hub.directory, 'user--repo', 'm-Q4_K_M.gguf'));
    expect(await hashOf(first)).toBe(SHA256);
    expect(await filesIn(hub.directory)).toEqual(['user--repo/m-Q4_K_M.gguf']);
    const asked = hub.seen.length;
    expect(await resolveModel('hf:user/repo:Q4_K_M', hub.options())).toEqual(first);
    expect(await resolveModel('hf:user/repo/m-Q4_K_M.gguf', hub.options())).toEqual(first);
    expect(hub.seen.length).toBe(asked);
  });

  test('every part of a split one is downloaded, and its first part is the path', async () => {
    const parts = { 'Q8_0/m-Q8_0-00001-of-00002.gguf': MODEL, 'Q8_0/m-Q8_0-00002-of-00002.gguf': MODEL.subarray(9) };
    const hub = await openHub({ files: parts });
    const progress: TransferProgress[] = [];
    const found = await resolveModel('hf:user/repo:Q8_0', hub.options({ onProgress: (step) => progress.push(step) }));
    expect(found).toBe(join(hub.directory, 'user--repo/Q8_0/m-Q8_0-00001-of-00002.gguf'));
    expect((await stat(found.replace('00001-of', '00002-of'))).size).toBe(MODEL.length - 9);
    expect(progress.at(-1)).toMatchObject({
      step: 'downloading',
      bytes: 2 * MODEL.length - 9,
      totalBytes: 2 * MODEL.length - 9,
    });
    expect(progress.map(({ bytes }) => bytes)).toEqual(progress.map(({ bytes }) => bytes).sort((a, b) => a - b));
  });

  test('its size is reported before the first byte, and can be refused', async () => {
    const hub = await openHub();
    const refused = resolveModel(
      'hf:user/repo',
      hub.options({
        beforeDownload: (model) => {
          expect(model).toEqual({ name: 'hf:user/repo/m-Q4_K_M.gguf', bytes: MODEL.length });
          throw new UserError('does not fit');
        },
      }),
    );
    expect((await failure(refused)).message).toBe('does not fit');
    expect(hub.downloads()).toEqual([]);
  });
});

describe('the named model', () => {
  const PINNED = `resolve/${AGENTWORLD.revision}/${AGENTWORLD.file}`;

  test('stands for one file of one revision', async () => {
    const entries = [{ type: 'file', path: AGENTWORLD.file, size: 3, lfs: { oid: AGENTWORLD.sha256, size: 3 } }];
    const hub = await openHub({ entries, files: { [AGENTWORLD.file]: Buffer.from('abc') } });
    const error = await failure(resolveModel('Qwen-AgentWorld-35B-A3B', hub.options()));
    expect(hub.downloads()[0]?.url).toBe(`/${AGENTWORLD.repository}/${PINNED}`);
    expect(error.exitCode).toBe(EXIT.badData);
  });

  test('is refused before the download where the hub has another file under that name', async () => {
    const hub = await openHub({ files: { [AGENTWORLD.file]: MODEL } });
    const error = await failure(resolveModel(AGENTWORLD.name, hub.options()));
    expect(error.message).toMatch(/no longer the file.*hf:unsloth/);
    expect(hub.downloads()).toEqual([]);
  });
});

describe('a path', () => {
  test('is taken as it is', async () => {
    const { directory, options } = await openHub();
    const path = join(directory, 'my.gguf');
    await writeFile(path, 'GGUF');
    expect(await resolveModel(path, options())).toBe(path);
  });

  test.each<[string, RegExp]>([
    ['nowhere.gguf', /no model file \S+nowhere\.gguf; name a GGUF file/],
    ['user/repo:Q8_0', /name .*hf:user\/repo:QUANT/],
    ['qwen-agentworld-35b-a3', /or qwen-agentworld-35b-a3b$/],
    ['.', /no model file/],
    ['hf:user', /does not name a model; write hf:user\/repo:QUANT/],
    ['hf:../..', /does not name a model/],
  ])('%s is refused with what to write', async (name, message) => {
    const { options } = await openHub();
    expect((await failure(resolveModel(name, options()))).message).toMatch(message);
  });
});
