// `awb merge` from outside: shards of a run, in whatever order and state, become the files of the unsharded run.

import { readdir, rm, writeFile } from 'node:fs/promises';
import { describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { sealed } from '../../src/run/journal.js';
import { awb, RECORDED, temporaryFolder } from '../support/cli.js';
import { jsonOf } from '../support/judging.js';
import { holdText } from '../support/messages.js';
import { readRows } from '../support/run-folder.js';
import { ROWS, type Sharded, sharded } from '../support/shards.js';

const OUTPUTS = ['predictions.jsonl', 'judged.jsonl'];

/** The unsharded run in `whole`, and its shards in `1` to `N`, all judged. */
async function inShards(
  count: number,
  args: readonly string[] = [],
  judgeArgs: readonly string[] = [],
  refuse?: (text: string) => boolean,
): Promise<Sharded> {
  const run = await sharded(refuse);
  const shards = Array.from({ length: count }, (_, index) => `${index + 1}`);
  for (const out of ['whole', ...shards]) {
    await run.infer(out, ...args, ...(out === 'whole' ? [] : ['--shard', `${out}/${count}`]));
    await run.judge(out, ...judgeArgs);
  }
  return run;
}

async function requireSameFiles(run: Sharded, merged: string, files = OUTPUTS): Promise<void> {
  for (const file of files) expect(await run.text(merged, file)).toBe(await run.text('whole', file));
}

describe('merged shards have the bytes of the unsharded run', () => {
  test.each<[string, number, string[]]>([
    ['two', 2, ['2', '1']],
    ['three', 3, ['2', '3', '1']],
    ['eight', 8, ['8', '3', '1', '6', '2', '7', '5', '4']],
  ])('if there are %s, in any order', async (_, count, order) => {
    const run = await inShards(count);
    const { code, stdout } = await run.merge(...order, 'merged');
    expect(code).toBe(EXIT.done);
    expect(stdout).toContain(`predictions: ${ROWS} of ${ROWS} done, from ${count} parts`);
    await requireSameFiles(run, 'merged');
    expect(await readdir(run.path('merged'))).not.toContainEqual(expect.stringMatching(/^\.merge-/));
  });

  test('with failed rows in predictions and judgements, which count in the same way', async () => {
    const refuse = (text: string) => text.includes('step 2 of mcp 1') || text.includes('result 1 of terminal 3');
    const run = await inShards(3, [], ['--max-retries', '1'], refuse);
    const { code, stdout } = await run.merge('1', '2', '3', 'merged');
    expect(code).toBe(EXIT.incomplete);
    expect(stdout).toMatch(/failed: fatal \d+/);
    await requireSameFiles(run, 'merged');
    for (const name of ['predictions', 'judged']) {
      const [merged, whole] = await Promise.all(
        ['merged', 'whole'].map((out) => jsonOf(run.path(out, `${name}.manifest.json`))),
      );
      for (const field of ['identity', 'fingerprint', 'chosen', 'counts', 'tokens', 'costs', 'state', 'servedModels']) {
        expect([field, merged?.[field]]).toEqual([field, whole?.[field]]);
      }
      expect(merged?.pace.calls).toBe(whole?.pace.calls);
    }
  });

  test.each<[string, string[], string[]]>([
    ['repeats', ['--repeats', '3'], ['--judge-repeats', '2']],
    ['lean rows', ['--lean'], ['--data-dir', 'DATA']],
    ['a sample', ['--sample', '5', '--sample-seed', '3'], []],
    ['one domain', ['--domains', 'terminal'], []],
  ])('of %s', async (_, args, judgeArgs) => {
    const run = await sharded();
    const own = judgeArgs.map((arg) => (arg === 'DATA' ? run.data : arg));
    for (const out of ['whole', '1', '2']) {
      await run.infer(out, ...args, ...(out === 'whole' ? [] : ['--shard', `${out}/2`]));
      expect((await run.judge(out, ...own)).code).toBe(EXIT.done);
    }
    expect((await run.merge('2', '1', 'merged')).code).toBe(EXIT.done);
    await requireSameFiles(run, 'merged');
  });

  test('of the recorded rows, measured and scored equally', async () => {
    const folder = await temporaryFolder();
    const shards = ['1/2', '2/2'];
    for (const [at, shard] of [undefined, ...shards].entries()) {
      const out = `${folder}/${at}`;
      const flags = shard === undefined ? [] : ['--shard', shard];
      await awb(['infer', '--data-dir', RECORDED, '--baseline', 'shuffled', '--output-dir', out, ...flags]);
      await awb(['judge', '--predictions', `${out}/predictions.jsonl`, '--mode', 'metrics', '--output-dir', out]);
    }
    expect((await awb(['merge', `${folder}/2`, `${folder}/1`, '--output-dir', `${folder}/m`])).code).toBe(EXIT.done);
    const scores = await Promise.all(
      ['0', 'm'].map(async (out) => {
        const args = ['score', '--predictions', `${folder}/${out}/judged.jsonl`, '--db', `${folder}/${out}.sqlite`];
        const { stdout } = await awb([...args, '--json']);
        const { domains, overall, coverage } = JSON.parse(stdout);
        return { domains, overall, coverage };
      }),
    );
    expect(scores[1]).toEqual(scores[0]);
    expect(Object.keys(scores[0]?.domains)).toHaveLength(7);
  });
});

describe('a missing part', () => {
  test('is refused if only its manifest is gone', async () => {
    const run = await inShards(2);
    await rm(run.path('2', 'predictions.manifest.json'));
    const { code, stdout, stderr } = await run.merge('1', '2', 'merged');
    const text = `${stdout}--- stderr\n${stderr}--- exit ${code}\n`;
    await holdText('merge-manifest-gone', text, { [run.folder]: '<folder>' });
  });

  test('is reported by its rows, and the unsharded commands ask only those', async () => {
    const run = await inShards(3);
    const { code, stdout } = await run.merge('1', '3', 'merged');
    const lacking = ROWS - (await readRows(run.path('merged', 'predictions.jsonl'))).length;
    expect(code).toBe(EXIT.incomplete);
    const [, mcp, terminal] = /missing: mcp (\d+), terminal (\d+)/.exec(stdout) ?? [];
    expect(Number(mcp) + Number(terminal)).toBe(lacking);
    const { counts } = await jsonOf(run.path('merged', 'predictions.manifest.json'));
    expect(counts).toMatchObject({ chosen: ROWS, ok: ROWS - lacking, notDone: lacking });
    const before = run.server.count;
    expect((await run.infer('merged')).code).toBe(EXIT.done);
    expect((await run.judge('merged')).code).toBe(EXIT.done);
    expect(run.server.count - before).toBe(2 * lacking);
    await requireSameFiles(run, 'merged');
  });

  test('may be added later, and repeatedly: nothing is counted twice, and what the folder asked itself stays', async () => {
    const run = await inShards(3);
    await run.merge('1', '3', 'merged');
    await run.merge('2', 'merged');
    await requireSameFiles(run, 'merged');
    const [before, whole] = await Promise.all(
      ['merged', 'whole'].map((out) => jsonOf(run.path(out, 'predictions.manifest.json'))),
    );
    expect([before?.tokens, before?.pace.calls]).toEqual([whole?.tokens, whole?.pace.calls]);
    const journal = await run.text('merged', 'predictions.journal.jsonl');
    const { code, stdout } = await run.merge('3', '2', '1', 'merged');
    expect([code, stdout]).toEqual([EXIT.done, expect.not.stringContaining('in several parts')]);
    expect(await run.text('merged', 'predictions.journal.jsonl')).toBe(journal);
    const { process: _, checksum: __, ...after } = await jsonOf(run.path('merged', 'predictions.manifest.json'));
    expect(before).toMatchObject({ ...after, merged: expect.arrayContaining(after.merged) });
  });
});

/** The lines of a journal with changed text, under correct checksums. */
function reworded(journal: string, words: (text: string) => string): string {
  const lines = words(journal).trimEnd().split('\n');
  return lines.map((line) => sealed(JSON.parse(line)).toString()).join('');
}

describe('parts that do not belong together', () => {
  test('are refused with the fields that differ', async () => {
    const run = await sharded();
    await run.infer('1', '--shard', '1/2');
    await run.infer('2', '--shard', '2/2', '--temperature', '0.1');
    const { code, stderr } = await run.merge('1', '2', 'merged');
    expect(code).toBe(EXIT.identityDiffers);
    expect(stderr).toContain(`sampling.temperature: 0.6 in ${run.path('1')}, 0.1 in ${run.path('2')}`);
    expect(await readdir(run.path('merged'))).not.toContain('predictions.jsonl');
  });

  test('with different records of the same row are refused with the rows', async () => {
    const run = await sharded();
    await run.infer('1');
    await run.copy('1', '2');
    const rows = await run.text('2', 'predictions.journal.jsonl');
    const others = reworded(rows, (text) => text.replace('observed', 'seen'));
    await writeFile(run.path('2', 'predictions.journal.jsonl'), others);
    const { code, stderr } = await run.merge('1', '2', 'merged');
    expect(code).toBe(EXIT.badData);
    expect(stderr).toMatch(/[0-9a-f]{24}(-\d)?#0 has different records in .*1 and .*2; nothing was merged/);
  });

  test('include a folder that is named twice, does not exist, or is the output', async () => {
    const run = await sharded();
    await run.infer('1', '--shard', '1/2');
    const codes = await Promise.all([
      run.merge('1', '1', 'merged'),
      run.merge('1', 'nowhere', 'merged'),
      run.merge('1', '1'),
      run.merge('data', 'merged'),
    ]);
    expect(codes.map(({ code }) => code)).toEqual([EXIT.usage, EXIT.inputMissing, EXIT.usage, EXIT.badData]);
  });

  test('are named if the data is gone or has changed', async () => {
    const run = await sharded();
    await run.infer('1', '--shard', '1/2');
    await rm(run.path('data', 'b_test.jsonl'));
    const changed = await run.merge('1', 'merged');
    expect([changed.code, changed.stderr]).toEqual([EXIT.identityDiffers, expect.stringContaining('--data-dir')]);
    await rm(run.path('data'), { recursive: true });
    const gone = await run.merge('1', 'merged');
    expect([gone.code, gone.stderr]).toEqual([EXIT.inputMissing, expect.stringContaining('--data-dir')]);
  });
});

describe('what is left out or unfinished is reported', () => {
  test('a part without a run, one that was stopped, and a calibration', async () => {
    const run = await sharded((text) => text.includes('terminal 4'));
    await run.infer('1', '--shard', '1/2');
    await run.infer('2', '--shard', '2/2', '--budget-tokens', '400', '--concurrency', '1');
    await run.copy('data', '3');
    const manifest = await jsonOf(run.path('1', 'predictions.manifest.json'));
    await writeFile(run.path('1', 'calibration.manifest.json'), JSON.stringify({ ...manifest, kind: 'calibrate' }));
    const { code, stdout } = await run.merge('1', '2', '3', 'merged');
    expect(code).toBe(EXIT.incomplete);
    expect(stdout).toMatch(/2 is stopped: its rows so far are merged/);
    expect(stdout).toMatch(/note: .*3 has no run \(yet\)/);
    expect(stdout).toMatch(/note: .*calibration\.jsonl is left out: such a run cannot be merged/);
  });

  test('a damaged line of a journal: its row counts as missing, and is asked again', async () => {
    const run = await inShards(2);
    const journal = await run.text('2', 'predictions.journal.jsonl');
    const [first = '', ...rest] = journal.split('\n');
    await writeFile(
      run.path('2', 'predictions.journal.jsonl'),
      [first.replace('observed', 'obs3rved'), ...rest].join('\n'),
    );
    const { code, stdout } = await run.merge('1', '2', 'merged');
    expect(code).toBe(EXIT.incomplete);
    expect(stdout).toContain('skipped 1 damaged line: 1 (their rows will be asked again)');
    expect((await run.infer('merged')).code).toBe(EXIT.done);
    expect((await run.judge('merged')).code).toBe(EXIT.done);
    await requireSameFiles(run, 'merged');
  });

  test('all of this as one JSON document', async () => {
    const run = await inShards(2);
    const { stdout } = await run.merge('--json', '1', 'merged');
    expect(JSON.parse(stdout)).toMatchObject({
      schema: 'awb.merge/1',
      exit_code: EXIT.incomplete,
      runs: [
        { run: 'predictions', missing: { mcp: expect.any(Number) }, parts: [{ shard: '1/2', state: 'complete' }] },
        { run: 'judged', kind: 'judge' },
      ],
      notes: [],
    });
  });
});
