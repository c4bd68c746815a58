// The official rubrics: fetched once, checked, and kept below the cache.

import { createHash } from 'node:crypto';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join, relative } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { officialRubrics } from '../../../src/benchmark/hub/official-rubrics.js';
import { EXIT } from '../../../src/core/errors.js';
import { temporaryFolder } from '../../support/cli.js';

const TEXTS: Readonly<Record<string, string>> = { 'prompts/web/a.txt': 'Rate the web.\r\n', 'eval/b.py': 'X = 1\n' };
const files = Object.fromEntries(
  Object.entries(TEXTS).map(([path, text]) => [path, createHash('sha256').update(text).digest('hex')]),
);
const MIRROR = 'http://mirror.example:81/raw/';

let cache: string;
let asked: string[];
let told: string[];
beforeEach(async () => {
  cache = await temporaryFolder();
  [asked, told] = [[], []];
});

/** Fetches from a mirror that answers so to a path. */
function fetched(
  answer: (path: string) => Response | Promise<Response> = (path) => new Response(TEXTS[path]),
  { env = {}, signal = new AbortController().signal } = {},
): Promise<string> {
  return officialRubrics({
    env: { XDG_CACHE_HOME: cache, AWB_GITHUB_RAW: MIRROR, ...env },
    fetch: async (url) => {
      asked.push(url.href);
      return answer(url.pathname.split('/').slice(5).join('/'));
    },
    signal,
    onFetch: (text) => told.push(text),
    files,
  });
}

describe('the official rubrics', () => {
  test('are fetched at their commit from the mirror that is named, and kept as they are', async () => {
    const folder = await fetched();
    expect(relative(cache, folder)).toMatch(/^agentworldbench\/official-rubrics\/cd0aa83[0-9a-f]{33}$/);
    for (const [path, text] of Object.entries(TEXTS)) expect(await readFile(join(folder, path), 'utf8')).toBe(text);
    expect(asked).toHaveLength(2);
    for (const url of asked) expect(url).toMatch(/^http:\/\/mirror\.example:81\/raw\/QwenLM\/Qwen-AgentWorld\/cd0aa83/);
    expect(told).toEqual([expect.stringContaining('from mirror.example:81')]);
    expect(await fetched()).toBe(folder);
    expect(asked).toHaveLength(2);
    expect(told).toHaveLength(1);
  });

  test('come from GitHub where no mirror is named', async () => {
    await fetched(undefined, { env: { AWB_GITHUB_RAW: '' } }).catch(() => undefined);
    expect(asked[0]).toMatch(/^https:\/\/raw\.githubusercontent\.com\/QwenLM\/Qwen-AgentWorld\/cd0aa83[0-9a-f]{33}\//);
  });

  test('that were changed or taken away are fetched again, and no others', async () => {
    const folder = await fetched();
    await writeFile(join(folder, 'eval/b.py'), 'X = 2\n');
    await fetched();
    expect(await readFile(join(folder, 'eval/b.py'), 'utf8')).toBe('X = 1\n');
    await rm(join(folder, 'prompts'), { recursive: true });
    await fetched();
    expect(asked.slice(2).map((url) => url.split('/').at(-1))).toEqual(['b.py', 'a.txt']);
  });

  test.each<[string, () => Response, number, RegExp]>([
    ['another content', () => new Response('X = 3'), EXIT.badData, /serves a prompts\/web\/a\.txt that differs from/],
    ['a refusal', () => new Response('', { status: 404 }), EXIT.unavailable, /\(status 404\)/],
  ])(
    'are refused with the next step where a mirror gives %s, and nothing of it is kept',
    async (_, answer, code, words) => {
      const error = await fetched(answer).catch((caught: unknown) => caught);
      expect(error).toMatchObject({ exitCode: code, message: expect.stringMatching(words) });
      expect(error).toMatchObject({
        message: expect.stringMatching(/AWB_GITHUB_RAW to a mirror of \S+, or check out .* at cd0aa83 .* --rubrics$/),
      });
      await expect(readFile(join(cache, 'agentworldbench'))).rejects.toThrow();
      await fetched();
      expect(asked).toHaveLength(3);
    },
  );

  test('say why if there is no network', async () => {
    const refused = async () => {
      throw new TypeError('fetch failed', { cause: Object.assign(new Error('no'), { code: 'ENOTFOUND' }) });
    };
    await expect(fetched(refused)).rejects.toMatchObject({
      exitCode: EXIT.unavailable,
      message: expect.stringContaining('mirror.example:81 does not serve the official rubrics (ENOTFOUND)'),
    });
  });

  test.each(['file:///etc', 'https://user:secret@mirror.example', 'nonsense'])('take no mirror %s', async (address) => {
    const error = await fetched(undefined, { env: { AWB_GITHUB_RAW: address } }).catch((caught: unknown) => caught);
    expect(error).toMatchObject({ exitCode: EXIT.usage });
    expect(String(error)).not.toContain('secret');
  });

  test('end where they are interrupted', async () => {
    const stop = new AbortController();
    stop.abort('SIGINT');
    const never = async () => {
      throw new Error('aborted');
    };
    await expect(fetched(never, { signal: stop.signal })).rejects.toMatchObject({ exitCode: 130 });
  });
});
