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
  const onPiece = async (number: number, { columns, lines }: { columns: { offset: Float64Array }; lines: number }) => {
    expect([columns.offset.length, columns.offset[0], lines]).toEqual([1, number * (ROW.length + 1), 1]);
    read.push(number);
  };
  await readInThreads('data', await pieces(), { threads: 3, onPiece, failureOf });
  expect(read.sort((a, b) => a - b)).toEqual(Array.from({ length: ROWS }, (_, number) => number));
});

test('the user may stop them in the middle, and nothing more is read then', async () => {
  const stop = new AbortController();
  let read = 0;
  const onPiece = async () => {
    read++;
    stop.abort('SIGTERM');
  };
  const stopped = readInThreads('data', await pieces(), { threads: 2, onPiece, failureOf, stop: stop.signal });
  await expect(stopped).rejects.toMatchObject({ exitCode: EXIT.terminated });
  // The other thread may have answered at the same moment.
  expect(read).toBeLessThanOrEqual(2);
});

test('a piece that cannot be read ends the others', async () => {
  const [first, ...others] = await pieces();
  const gone = { ...(first as { start: number; end: number }), fd: 999_999 };
  const failed = readInThreads('data', [gone, ...others], { threads: 2, onPiece: async () => {}, failureOf });
  await expect(failed).rejects.toThrow('EBADF');
});

test('what a listener throws ends them as well', async () => {
  const onPiece = async () => {
    throw new Error('enough');
  };
  await expect(readInThreads('data', await pieces(), { threads: 2, onPiece, failureOf })).rejects.toThrow('enough');
});

test('threads end wherever the work fails, be the others about to answer or not', async () => {
  const path = await writeText(
    await temporaryFolder(),
    'b_test.jsonl',
    Array.from({ length: 60 }, () => rowText()),
  );
  const handle = await open(path);
  onTestFinished(() => handle.close());
  const bytes = rowText().length + 1;
  const small = Array.from({ length: 60 }, (_, row) => ({ fd: handle.fd, start: row * bytes, end: (row + 1) * bytes }));
  for (let last = 0; last < 25; last++) {
    let read = 0;
    const onPiece = async () => {
      if (read++ === last) throw new Error('enough');
    };
    await expect(readInThreads('data', small, { threads: 3, onPiece, failureOf })).rejects.toThrow('enough');
  }
});
