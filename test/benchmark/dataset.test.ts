import { execFileSync } from 'node:child_process';
import { appendFile, mkdir, readFile, symlink, truncate, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { type Dataset, openDataset, type RowRef } from '../../src/benchmark/dataset.js';
import { EXIT, type UserError } from '../../src/core/errors.js';
import { DOMAINS } from '../../src/core/types.js';
import { RECORDED, temporaryFolder } from '../support/cli.js';
import { rowText, writeText } from '../support/rows.js';

/** A folder with one file of these lines. */
async function folderOf(...lines: (string | Uint8Array)[]): Promise<string> {
  const dir = await temporaryFolder();
  await writeText(dir, 'a_test.jsonl', lines);
  return dir;
}

async function opened<T>(dir: string, use: (dataset: Dataset) => Promise<T>): Promise<T> {
  const dataset = await openDataset(dir);
  try {
    return await use(dataset);
  } finally {
    await dataset.close();
  }
}

const indexed = (dir: string) => opened(dir, async ({ rows, bad, fingerprint }) => ({ rows, bad, fingerprint }));

describe('openDataset', () => {
  test('takes every *_test.jsonl in name order, whatever the names mean, and nothing else', async () => {
    const dir = await folderOf(rowText({ id: 'a1' }), rowText({ id: 'a2' }));
    await writeText(dir, 'B_test.jsonl', [rowText({ id: 'B', task: 'web' })]);
    await writeText(dir, 'c_test.json', ['nonsense']);
    await writeText(dir, 'web_test.jsonl', [rowText({ id: 'w' })]);
    await writeText(dir, 'web_test.jsonl.bak', ['nonsense']);
    const { rows, bad } = await indexed(dir);
    expect(rows.map(({ id, domain, position, file, line }) => [id, domain, position, file, line])).toEqual([
      ['B', 'web', 0, 0, 1],
      ['a1', 'mcp', 1, 1, 1],
      ['a2', 'mcp', 2, 1, 2],
      ['w', 'mcp', 3, 2, 1],
    ]);
    expect(bad).toEqual([]);
  });

  test('reads the recorded rows, each line verbatim', async () => {
    await opened(RECORDED, async (dataset) => {
      const { rows } = dataset;
      expect(new Set(rows.map((row) => row.domain))).toEqual(new Set(DOMAINS));
      expect(new Set(rows.map((row) => row.key)).size).toBe(dataset.rows.length);
      for (const row of dataset.rows) {
        const lines = (await readFile(dataset.files[row.file] as string, 'utf8')).split('\n');
        const text = lines[row.line - 1] as string;
        expect(await dataset.readText(row)).toBe(text);
        expect(`${JSON.parse(text).id}`).toBe(row.id);
        expect((await dataset.readSample(row)).responses).toEqual(JSON.parse(text).response);
      }
    });
  });

  test('a byte order mark, line ends of Windows, blank lines and a missing last line feed do no harm', async () => {
    const dir = await temporaryFolder();
    const [first, second] = [rowText({ id: 'ä\u2028' }), rowText({ id: 2 })];
    await writeFile(join(dir, 'x_test.jsonl'), `\ufeff${first}\r\n\r\n \n${second}`);
    await opened(dir, async (dataset) => {
      const { rows } = dataset;
      expect(rows.map((row) => [row.id, row.line])).toEqual([
        ['ä\u2028', 1],
        ['2', 4],
      ]);
      expect(await Promise.all(rows.map((row) => dataset.readText(row)))).toEqual([first, second]);
    });
  });

  test('lines that are not rows are listed by file, line and reason, and the others are kept', async () => {
    const invalid = Uint8Array.from([0x7b, 0xff, 0x7d]);
    const dir = await folderOf(
      rowText(),
      '{',
      '',
      rowText({ turn_idx: 0 }),
      invalid,
      rowText({ id: 2 }),
      rowText({ task: 'lwm/' }),
    );
    const { rows, bad } = await indexed(dir);
    expect(rows.map((row) => row.line)).toEqual([1, 6]);
    expect(bad).toEqual([
      { file: 'a_test.jsonl', line: 2, reason: expect.stringContaining('not valid JSON') },
      { file: 'a_test.jsonl', line: 4, reason: expect.stringContaining('"turn_idx" 0'), domain: 'mcp' },
      { file: 'a_test.jsonl', line: 5, reason: 'not valid UTF-8' },
      { file: 'a_test.jsonl', line: 7, reason: expect.stringContaining('"task" names no domain') },
    ]);
  });

  test('a line that is too long is listed as such, and the next one is there', async () => {
    const dir = await folderOf(rowText());
    const file = join(dir, 'a_test.jsonl');
    await truncate(file, 140_000_000);
    await appendFile(file, `\n${rowText({ id: 2 })}\n`);
    const { rows, bad } = await indexed(dir);
    expect(rows.map((row) => row.line)).toEqual([1, 3]);
    expect(bad).toEqual([{ file: 'a_test.jsonl', line: 2, reason: 'too long: a line may have at most 128 MiB' }]);
  });

  test('is left when the user stops it', async () => {
    const dir = await folderOf(rowText());
    const stopped = openDataset(dir, AbortSignal.abort('SIGINT'));
    await expect(stopped).rejects.toMatchObject({ exitCode: EXIT.interrupted });
  });

  test('a FIFO is not waited for', async () => {
    const dir = await folderOf(rowText());
    execFileSync('mkfifo', [join(dir, 'b_test.jsonl')]);
    await expect(openDataset(dir)).rejects.toMatchObject({
      exitCode: EXIT.inputMissing,
      message: expect.stringContaining('b_test.jsonl: it is a special file'),
    });
  });

  test('equal rows get ordinals, over all files', async () => {
    const dir = await folderOf(rowText(), rowText({ id: 2 }), rowText({ gen: 'ours' }));
    await writeText(dir, 'b_test.jsonl', [rowText()]);
    const { rows } = await indexed(dir);
    const key = rows[0]?.key as string;
    expect(rows.map((row) => row.key)).toEqual([key, rows[1]?.key, `${key}-1`, `${key}-2`]);
    await opened(dir, async (dataset) => {
      for (const row of dataset.rows) expect((await dataset.readSample(row)).key).toBe(row.key);
    });
  });

  test('a row is found only by its key, and a numeric id keeps its digits', async () => {
    const dir = await folderOf(rowText().replace('"id":1', '"id":900719925474099312'), rowText(), rowText());
    await opened(dir, async ({ rows, find }) => {
      expect(rows.map(({ id }) => id)).toEqual(['900719925474099312', '1', '1']);
      for (const row of rows) expect(find(row.key)).toBe(row);
      for (const key of ['', 'x', `${rows[1]?.key}-2`]) expect(find(key)).toBeUndefined();
    });
  });

  test('trajectories have one number each, in the order of their first rows', async () => {
    const { rows } = await indexed(await folderOf(...['a', 'b', 'a', 'c', 'b'].map((id) => rowText({ id }))));
    expect(rows.map(({ trajectoryNumber }) => trajectoryNumber)).toEqual([0, 1, 0, 2, 1]);
    expect(new Set(rows.map(({ trajectory }) => trajectory)).size).toBe(3);
  });

  test('the fingerprint is that of the rows, not of their spelling or their files', async () => {
    const [first, second] = [rowText(), rowText({ id: 'é' })];
    const respelled = `{ ${second.slice(1).replace('é', '\\u00e9')}`;
    const { fingerprint } = await indexed(await folderOf(first, second));
    const split = await folderOf(first);
    await writeText(split, 'b_test.jsonl', [respelled]);
    expect((await indexed(split)).fingerprint).toBe(fingerprint);
    expect((await indexed(await folderOf(second, first))).fingerprint).not.toBe(fingerprint);
    expect((await indexed(await folderOf(first))).fingerprint).not.toBe(fingerprint);
  });

  test.each([
    ['a folder that is not there', (dir: string) => join(dir, 'nowhere'), 'there is no such file or folder'],
    ['a file in its place', (dir: string) => join(dir, 'a_test.jsonl'), 'ENOTDIR'],
    ['a folder without such files', (dir: string) => join(dir, 'empty'), 'no *_test.jsonl file'],
    ['a folder named like a file', (dir: string) => join(dir, 'odd'), 'it is a folder'],
    ['a link to nowhere', (dir: string) => join(dir, 'linked'), 'there is no such file'],
  ])('%s is input that is missing', async (_what, place, message) => {
    const dir = await folderOf(rowText());
    await mkdir(join(dir, 'empty'));
    await mkdir(join(dir, 'odd/x_test.jsonl'), { recursive: true });
    await mkdir(join(dir, 'linked'));
    await symlink(join(dir, 'gone'), join(dir, 'linked/x_test.jsonl'));
    const error: UserError = await openDataset(place(dir)).then(undefined, (caught) => caught);
    expect(error).toMatchObject({ name: 'UserError', exitCode: EXIT.inputMissing });
    expect(error.message).toContain(message);
    expect(error.message).toContain('--data-dir');
  });
});

describe('a file that is changed while it is open', () => {
  test.each<[string, (path: string, text: string) => Promise<void>]>([
    ['cut', (path) => truncate(path, 10)],
    ['emptied', (path) => truncate(path, 0)],
    ['of other rows', (path, text) => writeFile(path, text.replace('"second"', '"SECOND"'))],
    ['of the same rows elsewhere', (path, text) => writeFile(path, `\n${text}`)],
    ['of bytes that are no text', (path, text) => writeFile(path, Buffer.alloc(text.length, 0xff))],
  ])('%s is noticed by every reader', async (_what, change) => {
    const dir = await folderOf(rowText());
    await opened(dir, async (dataset) => {
      const path = dataset.files[0] as string;
      await change(path, await readFile(path, 'utf8'));
      const expected = { exitCode: EXIT.badData, message: expect.stringContaining('was changed') };
      await expect(dataset.readText(dataset.rows[0] as RowRef)).rejects.toMatchObject(expected);
      await expect(dataset.readSample(dataset.rows[0] as RowRef)).rejects.toMatchObject(expected);
    });
  });
});

test('large rows that come in at one time are worked on in turns of their own', async () => {
  const dir = await folderOf(...[1, 2, 3, 4].map((id) => rowText({ id, response: ['one', 'x'.repeat(40_000)] })));
  await opened(dir, async (dataset) => {
    let turns = 0;
    let isOver = false;
    const counting = (async () => {
      for (; !isOver; turns++) await nextTurn();
    })();
    const seen = await Promise.all(dataset.rows.map((row) => dataset.readText(row).then(() => turns)));
    isOver = true;
    await counting;
    expect(new Set(seen).size).toBe(4);
  });
});
