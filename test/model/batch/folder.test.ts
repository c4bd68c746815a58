import { mkdir, readdir, readFile, symlink, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import {
  type Batch,
  type BatchPart,
  folderAt,
  MOST_BYTES,
  MOST_REQUESTS,
  partName,
} from '../../../src/model/batch/folder.js';
import { temporaryFolder } from '../../support/cli.js';

const BATCH: Batch = {
  run: { kind: 'infer', dir: '/runs/a', fingerprint: 'f', identity: { model: 'm' } },
  model: 'm',
  url: '/v1/chat/completions',
  baseUrl: 'http://127.0.0.1:8000/v1',
  dropped: ['top_k'],
  parts: [{ file: 'requests-0001.jsonl', requests: 2, bytes: 100, sha256: 'f' }],
};

describe('batch.json', () => {
  it('is read as it was written, and nothing is left next to it', async () => {
    const folder = await temporaryFolder();
    await folderAt(folder).batch.write(BATCH);
    await folderAt(folder).batch.write({ ...BATCH, dropped: [], isRenamed: true });
    expect(await folderAt(folder).batch.read()).toEqual({ ...BATCH, dropped: [], isRenamed: true });
    expect(await readdir(folder)).toEqual(['batch.json']);
    expect(JSON.parse(await readFile(join(folder, 'batch.json'), 'utf8')).schema).toBe('awb.batch/2');
  });

  it('is absent where nothing was written', async () => {
    const folder = await temporaryFolder();
    expect(await folderAt(folder).batch.read()).toBeUndefined();
    expect(await folderAt(join(folder, 'nowhere')).batch.read()).toBeUndefined();
  });

  it.each([
    ['cut off', '{"schema":"awb.batch/2"'],
    ['of another version', JSON.stringify({ ...BATCH, schema: 'awb.batch/1' })],
    ['without its run', JSON.stringify({ schema: 'awb.batch/2', ...BATCH, run: undefined })],
    [
      'with a part elsewhere',
      JSON.stringify({
        schema: 'awb.batch/2',
        ...BATCH,
        parts: [{ file: '../x.jsonl', requests: 1, bytes: 1, sha256: 'f' }],
      }),
    ],
  ])('%s is refused by its name (65)', async (_, text) => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'batch.json'), text);
    await expect(folderAt(folder).batch.read()).rejects.toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining(join(folder, 'batch.json')),
    });
  });

  it('that cannot be read, or written, is named with what to do', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'batch.json'));
    await expect(folderAt(folder).batch.read()).rejects.toMatchObject({ exitCode: EXIT.inputMissing });
    await expect(folderAt(join(folder, 'nowhere')).batch.write(BATCH)).rejects.toMatchObject({
      exitCode: EXIT.cannotWrite,
    });
  });
});

describe('submission.json', () => {
  it('names only files of the folder, since results are named after them', async () => {
    const folder = await temporaryFolder();
    const sent = { host: 'h', requests: 1, bytes: 1, fileName: 'awb-1-requests-0001.jsonl' };
    const submitted = (part: string) => ({ baseUrl: 'http://h/v1', sent: [{ part, ...sent }] });
    await folderAt(folder).submission.write(submitted(partName(1)));
    expect(await folderAt(folder).submission.read()).toEqual(submitted(partName(1)));
    await folderAt(folder).submission.write(submitted('../requests-0001.jsonl'));
    await expect(folderAt(folder).submission.read()).rejects.toMatchObject({ exitCode: EXIT.badData });
  });
});

describe('the files of a folder', () => {
  it('are results unless they are requests, in the order of their names', async () => {
    const folder = await temporaryFolder();
    for (const name of [
      'outputs-0002.jsonl',
      'errors-0001.jsonl',
      partName(1),
      partName(12_345),
      'batch.json',
      'notes.txt',
    ])
      await writeFile(join(folder, name), '');
    expect(await folderAt(folder).resultFiles()).toEqual(['errors-0001.jsonl', 'outputs-0002.jsonl']);
    expect(partName(1)).toBe('requests-0001.jsonl');
  });

  it('are none if there is no folder', async () => {
    const folder = await temporaryFolder();
    expect(await folderAt(join(folder, 'nowhere')).resultFiles()).toEqual([]);
  });
});

async function* linesOf(texts: readonly string[]): AsyncGenerator<string> {
  for (const text of texts) yield `${text}\n`;
}

async function written(texts: readonly string[], bounds: { requests: number; bytes: number }) {
  const dir = await temporaryFolder();
  const parts: BatchPart[] = [];
  await folderAt(dir).writeParts([], linesOf(texts), async (part) => void parts.push(part), bounds);
  const files = await Promise.all(parts.map(({ file }) => readFile(join(dir, file), 'utf8')));
  return { parts, files };
}

describe('files of requests', () => {
  it('contain a given number of requests, or of bytes, and no more', async () => {
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

  it('are none if there are no requests', async () => {
    expect(await written([], { requests: 9, bytes: 8 })).toEqual({ parts: [], files: [] });
  });

  it('keep to what batch APIs take', () => {
    expect({ MOST_REQUESTS, MOST_BYTES }).toEqual({ MOST_REQUESTS: 50_000, MOST_BYTES: 190_000_000 });
  });

  it('count bytes of UTF-8', async () => {
    const { files, parts } = await written(['é字', '𝄞', 'c'], { requests: 9, bytes: 11 });
    expect(files).toEqual(['é字\n𝄞\n', 'c\n']);
    expect(parts).toMatchObject([{ bytes: 11 }, { bytes: 2 }]);
  });

  it('come out whole where they are many and short, or larger than a block, and large ones stand between small ones', async () => {
    const many = Array.from({ length: 5000 }, (_, at) => `${at}`);
    const large = Array.from({ length: 40 }, (_, at) => `${at}`.repeat(at % 3 === 0 ? 900_000 : 100_000));
    for (const texts of [many, large]) {
      const { files, parts } = await written(texts, { requests: 10_000, bytes: 1e9 });
      expect(files).toEqual([texts.map((text) => `${text}\n`).join('')]);
      expect(parts).toMatchObject([{ requests: texts.length, bytes: files[0]?.length }]);
    }
  });

  it('follow the listed ones, replace whatever has their name, and are listed once complete', async () => {
    const dir = await temporaryFolder();
    await writeFile(join(dir, 'victim'), 'precious');
    await symlink(join(dir, 'victim'), join(dir, 'requests-0008.jsonl'));
    const listed: string[] = [];
    await folderAt(dir).writeParts([{ file: partName(7) }], linesOf(['a']), async ({ file }) => {
      listed.push(`${file}: ${await readFile(join(dir, file), 'utf8')}`);
    });
    expect(listed).toEqual(['requests-0008.jsonl: a\n']);
    expect(await readFile(join(dir, 'victim'), 'utf8')).toBe('precious');
  });

  it('are taken away where they are not whole', async () => {
    const dir = await temporaryFolder();
    const broken = async function* () {
      yield 'a\n';
      throw new Error('no more');
    };
    await expect(folderAt(dir).writeParts([], broken(), async () => {})).rejects.toThrow('no more');
    expect(await readdir(dir)).toEqual([]);
    for (const name of ['requests-0001.jsonl.0123456789ab.tmp', 'batch.json.0123456789ab.tmp', 'mine.tmp']) {
      await writeFile(join(dir, name), '{');
    }
    await folderAt(dir).clearRemains();
    expect(await readdir(dir)).toEqual(['mine.tmp']);
  });

  it('that the disk refuses are named', async () => {
    const dir = join(await temporaryFolder(), 'nowhere');
    await expect(folderAt(dir).writeParts([], linesOf(['a']), async () => {})).rejects.toMatchObject({
      exitCode: EXIT.cannotWrite,
      message: expect.stringContaining('requests-0001.jsonl'),
    });
  });
});
