import { open } from 'node:fs/promises';
import { expect, onTestFinished, test } from 'vitest';
import { readInThreads } from '../../src/bench/reading-threads.js';
import { EXIT } from '../../src/errors.js';
import { temporaryFolder } from '../support/cli.js';
import { rowText, writeText } from '../support/rows.js';

const ROW = rowText({ prompt: ['first', 'x'.repeat(1 << 20)] });
const ROWS = 40;

/** As many pieces as rows, of one file. */
async function pieces() {
  const path = await writeText(
    await temporaryFolder(),
    'a_test.jsonl',
    Array.from({ length: ROWS }, () => ROW),
  );
  const handle = await open(path);
  onTestFinished(() => handle.close());
  const bytes = ROW.length + 1;
  return Array.from({ length: ROWS }, (_, row) => ({ fd: handle.fd, start: row * bytes, end: (row + 1) * bytes }));
}

const failureOf = (_number: number, { code }: { readonly code: string }) => new Error(code);

test('every piece is read once, by whichever thread', async () => {
  const read: number[] = [];
  const onRows = (number: number, { columns, lines }: { columns: { offset: Float64Array }; lines: number }) => {
    expect([columns.offset.length, columns.offset[0], lines]).toEqual([1, number * (ROW.length + 1), 1]);
    read.push(number);
  };
  await readInThreads(await pieces(), { threads: 3, onRows, failureOf });
  expect(read.sort((a, b) => a - b)).toEqual(Array.from({ length: ROWS }, (_, number) => number));
});

test('the user may stop them in the middle, and nothing more is read then', async () => {
  const stop = new AbortController();
  let read = 0;
  const onRows = () => {
    read++;
    stop.abort('SIGTERM');
  };
  const stopped = readInThreads(await pieces(), { threads: 2, onRows, failureOf, stop: stop.signal });
  await expect(stopped).rejects.toMatchObject({ exitCode: EXIT.terminated });
  // The other thread may have answered at the same moment.
  expect(read).toBeLessThanOrEqual(2);
});

test('a piece that cannot be read ends the others', async () => {
  const [first, ...others] = await pieces();
  const gone = { ...(first as { start: number; end: number }), fd: 999_999 };
  const failed = readInThreads([gone, ...others], { threads: 2, onRows: () => {}, failureOf });
  await expect(failed).rejects.toThrow('EBADF');
});

test('what a listener throws ends them as well', async () => {
  const onRows = () => {
    throw new Error('enough');
  };
  await expect(readInThreads(await pieces(), { threads: 2, onRows, failureOf })).rejects.toThrow('enough');
});
