import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, it } from 'vitest';
import { EXIT } from '../../../src/errors.js';
import { type Batch, partName, readBatch, resultFiles, writeBatch } from '../../../src/model/batch/folder.js';
import { temporaryFolder } from '../../support/cli.js';

const BATCH: Batch = {
  run: { kind: 'infer', dir: '/runs/a', fingerprint: 'f', identity: { model: 'm' } },
  model: 'm',
  url: '/v1/chat/completions',
  baseUrl: 'http://127.0.0.1:8000/v1',
  dropped: ['top_k'],
  parts: [{ file: 'requests-0001.jsonl', requests: 2, bytes: 100 }],
};

describe('batch.json', () => {
  it('comes back as it was written, and nothing is left beside it', async () => {
    const folder = await temporaryFolder();
    await writeBatch(folder, BATCH);
    await writeBatch(folder, { ...BATCH, dropped: [], isRenamed: true });
    expect(await readBatch(folder)).toEqual({ ...BATCH, dropped: [], isRenamed: true });
    expect(await readdir(folder)).toEqual(['batch.json']);
    expect(JSON.parse(await readFile(join(folder, 'batch.json'), 'utf8')).schema).toBe('awb.batch/2');
  });

  it('is begun by one run alone, which leaves nothing beside it', async () => {
    const folder = await temporaryFolder();
    const runs = ['/runs/a', '/runs/b', '/runs/c'].map((dir) => ({ ...BATCH, run: { ...BATCH.run, dir } }));
    const begun = await Promise.allSettled(runs.map((batch) => writeBatch(folder, batch, true)));
    const place = begun.findIndex(({ status }) => status === 'fulfilled');
    expect(await readBatch(folder)).toEqual(runs[place]);
    for (const [other, one] of begun.entries()) {
      if (other !== place) expect(one).toMatchObject({ reason: { exitCode: EXIT.identityDiffers } });
    }
    expect(await readdir(folder)).toEqual(['batch.json']);
  });

  it('takes away what a killed beginning has left', async () => {
    for (const isFirst of [true, false]) {
      const folder = await temporaryFolder();
      await writeFile(join(folder, 'batch.json.0123456789ab.tmp'), '{');
      await writeBatch(folder, BATCH, isFirst);
      expect(await readdir(folder)).toEqual(['batch.json']);
    }
  });

  it('is absent where nothing was written', async () => {
    const folder = await temporaryFolder();
    expect(await readBatch(folder)).toBeUndefined();
    expect(await readBatch(join(folder, 'nowhere'))).toBeUndefined();
  });

  it.each([
    ['cut off', '{"schema":"awb.batch/2"'],
    ['of another version', JSON.stringify({ ...BATCH, schema: 'awb.batch/1' })],
    ['without its run', JSON.stringify({ schema: 'awb.batch/2', ...BATCH, run: undefined })],
    [
      'with a part elsewhere',
      JSON.stringify({ schema: 'awb.batch/2', ...BATCH, parts: [{ file: '../x.jsonl', requests: 1, bytes: 1 }] }),
    ],
  ])('%s is refused by its name (65)', async (_, text) => {
    const folder = await temporaryFolder();
    await writeFile(join(folder, 'batch.json'), text);
    await expect(readBatch(folder)).rejects.toMatchObject({
      exitCode: EXIT.badData,
      message: expect.stringContaining(join(folder, 'batch.json')),
    });
  });

  it('that cannot be read, or written, is named with what to do', async () => {
    const folder = await temporaryFolder();
    await mkdir(join(folder, 'batch.json'));
    await expect(readBatch(folder)).rejects.toMatchObject({ exitCode: EXIT.inputMissing });
    await expect(writeBatch(join(folder, 'nowhere'), BATCH)).rejects.toMatchObject({ exitCode: EXIT.cannotWrite });
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
    expect(await resultFiles(folder)).toEqual(['errors-0001.jsonl', 'outputs-0002.jsonl']);
    expect(partName(1)).toBe('requests-0001.jsonl');
  });

  it('are none where there is no folder', async () => {
    const folder = await temporaryFolder();
    expect(await resultFiles(join(folder, 'nowhere'))).toEqual([]);
  });
});
