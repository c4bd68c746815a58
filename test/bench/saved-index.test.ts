import { execFileSync } from 'node:child_process';
import {
  appendFile,
  copyFile,
  lstat,
  mkdir,
  open,
  readdir,
  readFile,
  rename,
  rm,
  symlink,
  utimes,
  writeFile,
} from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { type Dataset, openDataset } from '../../src/bench/dataset.js';
import type { IndexedData } from '../../src/bench/index-format.js';
import { indexRows } from '../../src/bench/indexing.js';
import { indexBeside, saveIndex, stampOf, wouldShowChanges } from '../../src/bench/saved-index.js';
import { EXIT } from '../../src/errors.js';
import { temporaryFolder } from '../support/cli.js';
import { rowText, writeText } from '../support/rows.js';

/** Of a row, so that four of them are as much as indexes are kept of. */
const MUCH = 9 << 20;
const LONG_AGO = new Date('2026-01-02T03:04:05.678Z');

/** A folder of data that was written long ago, and one for a run. */
async function folders(rowBytes = 10): Promise<{ data: string; run: string; kept: string }> {
  const dir = await temporaryFolder();
  const [data, run] = [join(dir, 'data'), join(dir, 'run')];
  const response = ['one', 'x'.repeat(rowBytes)];
  await writeText(data, 'a_test.jsonl', [
    rowText({ response }),
    rowText({ id: 'zwei', response }),
    '',
    rowText({ response }),
    '{',
  ]);
  await writeText(data, 'b_test.jsonl', [rowText({ task: 'web', response })]);
  for (const name of await readdir(data)) await utimes(join(data, name), LONG_AGO, LONG_AGO);
  await mkdir(run);
  return { data, run, kept: indexBeside(run) };
}

async function opened<T>(data: string, kept: string | undefined, use: (dataset: Dataset) => Promise<T>): Promise<T> {
  const dataset = await openDataset(data, undefined, kept);
  try {
    return await use(dataset);
  } finally {
    await dataset.close();
  }
}

const contentOf = ({ rows, bad, fingerprint, files }: Dataset) => ({ rows: [...rows], bad, fingerprint, files });

/** Keeps an index of the data as they are, with a mark by which it is known when it is used; or of rows that were there once. */
async function plant(data: string, kept: string, mark: string, columns?: IndexedData['columns']): Promise<void> {
  await withFiles(data, async (files) => {
    const stamps = await Promise.all(files.map(({ path, handle }) => stampOf(path, handle)));
    const planted = { columns: columns ?? (await indexRows(files, '')).columns, bad: [], fingerprint: mark };
    await saveIndex(kept, data, stamps, planted);
  });
}

async function withFiles<T>(data: string, use: (files: Parameters<typeof indexRows>[0]) => Promise<T>): Promise<T> {
  const names = (await readdir(data)).filter((name) => name.endsWith('_test.jsonl')).sort();
  const paths = names.map((name) => join(data, name));
  const files = await Promise.all(paths.map(async (path) => ({ path, handle: await open(path), bytes: 0 })));
  try {
    return await use(files);
  } finally {
    await Promise.all(files.map(({ handle }) => handle.close()));
  }
}

const fingerprintOf = (data: string, kept: string) => opened(data, kept, async ({ fingerprint }) => fingerprint);

describe('an index that was kept', () => {
  test('is used while the files are what they were, and says of them what reading them says', async () => {
    const { data, run, kept } = await folders(MUCH);
    const read = await opened(data, kept, async (dataset) => {
      await dataset.keepIndex();
      return contentOf(dataset);
    });
    expect(read.bad).toHaveLength(1);
    expect(await readdir(run)).toEqual(['.data-index']);
    const before = await readFile(kept);
    await opened(data, kept, async (dataset) => {
      expect(contentOf(dataset)).toEqual(read);
      for (const { position, key } of dataset.rows) expect((await dataset.readSample(position)).key).toBe(key);
      expect(dataset.rows.find(read.rows[2]?.key as string)).toBe(2);
      await dataset.keepIndex();
    });
    expect(await readFile(kept)).toEqual(before);
    await plant(data, kept, 'planted');
    expect(await fingerprintOf(data, kept)).toBe('planted');
  });

  test.each<[string, (data: string) => Promise<unknown>]>([
    ['has grown', (data) => appendFile(join(data, 'b_test.jsonl'), `${rowText({ id: 9 })}\n`)],
    [
      'was written to',
      async (data) =>
        writeFile(
          join(data, 'a_test.jsonl'),
          (await readFile(join(data, 'a_test.jsonl'), 'utf8')).replace('first', 'FIRST'),
        ),
    ],
    ['has another time', (data) => utimes(join(data, 'a_test.jsonl'), LONG_AGO, new Date(LONG_AGO.getTime() + 1))],
    [
      'was replaced by another of the same size and time',
      async (data) => {
        await copyFile(join(data, 'a_test.jsonl'), join(data, 'copy'));
        await utimes(join(data, 'copy'), LONG_AGO, LONG_AGO);
        await rename(join(data, 'copy'), join(data, 'a_test.jsonl'));
      },
    ],
    ['is gone', (data) => rm(join(data, 'b_test.jsonl'))],
    ['has another name', (data) => rename(join(data, 'b_test.jsonl'), join(data, 'c_test.jsonl'))],
    ['is new', (data) => writeText(data, 'c_test.jsonl', [rowText()])],
  ])('is passed over where a file of the data %s', async (_what, change) => {
    const { data, kept } = await folders();
    await plant(data, kept, 'planted');
    expect(await fingerprintOf(data, kept)).toBe('planted');
    await change(data);
    const fresh = await opened(data, undefined, async (dataset) => contentOf(dataset));
    expect(await opened(data, kept, async (dataset) => contentOf(dataset))).toEqual(fresh);
  });

  test('is passed over where it is damaged, whichever of its bytes', async () => {
    const { data, kept } = await folders();
    await plant(data, kept, 'planted');
    const whole = await readFile(kept);
    const fresh = await opened(data, undefined, async (dataset) => contentOf(dataset));
    for (let at = 0; at < whole.length; at += 37) {
      const damaged = Buffer.from(whole);
      damaged[at] = (damaged[at] as number) ^ 0x20;
      for (const bytes of [damaged, whole.subarray(0, at)]) {
        await writeFile(kept, bytes);
        expect(await opened(data, kept, async (dataset) => contentOf(dataset))).toEqual(fresh);
      }
    }
    await rm(kept);
    await mkdir(kept);
    expect(await opened(data, kept, async (dataset) => contentOf(dataset))).toEqual(fresh);
  });

  test('of rows that have changed unseen is taken away with the first of them, so that the same command works', async () => {
    const { data, kept } = await folders();
    const path = join(data, 'a_test.jsonl');
    const text = await readFile(path, 'utf8');
    const { columns } = await withFiles(data, (files) => indexRows(files, ''));
    await writeFile(path, text.replace('second', 'SECOND'));
    // As if neither time nor size had told: an index of what was there, with the stamps of what is there now.
    await plant(data, kept, 'stale', columns);
    await opened(data, kept, async (dataset) => {
      expect(dataset.fingerprint).toBe('stale');
      expect((await dataset.readSample(1)).key).toBe(dataset.rows.key(1));
      await expect(dataset.readSample(0)).rejects.toMatchObject({
        exitCode: EXIT.badData,
        message: expect.stringContaining('was changed while the run was reading it; run the same command again'),
      });
    });
    expect(await readdir(join(kept, '..'))).toEqual([]);
    await opened(data, kept, async (dataset) => {
      expect((await dataset.readSample(0)).prompts).toContain('SECOND\n\nPlease analyze the input above and so on');
    });
  });
});

describe('an index is not kept', () => {
  test('of data that were written so short a time ago that another change might go unseen', async () => {
    const stamp = (modifiedNs: bigint) => ({ text: '', bytes: 1, modifiedNs });
    const nowMs = 1_800_000_000_000;
    const [now, long] = [BigInt(nowMs) * 1_000_000n, stamp(0n)];
    expect(wouldShowChanges([long, stamp(now - 2_000_000_001n)], nowMs)).toBe(true);
    for (const ns of [now - 2_000_000_000n, now - 1n, now, now + 86_400_000_000_000n]) {
      expect(wouldShowChanges([long, stamp(ns)], nowMs)).toBe(false);
    }
    const { data, run, kept } = await folders(MUCH);
    await appendFile(join(data, 'b_test.jsonl'), '\n');
    await opened(data, kept, (dataset) => dataset.keepIndex());
    expect(await readdir(run)).toEqual([]);
  });

  test('of data that were changed while they were indexed', async () => {
    const { data, run, kept } = await folders(MUCH);
    // Whoever opens the data looks for an index between the first look at the files and the reading of them: here it waits for one.
    execFileSync('mkfifo', [kept]);
    const opening = openDataset(data, undefined, kept);
    const answer = await open(kept, 'w');
    await utimes(join(data, 'b_test.jsonl'), LONG_AGO, new Date(LONG_AGO.getTime() + 1));
    await answer.close();
    const dataset = await opening;
    await dataset.keepIndex();
    await dataset.close();
    expect((await lstat(join(run, '.data-index'))).isFIFO()).toBe(true);
  });

  test('of few data, which are read as fast', async () => {
    const { data, run, kept } = await folders();
    await opened(data, kept, (dataset) => dataset.keepIndex());
    expect(await readdir(run)).toEqual([]);
  });

  test('in the folder of the data, by whichever name', async () => {
    const { data, run } = await folders();
    const before = await readdir(data);
    await symlink(data, join(run, 'link'));
    for (const folder of [data, join(run, 'link')]) await plant(data, indexBeside(folder), 'planted');
    expect(await readdir(data)).toEqual(before);
  });

  test('where it cannot be written, and nobody minds', async () => {
    const { data, run } = await folders();
    await mkdir(join(indexBeside(run), 'in the way'), { recursive: true });
    for (const folder of [join(run, 'nowhere'), join(data, 'a_test.jsonl'), '/proc/self', run]) {
      await plant(data, indexBeside(folder), 'planted');
      await opened(data, indexBeside(folder), async ({ rows }) => expect(rows.length).toBe(4));
    }
    expect(await readdir(run)).toEqual(['.data-index']);
  });
});

test('what a killed writer has left is taken away by the next one', async () => {
  const { data, run, kept } = await folders();
  await writeFile(`${kept}.0123456789ab.tmp`, 'half');
  await writeFile(join(run, '.data-index-of-mine.tmp'), 'mine');
  await plant(data, kept, 'planted');
  expect((await readdir(run)).sort()).toEqual(['.data-index', '.data-index-of-mine.tmp']);
});

test('several that keep an index at once leave a whole one', async () => {
  const { data, run, kept } = await folders();
  const marks = Array.from({ length: 8 }, (_, at) => `planted ${at}`);
  await Promise.all(marks.map((mark) => plant(data, kept, mark)));
  expect(await readdir(run)).toEqual(['.data-index']);
  expect(marks).toContain(await fingerprintOf(data, kept));
});
