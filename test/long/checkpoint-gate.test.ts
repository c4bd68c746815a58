// examples/checkpoint-gate.yml on its own runner: stopped by its time limit, and continued by the next job.

import { createHash } from 'node:crypto';
import { copyFile, mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from 'vitest';
import { awb, RECORDED, ROOT, temporaryFolder } from '../support/cli.js';
import { entryOf, openHub } from '../support/hub.js';
import { marked, verdict } from '../support/judging.js';
import { deterministicAnswer, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { type Job, type JobResult, jobOf, runJob } from '../support/workflow.js';

const WORKFLOW = 'examples/checkpoint-gate.yml';
const ASK = 'Ask the checkpoint';
const JUDGE = 'Judge it';
const SAVE = 'Save the run';
const BASE = 'Fetch the base and check its hash';
/** Rows of the recorded benchmark. */
const ROWS = 63;
const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
/** The number of answers that come at once; after them the model is slow, so the time is up before it is done. */
let quick = Number.POSITIVE_INFINITY;

let job: Job;
let kept: string;
let programs: string;
let env: Record<string, string>;
let model: LoopbackServer;
let judge: LoopbackServer;
const jobs: JobResult[] = [];

/** A hub with the recorded rows; it ends with the test that opened it. */
async function openBenchmark(): Promise<string> {
  const names = (await readdir(RECORDED)).filter((name) => name.endsWith('_test.jsonl'));
  const files = Object.fromEntries(
    await Promise.all(names.map(async (name) => [name, await readFile(join(RECORDED, name))] as const)),
  );
  return (await openHub({ files, entries: Object.entries(files).map(entryOf) })).url;
}

/** Each job starts in a new workspace with the files of the repository, as on another machine. */
async function startJob(more: Record<string, string> = {}): Promise<JobResult & { workspace: string }> {
  const workspace = join(await temporaryFolder(), 'work');
  await mkdir(workspace);
  await copyFile(join(ROOT, 'examples/gate.yaml'), join(workspace, 'gate.yaml'));
  const inputs = { label: 'step 100', endpoint: model.url };
  const around = { ...env, HF_ENDPOINT: await openBenchmark(), ...more };
  const result = await runJob(job, workspace, { programs, kept, inputs, runId: jobs.length + 1, env: around });
  jobs.push(result);
  return { ...result, workspace };
}

/** Rows with a record in the run that was saved last. */
async function savedRows(of: 'predictions' | 'judged'): Promise<number> {
  const last = (await readdir(join(kept, 'caches'))).sort().at(-1) ?? '';
  const text = await readFile(join(kept, 'caches', last, `${of}.journal.jsonl`), 'utf8').catch(() => '');
  return text.split('\n').filter((line) => line !== '').length;
}

beforeAll(async () => {
  job = await jobOf(WORKFLOW);
  const folder = await temporaryFolder();
  [kept, programs] = [join(folder, 'kept'), join(folder, 'programs')];
  await mkdir(kept);
  await mkdir(programs);
  model = await startLoopbackServer(({ body }) => {
    const content = deterministicAnswer(body.messages);
    return { content, usage: USAGE, latencyMs: quick-- > 0 ? 0 : 2_000 };
  });
  judge = await startLoopbackServer((request) => {
    return { content: marked(verdict(4), request), model: 'judge-2026', usage: USAGE };
  });
  const prices = join(folder, 'prices.yaml');
  await writeFile(prices, 'models:\n  "*": { input: 1, output: 2 }\n');
  // The base was judged by the same judge, and kept.
  const base = join(folder, 'base');
  const asked = ['--judge-base-url', judge.url, '--judge-model', 'judge', '--quiet'];
  for (const args of [
    ['infer', '--data-dir', RECORDED, '--output-dir', base, '--baseline', 'persistence', '--label', 'production'],
    ['judge', base, ...asked],
    ['score', base, '--db', join(folder, 'base.sqlite')],
  ]) {
    const { code, stderr } = await awb(args);
    if (code !== 0) throw new Error(stderr);
  }
  const script = (name: string, text: string) =>
    writeFile(join(programs, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
  await script('awb', `exec ${process.execPath} ${join(ROOT, 'dist/bin.js')} "$@"`);
  await script('git', 'mkdir -p "$5"');
  await script('npm', ':');
  await script(
    'gh',
    `[ "$*" = "release download gate-base --pattern base.sqlite --clobber" ] && cp ${join(folder, 'base.sqlite')} .`,
  );
  env = {
    JUDGE_URL: judge.url,
    JUDGE_MODEL: 'judge',
    BASE_SHA256: createHash('sha256')
      .update(await readFile(join(folder, 'base.sqlite')))
      .digest('hex'),
    AWB_PRICES: prices,
  };
});

describe('the workflow', () => {
  it('gives no expression to a shell, and leaves time to save the run after its two limits', () => {
    for (const { run } of job.steps) expect(run ?? '').not.toContain('${{');
    const minutes = (text: string | undefined) => Number(/^(\d+)m$/.exec(text ?? '')?.[1]);
    const calls = [...JSON.stringify(job.steps).matchAll(/--kill-after=(\d+)m/g)].map(([, end]) => Number(end));
    expect(calls).toHaveLength(2);
    const asking =
      minutes(job.env.ASK_WITHIN) + minutes(job.env.JUDGE_WITHIN) + calls.reduce((sum, end) => sum + end, 0);
    expect(asking).toBeLessThanOrEqual(job['timeout-minutes'] - 30);
  });

  it('refuses another base before anything is asked or kept', async () => {
    const { steps, log } = await startJob({ BASE_SHA256: '0'.repeat(64) });
    expect(steps[BASE]).toBe(1);
    expect(log).toContain('base.sqlite: FAILED');
    expect(Object.keys(steps)).not.toContain(SAVE);
    expect(model.count).toBe(0);
  });

  it('is stopped by its time limit, saves the run, and judges nothing', async () => {
    quick = 12;
    const { steps, log } = await startJob({ ASK_WITHIN: '5s' });
    expect(steps, log).toMatchObject({ [ASK]: 143, [SAVE]: 0 });
    expect(Object.keys(steps)).not.toContain(JUDGE);
    expect(await savedRows('predictions')).toBeGreaterThan(0);
    expect(await savedRows('predictions')).toBeLessThan(ROWS);
  });

  it('asks no finished row again, and stops at its budget', async () => {
    quick = Number.POSITIVE_INFINITY;
    const [finished, before] = [await savedRows('predictions'), model.count];
    const { steps, log } = await startJob({ JUDGE_BUDGET_USD: '0.005' });
    expect(steps, log).toMatchObject({ [ASK]: 0, [JUDGE]: 75, [SAVE]: 0 });
    expect(model.count - before).toBe(ROWS - finished);
  });

  it('finishes with a larger budget, and judges no row again', async () => {
    const [finished, before, asked] = [await savedRows('judged'), judge.count, model.count];
    const { steps, log, outputs } = await startJob();
    expect(steps, log).toMatchObject({ [ASK]: 0, [JUDGE]: 0, [SAVE]: 0, 'Write scores without texts': 0 });
    expect({ model: model.count, judge: judge.count - before }).toEqual({ model: asked, judge: ROWS - finished });
    expect(outputs).toMatch(/^verdict=(GO|NO-GO|INCONCLUSIVE|INCOMPLETE)\n/);
  });

  it('passes on scores, and no text of a row, a prediction or the judge', async () => {
    const place = join(kept, 'artefacts/gate-step 100');
    const files = (await readdir(place, { recursive: true })).filter((name) => /\.\w+$/.test(name));
    expect(files).toEqual(expect.arrayContaining(['scores.csv', 'gate.json', 'gate.xml', 'site/index.html']));
    const texts = await Promise.all(files.map((name) => readFile(join(place, name), 'utf8')));
    expect(texts.join()).toContain('step 100');
    const [row = ''] = (await readFile(join(RECORDED, 'mcp_test.jsonl'), 'utf8')).split('\n');
    const truth: string = JSON.parse(row).response.at(-1);
    for (const text of ['observed ', 'plausible', 'too short', truth.slice(0, 40)]) {
      for (const [at, name] of files.entries()) expect(texts[at]?.includes(text), `${text} in ${name}`).toBe(false);
    }
  });
});
