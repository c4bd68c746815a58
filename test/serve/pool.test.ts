// Node's pool at its sizes, each in a process of its own: what is said of it, and that replies do not depend on it.

import { execFile } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { describe, expect, test, vi } from 'vitest';
import { isSerialPool } from '../../src/serve/pool.js';
import { needsTwoThreads } from '../../src/serve/threads.js';
import { ROOT, temporaryFolder } from '../support/cli.js';
import { OPTIONS, random } from '../support/engine.js';

vi.mock('node:crypto', { spy: true });

const COMPILED = `file://${join(ROOT, 'dist/serve')}`;

/** What a program prints, as JSON, that runs with so many threads in its pool. */
async function printed(program: string, threads: string): Promise<unknown> {
  const env = { PATH: process.env.PATH, UV_THREADPOOL_SIZE: threads };
  // A file, since node-llama-cpp starts a process of its own with the flags of this one.
  const file = join(await temporaryFolder(), 'program.mjs');
  await writeFile(file, `console.log(JSON.stringify(await (async () => { ${program} })()));`);
  return JSON.parse((await promisify(execFile)(process.execPath, [file], { env })).stdout);
}

describe('a pool', () => {
  const isSerial = `return (await import('${COMPILED}/pool.js')).isSerialPool()`;

  test.each([
    ['1', true],
    ['2', false],
    ['4', false],
  ])('of %s threads: serial is %s', async (threads, serial) => {
    expect(await printed(isSerial, threads)).toBe(serial);
  });

  test('of several threads is not serial, whatever the environment says', async () => {
    expect(await isSerialPool({ UV_THREADPOOL_SIZE: '1' })).toBe(false);
    expect(await isSerialPool({})).toBe(false);
  });

  test('of several threads is not serial either where one of them is late by chance', async () => {
    vi.mocked(randomBytes).mockImplementationOnce(((_size: number, drawn: () => void) => {
      setTimeout(drawn, 500);
    }) as unknown as typeof randomBytes);
    expect(await isSerialPool({ UV_THREADPOOL_SIZE: '1' })).toBe(false);
  });
});

const CHANGES = [
  { temperature: 0.8, topK: 20 },
  { temperature: 0.8, topK: 20, presencePenalty: 1, repetitionPenalty: 1.2 },
  { temperature: 1, thinkingBudget: 4, responseFormat: { type: 'json_object' } },
  { temperature: 1, scores: { reply: true, top: 2 } },
];

// Where one thread computes batches wrongly, the claim cannot be made with one.
const parallels = [1, 3].filter((parallel) => !needsTwoThreads(parallel));

test.each(parallels)('replies of %d slots are the same with one thread as with four', async (parallel) => {
  const settings = { name: 'tiny', gpu: 'off', contextSize: 2048, kvCache: 'f16', flashAttention: true, threads: 1 };
  const options = CHANGES.map((change) => ({ ...OPTIONS, ...change }));
  const program = `
    const { openEngine } = await import('${COMPILED}/engine.js');
    const { readModelFile } = await import('${COMPILED}/gguf-file.js');
    const file = await readModelFile(${JSON.stringify(random)});
    const settings = { ...${JSON.stringify(settings)}, file, parallel: ${parallel}, checkpointBytes: 2 ** 24 };
    const engine = await openEngine(settings);
    const answers = ${JSON.stringify(options)}.map(async (options, place) => {
      const events = [];
      const prompt = { messages: [{ role: 'user', content: 'Case ' + place }] };
      const all = { ...options, thinkingBudget: options.thinkingBudget ?? Infinity };
      for await (const event of engine.generate(prompt, all, new AbortController().signal)) events.push(event);
      return events;
    });
    const told = await Promise.all(answers);
    await engine.close();
    return told;`;
  const [one, four] = await Promise.all([printed(program, '1'), printed(program, '4')]);
  expect(one).toEqual(four);
  expect(JSON.stringify(one)).toMatch(/"finishReason":"(?:stop|length)"/);
});
