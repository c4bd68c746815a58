// A run with its own server: prefixes are reused as with one request at a time.

import { join } from 'node:path';
import { beforeAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { startAwb, temporaryFolder } from '../support/cli.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';
import { keptModel, RANDOM_MODELS } from '../support/tiny-model/model.js';

const ENV = { AWB_GPU: 'off', AWB_THREADS: '1' };

let folder: string;

beforeAll(async () => {
  folder = await temporaryFolder();
});

describe('a run', { timeout: 120_000 }, () => {
  test('reuses as many tokens by default as with one request at a time', async () => {
    const tiny = await keptModel(RANDOM_MODELS.tiny, folder);
    const data = await writeDataset(join(folder, 'data'), { 'android_test.jsonl': madeUpRows('android', 9) });
    const tokens = async (flags: readonly string[]): Promise<readonly [cached: number, prompt: number]> => {
      const asked = ['infer', '--data-dir', data, '--quiet', '--max-tokens', '4', '--json'];
      const infer = startAwb([...asked, '--output-dir', await temporaryFolder(), ...flags], ENV);
      const { code, stdout, stderr } = await infer.ended;
      expect([code, stderr]).toEqual([EXIT.done, '']);
      const { cachedTokens = 0, promptTokens } = JSON.parse(stdout).tokens;
      return [cachedTokens, promptTokens];
    };
    const oneByOne = await tokens(['--local', tiny, '--concurrency', '1']);
    expect(oneByOne[0]).toBeGreaterThan(oneByOne[1] / 3);
    expect(await tokens(['--local', tiny])).toEqual(oneByOne);
    // The run's own server says how many slots it has.
    const server = startAwb(['serve', '--model', tiny, '--port', '0', '--json', '--quiet'], ENV);
    const printed = await new Promise<string>((done) =>
      server.child.stdout?.once('data', (text) => done(String(text))),
    );
    const { url, model } = JSON.parse(printed);
    expect(await tokens(['--model-base-url', url, '--model-name', model.name])).toEqual(oneByOne);
    server.child.kill();
    await server.ended;
  });
});
