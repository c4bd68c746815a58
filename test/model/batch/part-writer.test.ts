import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/errors.js';
import { type BatchPart, MOST_BYTES, MOST_REQUESTS } from '../../../src/model/batch/folder.js';
import { PartWriter } from '../../../src/model/batch/part-writer.js';
import { temporaryFolder } from '../../support/cli.js';

const line = (text: string) => [text, '\n'];

async function written(texts: readonly string[], bounds: { requests: number; bytes: number }) {
  const dir = await temporaryFolder();
  const parts: BatchPart[] = [];
  const writer = new PartWriter(dir, 1, async (part) => void parts.push(part), bounds);
  for (const text of texts) await writer.add(line(text));
  await writer.end();
  const files = await Promise.all(parts.map(({ file }) => readFile(join(dir, file), 'utf8')));
  return { dir, parts, files };
}

describe('files of requests', () => {
  it('hold so many requests, or so many bytes, and no more', async () => {
    expect(await written(['a', 'b', 'c'], { requests: 2, bytes: 100 })).toMatchObject({
      parts: [
        { file: 'requests-0001.jsonl', requests: 2, bytes: 4 },
        { file: 'requests-0002.jsonl', requests: 1, bytes: 2 },
      ],
      files: ['a\nb\n', 'c\n'],
    });
    const { files } = await written(['aaa', 'bbb', 'c', 'a long one', 'd'], { requests: 9, bytes: 8 });
    expect(files).toEqual(['aaa\nbbb\n', 'c\n', 'a long one\n', 'd\n']);
  });

  it('keep to what batch APIs take', () => {
    expect({ MOST_REQUESTS, MOST_BYTES }).toEqual({ MOST_REQUESTS: 50_000, MOST_BYTES: 190_000_000 });
  });

  it('come out whole where they are larger than a block', async () => {
    const texts = Array.from({ length: 60 }, (_, at) => `${at}`.repeat(30_000));
    const { files } = await written(texts, { requests: 1000, bytes: 1e9 });
    expect(files).toEqual([texts.map((text) => `${text}\n`).join('')]);
  });

  it('come out whole where a large one stands between small ones', async () => {
    const texts = Array.from({ length: 40 }, (_, at) => `${at}`.repeat(at % 3 === 0 ? 900_000 : 100_000));
    const { files } = await written(texts, { requests: 1000, bytes: 1e9 });
    expect(files).toEqual([texts.map((text) => `${text}\n`).join('')]);
  });

  it('count bytes of UTF-8', async () => {
    const { files, parts } = await written(['é字', '𝄞', 'c'], { requests: 9, bytes: 11 });
    expect(files).toEqual(['é字\n𝄞\n', 'c\n']);
    expect(parts).toMatchObject([{ bytes: 11 }, { bytes: 2 }]);
  });

  it('come out whole where they are many and short', async () => {
    const texts = Array.from({ length: 5000 }, (_, at) => `${at}`);
    const { files, parts } = await written(texts, { requests: 10_000, bytes: 1e9 });
    expect(files).toEqual([texts.map((text) => `${text}\n`).join('')]);
    expect(parts).toMatchObject([{ requests: 5000, bytes: files[0]?.length }]);
  });

  it('are taken away where they are not whole', async () => {
    const dir = await temporaryFolder();
    const writer = new PartWriter(dir, 7, async () => {});
    await writer.add(line('a'));
    expect(await readdir(dir)).toEqual(['requests-0007.jsonl.tmp']);
    await writer.discard();
    expect(await readdir(dir)).toEqual([]);
  });

  it('that the disk refuses are named', async () => {
    const dir = await temporaryFolder();
    await mkdir(join(dir, 'requests-0001.jsonl.tmp'));
    const writer = new PartWriter(dir, 1, async () => {});
    await expect(writer.add(line('a'))).rejects.toMatchObject({
      exitCode: EXIT.cannotWrite,
      message: expect.stringContaining('requests-0001.jsonl'),
    });
  });
});
