// awb judge --recheck: stored judgements against today's judge.

import { readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { type Judging, recheck as recheckOf } from '../../src/judge/judging.js';
import type { Mode } from '../../src/judge/mode.js';
import { MODES } from '../../src/judge/modes.js';
import { awb, type CliResult, RECORDED } from '../support/cli.js';
import { changeRows, inferred, jsonOf, type Row, rowsOf, verdict } from '../support/judging.js';
import { type Answer, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { holdText } from '../support/messages.js';

let folder: { dir: string; predictions: string };
let server: LoopbackServer;
/** What the judge answers; tests change it between two commands. */
let answer: (message: string) => Answer;

beforeEach(async () => {
  folder = await inferred(['--limit', '3']);
  answer = () => ({ content: verdict(4), model: 'judge-2026-01' });
  server = await startLoopbackServer((request) => answer(request.body.messages[1].content));
});
afterEach(() => server.close());

function judge(options: readonly string[] = []): Promise<CliResult> {
  const where = ['--predictions', folder.predictions, '--output-dir', folder.dir];
  return awb(['judge', ...where, '--judge-base-url', server.url, '--judge-model', 'j', ...options]);
}

const recheck = (count: number, options: readonly string[] = []) => judge(['--recheck', String(count), ...options]);
const document = (result: CliResult): Row => JSON.parse(result.stdout);

it('is refused if the mode rates nothing, before anything is read or asked', async () => {
  const mode: Mode = { ...MODES.rubric, rates: false };
  // Nothing else of the work is read.
  const work = { mode, settings: { mode: 'rubric' } } as Judging;
  await expect(recheckOf(work, 5, () => Promise.reject(new Error('opened')))).rejects.toThrow(
    '--recheck measures the shift of ratings, but --mode rubric produces none',
  );
});

describe('a recheck', () => {
  it('prints its files as they were typed', async () => {
    await judge();
    const where = ['--predictions', 'predictions.jsonl', '--output-dir', '.', '--recheck', '2'];
    const { stdout } = await awb(['judge', ...where, '--judge-base-url', server.url, '--judge-model', 'j'], {
      cwd: folder.dir,
    });
    await holdText('judge-recheck-paths', stdout.replace(/recheck-[\w-]+/g, 'recheck-HASH'), { [folder.dir]: '<dir>' });
  });

  it('shows a judge that has become one point stricter, whatever snapshot it answers as', async () => {
    await judge();
    answer = () => ({ content: verdict(3), model: 'judge-2026-02' });
    const { code, stdout } = await recheck(10);
    expect(code).toBe(0);
    expect(stdout).toMatch(/10 of 10 rows judged again/);
    expect(stdout).toContain('judge before: judge-2026-01; now: judge-2026-02');
    expect(stdout).toMatch(/shift of the total: -25\.00 points \(no interval, 10 rows in \d+ traj/);
    expect(stdout).toContain('the judge has drifted');
  });

  it('of a judge that is only noisy shows no drift', async () => {
    await judge();
    let calls = 0;
    answer = () => ({ content: verdict(calls++ % 2 === 0 ? 3 : 5) });
    const result = document(await recheck(20, ['--json']));
    expect(result).toMatchObject({ schema: 'awb.recheck/1', exit_code: 0, state: 'complete', drifted: false });
    expect(Object.keys(result)).toEqual([
      'schema',
      'exit_code',
      'state',
      'judged',
      'output',
      'snapshot_before',
      'snapshot_now',
      'counts',
      'shift',
      'judge_sd',
      'smallest_shift',
      'drifted',
    ]);
    expect(result.shift).toMatchObject({ value: 0, rows: 20 });
    expect(result.shift.low).toBeLessThan(0);
    expect(result.shift.high).toBeGreaterThan(0);
  });

  it("prints the judge's own noise and the shift that its rows could have detected", async () => {
    await judge();
    let calls = 0;
    // Every judgement is 25 points above or below the stored one.
    answer = () => ({ content: verdict(calls++ % 2 === 0 ? 3 : 5) });
    const result = document(await recheck(20, ['--json']));
    expect(result.judge_sd).toBeCloseTo(25 / Math.SQRT2, 9);
    expect(result.smallest_shift).toBeGreaterThan(result.shift.se * 2);
    const { stdout } = await recheck(20);
    expect(stdout).toContain("the judge's own noise: a judgement has a standard deviation of 17.68 points");
    expect(stdout).toContain(
      `minimum detectable shift with these rows, at 80 % power: ${result.smallest_shift.toFixed(2)} points`,
    );
  });

  it('of a judge that repeats itself shows no drift, and no zero-width interval', async () => {
    await judge();
    const result = document(await recheck(20, ['--json']));
    expect(result).toMatchObject({ drifted: false, judge_sd: 0, smallest_shift: null });
    expect(result.shift).toMatchObject({ value: 0, se: 0, low: null, high: null });
  });

  it('takes the same rows every time, and a smaller sample is part of a larger one', async () => {
    await judge();
    const first = document(await recheck(4, ['--json']));
    const asked = server.count;
    expect(document(await recheck(4, ['--json'])).output).toBe(first.output);
    expect(server.count).toBe(asked);
    const small = (await rowsOf(first.output)).map((row) => row.awb.key);
    await recheck(9);
    expect(server.count).toBe(asked + 5);
    const large = (await rowsOf(first.output)).map((row) => row.awb.key);
    expect(large).toHaveLength(9);
    expect(large).toEqual(expect.arrayContaining(small));
    await recheck(4, ['--fresh']);
    expect((await rowsOf(first.output)).map((row) => row.awb.key)).toEqual(small);
  });

  it('does not change the stored judging, nor which file is chosen', async () => {
    await judge();
    const before = await rowsOf(join(folder.dir, 'judged.jsonl'));
    answer = () => ({ content: verdict(1) });
    await recheck(5);
    const asked = server.count;
    expect((await judge()).code).toBe(0);
    expect(server.count).toBe(asked);
    expect(await rowsOf(join(folder.dir, 'judged.jsonl'))).toEqual(before);
    const outputs = (await readdir(folder.dir)).filter((name) => /^judged.*\.jsonl$/.test(name));
    expect(outputs.filter((name) => !/journal|recheck/.test(name))).toEqual(['judged.jsonl']);
  });

  it('judges the predictions that were judged, whatever infer has written since', async () => {
    answer = (message) => ({ content: verdict(message.includes('written since') ? 1 : 4) });
    await judge();
    await changeRows(folder.predictions, (row) => {
      row.gen = 'written since';
    });
    expect(document(await recheck(5, ['--json'])).shift.value).toBe(0);
  });

  it('works on lean predictions if the data is given', async () => {
    folder = await inferred(['--lean', '--limit', '2']);
    await judge(['--data-dir', RECORDED]);
    const result = await recheck(6, ['--data-dir', RECORDED, '--json']);
    expect(document(result).shift).toMatchObject({ value: 0, rows: 6 });
  });

  it('needs a stored judging with the same settings', async () => {
    const none = await recheck(5);
    expect(none.code).toBe(66);
    expect(none.stderr).toContain('leave --recheck out to judge first');
    await judge();
    const asked = server.count;
    const other = await recheck(5, ['--verdicts', 'official']);
    expect(other.code).toBe(78);
    expect(other.stderr).toContain('verdicts: "strict" before, "official" now');
    expect((await recheck(5, ['--label', 'elsewhere'])).code).toBe(66);
    expect((await recheck(5, ['--mode', 'metrics'])).code).toBe(2);
    expect(server.count).toBe(asked);
  });

  it('finds the judging with its settings among several, and a labelled one by its label', async () => {
    await judge();
    await judge(['--temperature', '0', '--label', 'cold one']);
    const found = document(await recheck(3, ['--temperature', '0', '--json']));
    expect(found.judged).toBe(join(folder.dir, 'judged.cold-one.jsonl'));
    expect(found.output).toMatch(/judged\.cold-one\.recheck-\d{4}-\d\d-\d\d\.jsonl$/);
    const labelled = document(await recheck(3, ['--temperature', '0', '--label', 'cold one', '--json']));
    expect(labelled.output).toBe(found.output);
    expect((await recheck(3, ['--label', 'cold one'])).code).toBe(78);
  });

  it('with rows that cannot be judged again says so and is incomplete', async () => {
    await judge();
    answer = () => ({ content: 'no verdict' });
    const { code, stdout } = await recheck(3);
    expect(code).toBe(3);
    expect(stdout).toContain('0 of 3 rows judged again, 3 failed');
    expect(stdout).not.toContain('shift');
    expect(document(await recheck(3, ['--json']))).toMatchObject({ exit_code: 3, shift: null, drifted: null });
  });

  it('omits a row that either judgement left unrated: a total of 0 is not -25 points', async () => {
    await judge(['--verdicts', 'official']);
    let calls = 0;
    answer = () => ({ content: verdict(calls++ % 2 === 0 ? {} : 4) });
    const half = document(await recheck(8, ['--verdicts', 'official', '--json']));
    expect(half.counts).toMatchObject({ chosen: 8, ok: 8 });
    expect(half.shift).toMatchObject({ value: 0, rows: 4 });
    answer = () => ({ content: verdict({}) });
    const none = document(await recheck(8, ['--verdicts', 'official', '--json', '--fresh']));
    expect(none).toMatchObject({ shift: null, drifted: null });
  });

  it('of fewer than two judged rows is refused', async () => {
    folder = await inferred(['--domains', 'os', '--limit', '7']);
    await changeRows(folder.predictions, (row, index) => {
      if (index > 0) row.gen = '';
    });
    await judge();
    const { code, stderr } = await recheck(2);
    expect(code).toBe(65);
    expect(stderr).toContain('at least two judged rows');
  });

  it('of a single trajectory gives no interval and draws no conclusion', async () => {
    const trajectories = new Map<string, number>();
    await judge();
    for (const { awb } of await rowsOf(join(folder.dir, 'judged.jsonl'))) {
      trajectories.set(awb.trajectory, (trajectories.get(awb.trajectory) ?? 0) + 1);
    }
    const [[longest]] = [...trajectories].sort((a, b) => b[1] - a[1]) as [[string, number]];
    await changeRows(folder.predictions, (row) => {
      if (row.awb.trajectory !== longest) row.gen = '';
    });
    await judge();
    expect((await recheck(2)).stdout).toMatch(
      /\(no interval, \d+ rows in 1 trajectory\)\nno conclusion without an interval/,
    );
    expect(document(await recheck(2, ['--json']))).toMatchObject({ drifted: null, shift: { se: null, low: null } });
  });

  it('keeps what is finished when it is interrupted', async () => {
    await judge();
    const stop = new AbortController();
    let calls = 0;
    answer = () => {
      if (++calls === 4) stop.abort('SIGINT');
      return { content: verdict(4) };
    };
    const where = ['--predictions', folder.predictions, '--output-dir', folder.dir, '--concurrency', '1'];
    const args = ['judge', ...where, '--judge-base-url', server.url, '--judge-model', 'j', '--recheck', '12'];
    const { code, stdout } = await awb(args, { stop: stop.signal });
    expect(code).toBe(130);
    expect(stdout).toContain('the same command resumes the run');
    const manifest = (await readdir(folder.dir)).find((name) => /recheck.*manifest/.test(name)) as string;
    expect((await jsonOf(join(folder.dir, manifest))).counts.ok).toBeGreaterThanOrEqual(3);
    expect((await awb(args)).code).toBe(0);
    expect(calls).toBe(12);
  });
});
