import { readdirSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { describe, expect, onTestFinished, test } from 'vitest';
import { indexRows } from '../../src/bench/indexing.js';
import { RowIndex } from '../../src/bench/row-index.js';
import { EXIT } from '../../src/errors.js';
import { RECORDED, ROOT, temporaryFolder } from '../support/cli.js';
import { rowText } from '../support/rows.js';

type Sharing = NonNullable<Parameters<typeof indexRows>[3]>;

/** What these files hold, as read by threads, or by this one where none are given. */
async function indexOf(paths: readonly string[], sharing?: Sharing) {
  const files = await Promise.all(
    paths.map(async (path) => {
      const handle = await open(path);
      return { path, handle, bytes: (await handle.stat()).size };
    }),
  );
  try {
    const { columns, bad } = await indexRows(files, 'hint', undefined, sharing);
    const rows = new RowIndex(columns);
    const checksums = [...rows].map(({ position }) => rows.checksum(position));
    return { rows: [...rows], bad, fingerprint: await rows.fingerprint(), checksums, columns };
  } finally {
    await Promise.all(files.map(({ handle }) => handle.close()));
  }
}

async function filesOf(...texts: readonly Uint8Array[]): Promise<string[]> {
  const dir = await temporaryFolder();
  const paths = texts.map((_, file) => join(dir, `${file}_test.jsonl`));
  await Promise.all(texts.map((text, file) => writeFile(paths[file] as string, text)));
  return paths;
}

/** Lines of every kind: rows, equal rows, rows that cannot be used, blank ones, ones that are no text. */
const line = fc.oneof(
  fc
    .record({ id: fc.nat(3), turn: fc.integer({ min: 0, max: 2 }), text: fc.string({ unit: 'binary' }) })
    .map((row) => Buffer.from(rowText({ id: row.id, turn_idx: row.turn, response: ['one', row.text] }))),
  fc.nat(2).map((id) => Buffer.from(rowText({ id, task: ['mcp', 'web', '天気'][id] }))),
  fc.constantFrom('', ' \t', '\r', '{', '[]', '\ufeff').map((text) => Buffer.from(text)),
  fc.uint8Array({ maxLength: 20 }).map((bytes) => Buffer.from(bytes)),
);
const file = fc
  .record({ lines: fc.array(line, { maxLength: 12 }), end: fc.constantFrom('\n', '\r\n', '') })
  .map(({ lines, end }) =>
    Buffer.concat(lines.flatMap((text) => [text, Buffer.from(end || '\n')])).subarray(0, end === '' ? -1 : undefined),
  );

describe('threads', () => {
  test('index the recorded rows as one thread does', async () => {
    const paths = readdirSync(RECORDED)
      .filter((name) => name.endsWith('_test.jsonl'))
      .map((name) => join(RECORDED, name));
    const alone = await indexOf(paths);
    expect(alone.rows.length).toBeGreaterThan(20);
    for (const sharing of [
      { threads: 1, pieceBytes: 1 << 30 },
      { threads: 3, pieceBytes: 1 << 17 },
    ]) {
      expect(await indexOf(paths, sharing)).toEqual(alone);
    }
  });

  test('index whatever files hold as one thread does, wherever they are cut', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(file, { minLength: 1, maxLength: 3 }),
        fc.integer({ min: 1, max: 600 }),
        async (texts, pieceBytes) => {
          const paths = await filesOf(...texts);
          expect(await indexOf(paths, { threads: 2, pieceBytes })).toEqual(await indexOf(paths));
        },
      ),
      { numRuns: 25 },
    );
  });
});

describe('threads that fail', () => {
  test('over a file that cannot be read name it', async () => {
    const paths = await filesOf(Buffer.from(`${rowText()}\n`));
    const handle = await open(join(ROOT, 'test'));
    onTestFinished(() => handle.close());
    const good = await open(paths[0] as string);
    onTestFinished(() => good.close());
    const files = [
      { path: paths[0] as string, handle: good, bytes: 10 },
      { path: 'the-second', handle, bytes: 0 },
    ];
    await expect(indexRows(files, 'hint', undefined, { threads: 2, pieceBytes: 1 << 20 })).rejects.toMatchObject({
      exitCode: EXIT.inputMissing,
      message: 'cannot read the-second: it is a folder; hint',
    });
  });

  test('for want of memory say so, and how to get more', async () => {
    const [path] = await filesOf(Buffer.from(`{"x":[${'{"a":1},'.repeat(1_000_000)}1]}\n`));
    const indexed = indexOf([path as string], { threads: 1, pieceBytes: 1 << 30, heapMb: 24 });
    await expect(indexed).rejects.toMatchObject({
      exitCode: EXIT.unexpected,
      message: expect.stringContaining('NODE_OPTIONS=--max-old-space-size'),
    });
  });
});
