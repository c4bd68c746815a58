import { createHash } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { open, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import fc from 'fast-check';
import { expect, onTestFinished, test } from 'vitest';
import { openDataset } from '../../src/bench/dataset.js';
import { indexPredictions } from '../../src/bench/prediction-indexing.js';
import type { RowIndex } from '../../src/bench/row-index.js';
import { withMembers } from '../../src/bench/row-text.js';
import { EXIT } from '../../src/errors.js';
import { temporaryFolder } from '../support/cli.js';
import { rowText, writeText } from '../support/rows.js';

const NAMES = [
  ...['key', 'trajectory', 'repeat', 'index', 'domain', 'turnIdx', 'line', 'offset', 'length', 'checksum', 'stamp'],
  ...['failure', 'row'],
] as const;

type Sharing = Parameters<typeof indexPredictions>[1]['sharing'];

/** All that is known of a file's predictions, or the refusal. */
async function indexOf(path: string, rows: RowIndex | undefined, sharing?: Sharing) {
  const handle = await open(path);
  const { size: bytes } = await handle.stat();
  try {
    const shared = sharing === undefined ? {} : { sharing };
    const { refs, sha256 } = await indexPredictions({ path, handle, bytes }, { rows, hint: 'hint', ...shared });
    const seen = Array.from(refs, (ref) =>
      Object.fromEntries(NAMES.map((name) => [name, (ref as unknown as Record<string, unknown>)[name]])),
    );
    return { refs: seen, sha256 };
  } catch (error) {
    return { refused: (error as Error).message };
  } finally {
    await handle.close();
  }
}

/** Three rows of data, and what their keys are. */
async function dataset() {
  const dir = await temporaryFolder();
  const texts = [rowText({ id: 1 }), rowText({ id: 1 }), rowText({ id: 2, task: 'web' })];
  await writeText(dir, 'a_test.jsonl', texts);
  const data = await openDataset(dir);
  onTestFinished(() => data.close());
  const keyed = [...data.rows].map(({ key, trajectory }, row) => ({ key, trajectory, text: texts[row] as string }));
  return { rows: data.rows, keyed };
}

const LEAN = new Set(['prompt', 'response', 'current_prompt', 'system_str']);

test('threads index and refuse whatever a file holds as one thread does, wherever it is cut', async () => {
  const { rows, keyed } = await dataset();
  const dir = await temporaryFolder();
  const own = fc
    .record({
      row: fc.constantFrom(...keyed),
      repeat: fc.nat(40),
      isLean: fc.boolean(),
      judged: fc.constantFrom({}, { judge: { status: 'ok', index: 1 } }),
      status: fc.constantFrom({ status: 'ok' }, { status: 'failed', class: 'timeout', reason: 'r' }),
      gen: fc.string({ unit: 'binary' }),
    })
    .map(({ row: { text, key, trajectory }, repeat, isLean, judged, status, gen }) =>
      withMembers(text, isLean ? LEAN : new Set(), {
        gen,
        awb: { key, trajectory, repeat, ...status, flags: [], ...judged },
      }),
    );
  const others = fc
    .record({ id: fc.nat(3), gen: fc.constantFrom('g', '', null) })
    .map(({ id, gen }) => withMembers(rowText({ id }), new Set(), { gen }));
  const blank = fc.constantFrom('', ' \t', '\r');
  const bad = fc.constantFrom(
    ...['{', '[]', '{"task":"mcp","gen":"g"}', '\ufeff{', withMembers(rowText(), new Set(), { gen: 1 })],
    withMembers(rowText({ turn_idx: 9 }), new Set(), { gen: 'g' }),
    withMembers(keyed[0]?.text as string, LEAN, { gen: 'g', awb: { key: 'f'.repeat(24), repeat: 0 } }),
    withMembers(keyed[0]?.text as string, LEAN, { gen: 'g', task: 'os', awb: { key: keyed[0]?.key, repeat: 77 } }),
  );
  const good = fc.oneof(
    { weight: 6, arbitrary: own },
    { weight: 6, arbitrary: others },
    { weight: 2, arbitrary: blank },
  );
  const line = fc.oneof({ weight: 30, arbitrary: good }, { weight: 1, arbitrary: bad });
  let file = 0;
  await fc.assert(
    fc.asyncProperty(
      fc.array(line, { maxLength: 25 }),
      fc.constantFrom('\n', '\r\n'),
      fc.integer({ min: 1, max: 2_000 }),
      fc.boolean(),
      async (lines, end, pieceBytes, withData) => {
        const path = join(dir, `${file++}.jsonl`);
        await writeFile(path, lines.join(end));
        const known = withData ? rows : undefined;
        const alone = await indexOf(path, known);
        if ('sha256' in alone) {
          expect(alone.sha256).toBe(createHash('sha256').update(readFileSync(path)).digest('hex'));
        }
        expect(await indexOf(path, known, { threads: 2, pieceBytes })).toEqual(alone);
      },
    ),
    { numRuns: 12 },
  );
});

test('the first of several refusals is named, though a later piece is read before', async () => {
  const { keyed } = await dataset();
  const row = (repeat: number, text = keyed[0]?.text as string) =>
    withMembers(text, new Set(), { gen: 'g', awb: { key: keyed[0]?.key, trajectory: 't', repeat } });
  const long = rowText({ id: 9, response: ['x'.repeat(4 << 20), ''] });
  const lines = [row(0), withMembers(long, new Set(), { gen: 'g' }), row(1), row(0), '{', '['];
  const path = await writeText(await temporaryFolder(), 'p.jsonl', lines);
  for (const sharing of [undefined, { threads: 2, pieceBytes: 1 }]) {
    expect(await indexOf(path, undefined, sharing)).toEqual({
      refused: `${path}:4: the row of line 1 stands here again; take one of the two out`,
    });
  }
});

test('the user may stop it before the end', async () => {
  const path = await writeText(await temporaryFolder(), 'p.jsonl', [withMembers(rowText(), new Set(), { gen: 'g' })]);
  const handle = await open(path);
  onTestFinished(() => handle.close());
  const { size: bytes } = await handle.stat();
  for (const sharing of [undefined, { threads: 1, pieceBytes: 1 }]) {
    const stopped = indexPredictions(
      { path, handle, bytes },
      { rows: undefined, hint: 'hint', stop: AbortSignal.abort('SIGINT'), ...(sharing && { sharing }) },
    );
    await expect(stopped).rejects.toMatchObject({ exitCode: EXIT.interrupted });
  }
});
