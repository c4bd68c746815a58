// Files that cannot be served, and their messages.

import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { EXIT, UserError } from '../../src/core/errors.js';
import type { EngineSettings } from '../../src/serve/load.js';
import { folder, scripted, start } from '../support/engine.js';
import { keptModel, RANDOM_MODELS } from '../support/tiny-model/model.js';

describe('files that cannot be served', () => {
  const failure = async (path: string, changed: Partial<EngineSettings> = {}): Promise<UserError> => {
    const error = await start(path, changed).then(
      () => undefined,
      (thrown: unknown) => thrown,
    );
    expect(error).toBeInstanceOf(UserError);
    expect((error as UserError).message).not.toContain('\n');
    return error as UserError;
  };

  test('a missing file', async () => {
    expect(await failure(join(folder, 'none.gguf'))).toMatchObject({
      exitCode: EXIT.inputMissing,
      message: expect.stringContaining('no such file'),
    });
  });

  test('a split model without one of its parts, or not named by its first', async () => {
    const [first, second] = ['00001', '00002'].map((part) => join(folder, `split-${part}-of-00002.gguf`)) as [
      string,
      string,
    ];
    await writeFile(first, 'GGUF');
    expect((await failure(first)).message).toMatch(/split-00002-of-00002\.gguf: no such file/);
    await writeFile(second, 'GGUF');
    expect((await failure(second)).message).toMatch(/name its first part/);
  });

  test.each([
    ['text', 'not a model at all'],
    ['nothing', ''],
  ])('a file of %s', async (_, text) => {
    const path = join(folder, 'text.gguf');
    await writeFile(path, text);
    expect(await failure(path)).toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('is not a GGUF file'),
    });
  });

  test.each([0.001, 0.02, 0.5, 0.99])('a file cut off after %d of its length', async (share) => {
    const bytes = await readFile(scripted);
    const path = join(folder, 'cut.gguf');
    await writeFile(path, bytes.subarray(0, Math.ceil(bytes.length * share)));
    const { message, exitCode } = await failure(path);
    expect(exitCode).toBe(EXIT.badData);
    expect(message).toMatch(/truncated or damaged .*download it again/);
  });

  test('an unknown architecture', async () => {
    const path = join(folder, 'unknown.gguf');
    const bytes = await readFile(scripted);
    await writeFile(path, Buffer.from(bytes.toString('latin1').replaceAll('qwen35moe', 'qwen99moe'), 'latin1'));
    expect(await failure(path)).toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining('"qwen99moe"'),
    });
  });

  test('too little memory', async () => {
    const wide = { ...RANDOM_MODELS.tiny.shape, heads: 8, keyValueHeads: 8, headWidth: 1024 };
    const path = await keptModel({ ...RANDOM_MODELS.tiny, name: 'wide', shape: wide }, folder);
    expect(await failure(path, { contextSize: 262_144, slots: 50 })).toMatchObject({
      exitCode: EXIT.unavailable,
      message: expect.stringMatching(/too little memory.*--context/),
    });
  });

  test('a context longer than the model knows', async () => {
    expect(await failure(scripted, { contextSize: 2 ** 30 })).toMatchObject({
      exitCode: EXIT.usage,
      message: expect.stringContaining('262144'),
    });
  });

  test('a GPU without a binary', async () => {
    const other = process.platform === 'darwin' ? 'cuda' : 'metal';
    expect(await failure(scripted, { gpu: other })).toMatchObject({
      exitCode: EXIT.unavailable,
      message: expect.stringMatching(new RegExp(`${other}.*--gpu off`)),
    });
  });
});
