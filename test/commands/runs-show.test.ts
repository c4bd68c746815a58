// `awb runs show` end to end: one stored run with what made it, and what happened to its judged file.

import { appendFileSync, copyFileSync, mkdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { beforeEach, describe, expect, test } from 'vitest';
import { openSqlite } from '../../src/disk/sqlite.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { around, judgedRun } from '../support/judged-runs.js';

let dir: string;
beforeEach(async () => {
  dir = await temporaryFolder();
});

const run = (...words: string[]) => awb(['runs', 'show', ...words], { cwd: dir });
const json = async (...words: string[]) => JSON.parse((await run(...words, '--json')).stdout);
const stored = (name: string, given: Partial<Parameters<typeof judgedRun>[1]> = {}) =>
  judgedRun(join(dir, name), { label: name, rating: around(3), ...given }, join(dir, 'awb.sqlite'));

/** The facts of the text by name, with their lines joined. */
function factsIn(stdout: string): Record<string, string> {
  const [, block = ''] = stdout.split('\n\n');
  const joined = block.replace(/\n {3,}/g, ' ');
  return Object.fromEntries(joined.split('\n').map((line) => line.split(/ {2,}/) as [string, string]));
}

describe('a run', () => {
  test('is shown with what made it, and with the scores that score printed', async () => {
    const source = await stored('step-1', {
      meta: { step: '1' },
      rating: (_, row) => (row < 2 ? undefined : 3 + (row % 3)),
      refuses: (domain, row) => domain === 'web' && row === 5,
      identity: { sampling: { temperature: 0.5 } },
    });
    const scored = await awb(['score', source, '--verbose'], { cwd: dir });
    const { code, stdout } = await run('1');
    expect(code).toBe(0);
    expect(factsIn(stdout)).toMatchObject({
      label: 'step-1',
      'world model': 'wm',
      protocol: 'history',
      'system prompt': 'row',
      mode: 'rubric',
      judge: 'judge-model',
      rubrics: 'bundled, fingerprint abcdef',
      verdicts: 'strict',
      'judge sampling': 'temperature 0.5',
      'meta step': '1',
      'judged file': expect.stringMatching(/^step-1\/judged\.jsonl, \d+ kB, unchanged since it was scored$/),
      stored: expect.stringMatching(/^140 judgements, about \d+ kB$/),
    });
    const table = scored.stdout.slice(scored.stdout.indexOf('Domain'), scored.stdout.indexOf('stored:'));
    expect(table).toContain('failed: judge-timeout 14, refused 1');
    expect(stdout).toContain(table);
    expect(stdout).toContain('warning: INCOMPLETE: step-1 has a coverage below 99 %');
  });

  test('is one JSON document, with the figures of score and the complete manifest', async () => {
    const source = await stored('step-1');
    const {
      run: _,
      db: __,
      schema: ___,
      below_min_coverage: ____,
      ...figures
    } = JSON.parse((await awb(['score', source, '--json'], { cwd: dir })).stdout);
    const shown = await json('step-1');
    expect(shown).toMatchObject({
      schema: 'awb.run/1',
      id: 1,
      label: 'step-1',
      own_label: 'step-1',
      label_given: false,
      source,
      source_state: 'same',
      source_bytes: statSync(source).size,
      journal_bytes: null,
      stored_judgements: 140,
      manifest: { identity: { judge: 'judge-model' }, predictions: { label: 'step-1' } },
      ...figures,
    });
  });

  test.each(['1', 'step-1', 'step-1/judged.jsonl', './step-1', 'step-1/'])('is found as %s', async (name) => {
    await stored('step-1');
    await stored('step-2');
    expect((await json(name)).id).toBe(1);
  });

  test('that is unknown is answered with the existing ones, and so is a file that was never scored', async () => {
    await stored('step-100');
    await judgedRun(join(dir, 'other'), { label: 'other', rating: around(3) });
    const unknown = await run('step-10');
    expect(unknown.code).toBe(2);
    expect(unknown.stderr).toContain('did you mean "step-100"? The runs are\n  1: step-100 (awb.sqlite)');
    expect(await run('other')).toMatchObject({
      code: 2,
      stderr: expect.stringContaining('awb score adds one'),
    });
  });

  test('with a damaged manifest is named with what to do about it', async () => {
    await stored('step-1');
    const database = openSqlite(join(dir, 'awb.sqlite'));
    database.exec(`UPDATE runs SET manifest = '[1]'`);
    database.close();
    const { code, stderr } = await run('1');
    expect(code).toBe(65);
    expect(stderr).toContain('the manifest of run 1 in awb.sqlite has schema null');
  });

  test('cannot control the terminal by any text in it', async () => {
    const evil = 'a\u001b]0;x\u0007\u202eb\nc';
    await stored('evil', {
      label: evil,
      meta: { [evil]: evil },
      predictions: { model: evil, system_prompt: evil, sampling: { [evil]: evil } },
      identity: { judge: evil, verdicts: evil, sampling: { [evil]: evil } },
    });
    const { stdout } = await run('1');
    expect(stdout).not.toMatch(/[\u001b\u0007\u202e]/);
    expect(factsIn(stdout)).toMatchObject({ label: 'ab c', 'world model': 'ab c', 'meta ab c': 'ab c' });
  });
});

describe('the judged file of a run', () => {
  const fileOf = async (name: string) => ({
    state: (await json(name)).source_state,
    text: factsIn((await run(name)).stdout)['judged file'],
  });

  test('that was written to since is reported as changed', async () => {
    appendFileSync(await stored('step-1'), '\n');
    expect(await fileOf('1')).toEqual({
      state: 'changed',
      text: expect.stringContaining('changed since it was scored'),
    });
  });

  test('that is gone is reported as missing, and the scores remain', async () => {
    await stored('step-1');
    rmSync(join(dir, 'step-1'), { recursive: true });
    expect(await fileOf('1')).toEqual({
      state: 'missing',
      text: 'step-1/judged.jsonl, no longer there',
    });
    expect((await json('1')).overall.total_score).toBeGreaterThan(0);
  });

  test('that is no longer a file is reported without waiting', async () => {
    const source = await stored('step-1');
    rmSync(source);
    mkdirSync(source);
    expect(await fileOf('1')).toEqual({
      state: 'unreadable',
      text: expect.stringContaining('cannot be read'),
    });
  });

  test('is shown with the size of its journal', async () => {
    const source = await stored('step-1');
    copyFileSync(source, source.replace('.jsonl', '.journal.jsonl'));
    expect((await json('1')).journal_bytes).toBe(statSync(source).size);
  });
});
