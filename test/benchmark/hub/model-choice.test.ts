// Which model of a repository is meant, and what is said where that is open.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { resolveModel } from '../../../src/benchmark/hub/models.js';
import { EXIT } from '../../../src/core/errors.js';
import { entryOf, failure, MODEL, openHub } from '../../support/hub.js';

describe('the models of a repository', () => {
  const several = {
    'm-Q4_K_M.gguf': MODEL,
    'm-UD-Q4_K_M.gguf': MODEL.subarray(0, 10),
    'm.Q8_0.gguf': MODEL.subarray(0, 20),
    'BF16/m-BF16-00001-of-00002.gguf': MODEL,
    'mmproj-F16.gguf': MODEL,
    'readme.md': MODEL,
  };

  test.each<[string, string, number, RegExp]>([
    [
      'no quantisation where there are several',
      'hf:user/repo',
      EXIT.usage,
      /several GGUF models.*m-UD-Q4_K_M\.gguf \(1 kB\), m\.Q8_0\.gguf .*m-Q4_K_M\.gguf \(300 kB\)$/,
    ],
    [
      'one that is not there',
      'hf:user/repo:Q5_K_M',
      EXIT.inputMissing,
      /has no GGUF model Q5_K_M; name a file as hf:user\/repo\/FILE: m-UD-Q4_K_M\.gguf /,
    ],
    ['half a split model', 'hf:user/repo:BF16', EXIT.inputMissing, /has no GGUF model BF16/],
    ['a projector for pictures', 'hf:user/repo:F16', EXIT.inputMissing, /has no GGUF model F16/],
    ['a file that is not there', 'hf:user/repo/n.gguf', EXIT.inputMissing, /has no GGUF model n\.gguf/],
  ])('%s is refused with the choices', async (_, name, exitCode, message) => {
    const hub = await openHub({ files: several });
    const error = await failure(resolveModel(name, hub.options()));
    expect(error.message).toMatch(message);
    expect(error.exitCode).toBe(exitCode);
    expect(hub.downloads()).toEqual([]);
  });

  test('two files of one quantisation are distinguished by name', async () => {
    const hub = await openHub({ files: { 'a-Q8_0.gguf': MODEL, 'b-Q8_0.gguf': MODEL } });
    expect((await failure(resolveModel('hf:user/repo:Q8_0', hub.options()))).message).toMatch(
      /hf:user\/repo\/FILE: a-Q8_0\.gguf/,
    );
    expect(await resolveModel('hf:user/repo/b-Q8_0.gguf', hub.options())).toBe(
      join(hub.directory, 'user--repo', 'b-Q8_0.gguf'),
    );
  });

  test('a repository without one says so', async () => {
    const hub = await openHub({ files: { 'readme.md': MODEL } });
    expect((await failure(resolveModel('hf:user/repo', hub.options()))).message).toMatch(/no GGUF/);
  });

  test('a path that leads out of the folder is never written', async () => {
    const entries = ['../evil-Q8_0.gguf', '/abs-Q8_0.gguf', 'a/../../b-Q8_0.gguf', 'c:\\d-Q8_0.gguf'].map((path) =>
      entryOf([path, MODEL]),
    );
    const hub = await openHub({ entries });
    expect((await failure(resolveModel('hf:user/repo:Q8_0', hub.options()))).message).toMatch(/no GGUF/);
    await failure(resolveModel('hf:user/repo/../../x.gguf', hub.options()));
    expect(await readdir(hub.directory)).toEqual([]);
  });
});
