import { createHash } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { describe, expect, onTestFinished, test } from 'vitest';
import { type Dataset, openDataset } from '../../src/benchmark/dataset.js';
import { openPredictions, type PredictionFile, type PredictionRef } from '../../src/benchmark/predictions.js';
import { withMembers } from '../../src/benchmark/row-text.js';
import { EXIT, type UserError } from '../../src/core/errors.js';
import { temporaryFolder } from '../support/cli.js';
import { rowText, writeText } from '../support/rows.js';

const WHOLE: ReadonlySet<string> = new Set();
const LEAN: ReadonlySet<string> = new Set(['prompt', 'response', 'current_prompt', 'system_str']);

/** A dataset of these rows and, as a line of ours, the prediction of each. */
async function predicted(rows: readonly string[], drop = WHOLE, awb: Readonly<Record<string, unknown>> = {}) {
  const dir = await temporaryFolder();
  await writeText(dir, 'data/a_test.jsonl', rows);
  const data = await openDataset(join(dir, 'data'));
  onTestFinished(() => data.close());
  const lines = data.rows.map((row, index) =>
    withMembers(rows[index] as string, drop, {
      gen: `gen ${index}`,
      awb: { key: row.key, trajectory: row.trajectory, repeat: 0, status: 'ok', flags: [], ...awb },
    }),
  );
  return { dir, data, lines };
}

async function opened<T>(
  lines: readonly (string | Uint8Array)[],
  use: (file: PredictionFile) => Promise<T>,
  data?: Dataset,
): Promise<T> {
  const file = await openPredictions(await writeText(await temporaryFolder(), 'p.jsonl', lines), data);
  try {
    return await use(file);
  } finally {
    await file.close();
  }
}

const refsOf = (lines: readonly string[], data?: Dataset) => opened(lines, async (file) => file.refs, data);

async function refusal(lines: readonly (string | Uint8Array)[], data?: Dataset): Promise<string> {
  const error: UserError = await opened(lines, async () => undefined, data).then(
    () => {
      throw new Error('it was taken');
    },
    (caught) => caught,
  );
  expect(error).toMatchObject({ name: 'UserError', exitCode: EXIT.badData });
  return error.message;
}

describe('predictions of ours', () => {
  test('whole or lean, they have the keys and samples of the data', async () => {
    const rows = [rowText({ id: 1 }), rowText({ id: '1', turn_idx: 1 }), rowText({ id: 1 })];
    for (const drop of [WHOLE, LEAN]) {
      const { data, lines } = await predicted(rows, drop);
      await opened(
        [...lines].reverse(),
        async (file) => {
          const refs = file.refs.toReversed();
          expect(refs.map((ref) => ref.key)).toEqual(data.rows.map((row) => row.key));
          for (const [index, row] of data.rows.entries()) {
            const ref = refs[index] as PredictionRef;
            expect(ref).toMatchObject({ trajectory: row.trajectory, domain: 'mcp', turnIdx: row.turnIdx, repeat: 0 });
            const read = await file.read(ref);
            expect(read).toMatchObject({ text: lines[index], gen: `gen ${index}`, awb: { key: row.key } });
            expect(read.sample).toEqual(await data.readSample(row));
          }
        },
        drop === LEAN ? data : undefined,
      );
    }
  });

  test('repeats of a row are rows of their own', async () => {
    const first = await predicted([rowText()]);
    const second = await predicted([rowText()], WHOLE, { repeat: 1 });
    const refs = await refsOf([...first.lines, ...second.lines]);
    expect(refs.map((ref) => ref.repeat)).toEqual([0, 1]);
    expect(refs[0]?.key).toBe(refs[1]?.key);
  });

  test('judged several times they are one prediction each', async () => {
    const judged = async (index?: number) =>
      (await predicted([rowText()], WHOLE, { judge: { status: 'ok', ...(index === undefined ? {} : { index }) } }))
        .lines;
    const lines = [...(await judged()), ...(await judged(1)), ...(await judged(2))];
    expect((await refsOf(lines)).map(({ line }) => line)).toEqual([1]);
    expect(await refusal([...lines, ...(await judged(1))])).toMatch(/:4: the same row as in line 2/);
  });

  test('a failed row has its class and reason', async () => {
    const { lines } = await predicted([rowText()], WHOLE, { status: 'failed', class: 'timeout', reason: 'too late' });
    expect((await refsOf(lines))[0]?.failure).toEqual({ class: 'timeout', reason: 'too late' });
  });

  test('the stamp changes with gen and with the failure, and with nothing else', async () => {
    const stampOf = async (keys: Readonly<Record<string, unknown>>, awb = {}) => {
      const { lines } = await predicted([rowText()], WHOLE, awb);
      return (await refsOf(lines.map((line) => withMembers(line, WHOLE, keys))))[0]?.stamp;
    };
    const stamps = [
      await stampOf({ gen: 'a' }),
      await stampOf({ gen: 'b' }),
      await stampOf({ gen: '' }),
      await stampOf({ gen: '' }, { status: 'failed', class: 'timeout' }),
      await stampOf({ gen: '' }, { status: 'failed', class: 'refused' }),
    ];
    expect(new Set(stamps).size).toBe(stamps.length);
    expect(await stampOf({ gen: 'a', note: 1 }, { reasoning: 'hm', flags: ['truncated'] })).toBe(stamps[0]);
  });
});

describe('predictions of the official script', () => {
  test('have no object of ours, and get the keys of the data, equal rows included', async () => {
    const rows = [rowText({ id: 1 }), rowText({ id: 1 }), rowText({ id: 2 })];
    const { data } = await predicted(rows);
    await opened(
      rows.map((row) => withMembers(row, WHOLE, { gen: 'g' })),
      async (file) => {
        expect(file.refs.map((ref) => ref.key)).toEqual(data.rows.map((row) => row.key));
        expect(await file.read(file.refs.at(1) as PredictionRef)).toMatchObject({ gen: 'g', awb: {} });
      },
    );
  });

  test('a row without gen was not predicted, and the others stand', async () => {
    const lines = [
      rowText(),
      withMembers(rowText({ id: 2 }), WHOLE, { gen: null }),
      withMembers(rowText(), WHOLE, { gen: 'g' }),
    ];
    await opened(lines, async (file) => {
      const absent = { class: 'absent', reason: 'not predicted: the row has no "gen"' };
      expect(file.refs.map((ref) => ref.failure)).toEqual([absent, absent, undefined]);
      expect(await file.read(file.refs.at(0) as PredictionRef)).toMatchObject({ gen: '', text: lines[0] });
      expect((await file.read(file.refs.at(2) as PredictionRef)).gen).toBe('g');
    });
    expect(await refusal(lines.slice(0, 2))).toContain('has no predictions (no row has a "gen")');
  });

  test('an empty gen is a failure of the model', async () => {
    const refs = await refsOf([withMembers(rowText(), WHOLE, { gen: '' })]);
    expect(refs[0]?.failure).toEqual({ class: 'empty', reason: 'the model gave no prediction' });
  });

  test('an object awb of others is none of ours', async () => {
    const [ref] = await refsOf([withMembers(rowText(), WHOLE, { gen: 'g', awb: { status: 'failed' } })]);
    expect(ref?.failure).toBeUndefined();
  });
});

describe('a line that is not a prediction is refused with its place', () => {
  const whole = withMembers(rowText(), WHOLE, { gen: 'g' });

  test.each<[string, string | Uint8Array, string]>([
    ['a torn line', whole.slice(0, -5), 'not a JSON object'],
    ['a list', '[]', 'not a JSON object'],
    ['bytes that are no UTF-8', Uint8Array.from([0x7b, 0xff, 0x7d]), 'not valid UTF-8'],
    ['a gen of another type', withMembers(rowText(), WHOLE, { gen: 1 }), '"gen" is not a string'],
    ['a row of no domain', withMembers(rowText({ task: 'go/' }), WHOLE, { gen: 'g' }), '"task" names no domain'],
    ['a row beyond its turns', withMembers(rowText({ turn_idx: 3 }), WHOLE, { gen: 'g' }), '"turn_idx" 3'],
    ['neither prompt nor awb', '{"task":"mcp","gen":"g"}', 'neither "prompt" nor "awb"'],
  ])('%s', async (_what, line, reason) => {
    expect(await refusal([withMembers(rowText({ id: 2 }), WHOLE, { gen: 'g' }), '', line])).toMatch(
      new RegExp(`p\\.jsonl:3: .*${reason}`),
    );
  });

  test('the same row of ours twice', async () => {
    const { lines } = await predicted([rowText(), rowText({ id: 2 })]);
    expect(await refusal([...lines, lines[0] as string])).toMatch(/:3: the same row as in line 1/);
  });

  test('a row that was changed after it was predicted', async () => {
    const { lines } = await predicted([rowText()]);
    expect(await refusal(lines.map((line) => line.replace('"second"', '"SECOND"')))).toMatch(/:1: .*changed/);
  });

  test('a lean row without data, and with other data', async () => {
    const { lines } = await predicted([rowText()], LEAN);
    const other = await predicted([rowText({ id: 2 })]);
    expect(await refusal(lines)).toContain('name the benchmark folder with --data-dir');
    expect(await refusal(lines, other.data)).toMatch(/no row in --data-dir has its key [0-9a-f]{24};/);
  });

  test('of several, the first is named', async () => {
    const { lines } = await predicted([rowText()]);
    expect(await refusal([...lines, ...lines, '{', '['])).toMatch(/:2: the same row as in line 1/);
  });

  test('a file without rows', async () => {
    expect(await refusal(['', ' '])).toContain('has no rows');
  });

  test.each([
    ['a file that is not there', 'gone', 'there is no such file'],
    ['a folder', 'folder', 'it is a folder'],
  ])('%s is input that is missing', async (_what, name, message) => {
    const dir = await temporaryFolder();
    await mkdir(join(dir, 'folder'));
    const error = await openPredictions(join(dir, name), undefined).then(undefined, (caught) => caught);
    expect(error).toMatchObject({ exitCode: EXIT.inputMissing, message: expect.stringContaining(message) });
    expect(error.message).toContain('--predictions');
  });
});

test.each<[string, (text: string) => string]>([
  ['another gen of the same length', (text) => text.replace('gen 0', 'GEN 0')],
  ['another row of the same length', (text) => text.replace('"first"', '"FIRST"')],
  ['another record of the same length', (text) => text.replace('"status":"ok"', '"status":"no"')],
  ['the same row with other white space', (text) => text.replace('{', '{ ')],
  ['nothing', () => ''],
])('a file that holds %s by now is not read as what it was', async (_what, change) => {
  const { dir, lines } = await predicted([rowText()]);
  const path = await writeText(dir, 'p.jsonl', lines);
  const file = await openPredictions(path, undefined);
  await writeFile(path, change(await readFile(path, 'utf8')));
  await expect(file.read(file.refs.at(0) as PredictionRef)).rejects.toMatchObject({ exitCode: EXIT.badData });
  await file.close();
});

test('a file has the hash of its bytes, and is left when the user stops it', async () => {
  const text = `${withMembers(rowText(), WHOLE, { gen: 'g' })}\r\n\n`;
  const path = join(await temporaryFolder(), 'p.jsonl');
  await writeFile(path, text);
  const file = await openPredictions(path, undefined);
  await file.close();
  expect(file.sha256).toBe(createHash('sha256').update(text).digest('hex'));
  const stopped = openPredictions(path, undefined, AbortSignal.abort('SIGINT'));
  await expect(stopped).rejects.toMatchObject({ exitCode: EXIT.interrupted });
});
