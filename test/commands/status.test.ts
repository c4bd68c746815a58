// `awb status`: what it says about runs that work, were killed or have ended, and that it leaves no trace.

import { chmod, mkdir, readdir, readFile, stat, truncate, writeFile } from 'node:fs/promises';
import { hostname } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, type CliProcess, startAwb, temporaryFolder } from '../support/cli.js';
import { caseIn, verdict } from '../support/judging.js';
import { type Answer, type Handler, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { holdText } from '../support/messages.js';
import { madeUpRows, writeDataset } from '../support/run-folder.js';

const servers: LoopbackServer[] = [];
const children: CliProcess[] = [];
afterEach(async () => {
  for (const { child } of children.splice(0)) child.kill('SIGKILL');
  for (const server of servers.splice(0)) await server.close();
});

const USAGE = { prompt_tokens: 100, completion_tokens: 10, total_tokens: 110 };
const reply = (content = 'fine'): Answer => ({ content, usage: USAGE });
const PRICES = 'unit: million-tokens\nmodels:\n  wm: { input: 10, output: 100 }\n';

async function setUp(answer: Handler = () => reply()) {
  const server = await startLoopbackServer(answer);
  servers.push(server);
  const dir = await temporaryFolder();
  const data = await writeDataset(join(dir, 'data'), {
    'mcp_test.jsonl': madeUpRows('mcp', 6),
    'terminal_test.jsonl': madeUpRows('terminal', 4),
  });
  await writeFile(join(dir, 'prices.yaml'), PRICES);
  const asking = ['--model-base-url', server.url, '--model-name', 'wm', '--prices', join(dir, 'prices.yaml')];
  const args = ['infer', '--data-dir', data, '--output-dir', join(dir, 'out'), ...asking, '--concurrency', '1'];
  const status = async (...dirs: string[]) => {
    const { code, stdout, stderr } = await awb(['status', ...dirs, '--json'], { cwd: dir });
    if (stderr !== '') throw new Error(stderr);
    return { code, ...JSON.parse(stdout) };
  };
  return { server, dir, out: join(dir, 'out'), args, status };
}

/** Starts infer, and waits until that many rows are in its journal and the next call hangs. */
async function working(rows: number) {
  const run = await setUp(({ index }) => (index < rows ? reply() : 'hang'));
  const child = startAwb(run.args);
  children.push(child);
  const journal = join(run.out, 'predictions.journal.jsonl');
  while ((await readFile(journal, 'utf8').catch(() => '')).split('\n').length - 1 < rows) {
    await new Promise((done) => setTimeout(done, 20));
  }
  return { ...run, ...child, journal };
}

async function traceOf(dir: string): Promise<string> {
  const names = await readdir(dir);
  const facts = names.map(
    async (name) => `${name} ${(await stat(join(dir, name))).mtimeMs} ${(await stat(join(dir, name))).size}`,
  );
  return (await Promise.all(facts)).sort().join('\n');
}

test('a run is read while its process works, and is reported as killed once that has died', async () => {
  const run = await working(7);
  const before = await traceOf(run.out);
  const told = await run.status('out');
  expect(told).toMatchObject({
    ...{ schema: 'awb.status/1', code: EXIT.later },
    runs: [
      {
        ...{ dir: 'out', name: 'predictions', kind: 'infer', state: 'running', total: 10, ok: 7, failed: 0, left: 3 },
        process: { pid: run.child.pid, host: hostname() },
        domains: { mcp: { total: 6 }, terminal: { total: 4 } },
        ...{ tokens: 770, usd: 0.014, last_record_at: expect.any(String), rows_per_second: expect.any(Number) },
      },
    ],
  });
  const { mcp, terminal } = told.runs[0].domains;
  expect([mcp.ok + terminal.ok, mcp.left + terminal.left]).toEqual([7, 3]);
  expect(await traceOf(run.out)).toBe(before);
  run.child.kill('SIGKILL');
  await run.ended;
  expect(await run.status('out')).toMatchObject({ code: EXIT.incomplete, runs: [{ state: 'killed', ok: 7, left: 3 }] });
  const { stdout } = await awb(['status', 'out'], { cwd: run.dir });
  expect(stdout).toMatch(
    /^out {2}infer {2}killed {2}7\/10 {2}3 left, \$0.014, \d+ s ago\n {4}the same command continues\n$/,
  );
});

test('a half-written line of the journal is skipped, and stays unchanged', async () => {
  const run = await working(5);
  run.child.kill('SIGKILL');
  await run.ended;
  const { size } = await stat(run.journal);
  await truncate(run.journal, size - 20);
  expect((await run.status('out')).runs[0]).toMatchObject({ ok: 4, left: 6 });
  expect((await stat(run.journal)).size).toBe(size - 20);
  await truncate(run.journal, 0);
  expect((await run.status('out')).runs[0]).toMatchObject({ ok: 0, left: 10, tokens: 0, usd: 0 });
});

test('a run that has ended shows its failures by class with a reason, and each judgement counts', async () => {
  const run = await setUp(({ index, body }) => {
    if (body.model === 'judge') return reply(verdict(4));
    return index < 2 ? { status: 400, body: { error: { message: 'bad\u001b[2J request' } } } : reply();
  });
  await awb(run.args);
  expect(await run.status('out')).toMatchObject({
    code: EXIT.incomplete,
    runs: [
      {
        state: 'incomplete',
        ok: 8,
        failed: 2,
        left: 0,
        failures: [{ class: 'fatal', rows: 2, reason: expect.any(String) }],
      },
    ],
  });
  await awb(run.args);
  const judging = ['--judge-base-url', run.server.url, '--judge-model', 'judge', '--judge-repeats', '3'];
  await awb(['judge', '--predictions', join(run.out, 'predictions.jsonl'), '--output-dir', run.out, ...judging]);
  const told = await run.status('out');
  expect(told.code).toBe(EXIT.done);
  expect(told.runs.map((each: object) => each)).toMatchObject([
    { name: 'predictions', state: 'complete', ok: 10, failures: [] },
    { name: 'judged', kind: 'judge', state: 'complete', ok: 30, total: 30, domains: { mcp: { total: 18, ok: 18 } } },
  ]);
  expect(told.total).toMatchObject({ runs: 2, total: 40, ok: 40, left: 0 });
});

test('several folders are added up, and one that works decides the exit code', async () => {
  const run = await working(4);
  await awb(
    [...run.args.map((word) => (word === run.out ? join(run.dir, 'two') : word)), '--baseline', 'oracle'].filter(
      (word, index, all) => !/^--(model|prices)/.test(word) && !/^--(model|prices)/.test(all[index - 1] ?? ''),
    ),
  );
  const told = await run.status('out', 'two');
  expect(told).toMatchObject({ code: EXIT.later, total: { runs: 2, total: 20, ok: 14, left: 6 } });
  const { stdout } = await awb(['status', 'out', 'two'], { cwd: run.dir });
  expect(stdout).toContain('\n\nall 2 runs: 14 of 20 (70 %), 6 left');
  expect(Math.max(...stdout.split('\n').map((line) => line.length))).toBeLessThanOrEqual(80);
});

test("another host's process is not reported as dead", async () => {
  const run = await working(3);
  run.child.kill('SIGKILL');
  await run.ended;
  const path = join(run.out, 'predictions.manifest.json');
  const manifest = JSON.parse(await readFile(path, 'utf8'));
  await writeFile(path, JSON.stringify({ ...manifest, process: { ...manifest.process, host: 'gpu-7' } }));
  expect(await run.status('out')).toMatchObject({ code: EXIT.later, runs: [{ state: 'running' }] });
  const { stdout } = await awb(['status', 'out'], { cwd: run.dir });
  expect(stdout).toContain(`running on gpu-7, if process ${manifest.process.pid} is alive there`);
});

test('a run that awaits results of batch files has not ended', async () => {
  const run = await setUp();
  await awb(run.args);
  const path = join(run.out, 'predictions.manifest.json');
  await writeFile(path, JSON.stringify({ ...JSON.parse(await readFile(path, 'utf8')), state: 'awaiting' }));
  expect(await run.status('out')).toMatchObject({ code: EXIT.later, runs: [{ state: 'awaiting', ok: 10 }] });
});

test.skipIf(process.getuid?.() === 0)('a read-only folder is read', async () => {
  const run = await setUp();
  await awb(run.args);
  await chmod(run.out, 0o500);
  expect((await run.status('out')).code).toBe(EXIT.done);
  await chmod(run.out, 0o700);
});

test('a folder without a run, or no folder, is an error that says what to name', async () => {
  const dir = await temporaryFolder();
  await mkdir(join(dir, 'empty'));
  const empty = await awb(['status', 'empty'], { cwd: dir });
  expect(empty).toMatchObject({ code: EXIT.inputMissing, stderr: expect.stringContaining('there is no run in empty') });
  const none = await awb(['status', 'none'], { cwd: dir });
  expect(none).toMatchObject({
    code: EXIT.inputMissing,
    stderr: expect.stringContaining('cannot read the folder none (ENOENT)'),
  });
});

describe('what it prints', () => {
  /** Two finished runs, one of them judged with failures, next to a file and a folder without a run. */
  async function threeRuns() {
    const refused = { status: 400, body: { error: { message: 'bad request' } } };
    /** The only row for which the judge's answer is unreadable. */
    let answered: string | undefined;
    const run = await setUp(({ body }) => {
      if (body.model === 'judge') answered ??= caseIn(body);
      return body.model === 'judge' && caseIn(body) !== answered ? refused : reply(verdict(4));
    });
    const into = (folder: string) =>
      run.args.map((word) => (word === run.out ? join(run.dir, 'results', folder) : word));
    await awb([...into('step-100'), '--label', 'step-100']);
    await awb([...into('step-20').filter((word) => word !== '--prices' && !word.endsWith('.yaml')), '--limit', '1']);
    const judging = ['--judge-base-url', run.server.url, '--judge-model', 'judge'];
    const folder = join(run.dir, 'results', 'step-100');
    await awb(['judge', '--predictions', join(folder, 'predictions.jsonl'), '--output-dir', folder, ...judging]);
    await mkdir(join(run.dir, 'results', 'plots'));
    await writeFile(join(run.dir, 'results', 'notes.txt'), 'to do\n');
    return run;
  }
  const ran = (dir: string, args: readonly string[]) =>
    awb(['status', ...args], { cwd: dir }).then(({ code, stdout, stderr }) => {
      const text = `$ awb status ${args.join(' ')}\n${stdout}--- stderr\n${stderr}--- exit ${code}\n`;
      return text.replace(/\d+ (s|min) ago/g, 'N s ago').replace(/process \d+/g, 'process N');
    });

  test('finished runs, with what else a glob finds', async () => {
    const { dir } = await threeRuns();
    const all = ['notes.txt', 'plots', 'step-100', 'step-20'].map((name) => `results/${name}`);
    const calls = [['results/step-20', 'results/step-100'], all, ['results/notes.txt'], ['results/plots'], []];
    let text = '';
    for (const args of calls) text += await ran(dir, args);
    await holdText('status-finished', text, { [dir]: '<dir>' });
  });

  test('nothing to look at', async () => {
    const dir = await temporaryFolder();
    let text = await ran(dir, []);
    await mkdir(join(dir, 'results'));
    text += await ran(dir, []);
    await holdText('status-nothing', text, { [dir]: '<dir>' });
  });

  test('a run at work', async () => {
    const run = await working(7);
    const text = await ran(run.dir, ['out']);
    await holdText('status-at-work', text.replace(/[\d.]+ rows\/s, about \d+ s left/, 'R rows/s, about N s left'));
  });
});
