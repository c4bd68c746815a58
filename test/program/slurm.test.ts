// The scripts of examples/slurm as a team submits them, on a Slurm of one node: killed, requeued, held, submitted again.

import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { awb, ROOT, temporaryFolder } from '../support/cli.js';
import { deterministicAnswer, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';
import { madeUpRows, readRows, writeDataset } from '../support/run-folder.js';
import { noSlurm, SLURM, type SlurmNode, startSlurm } from '../support/slurm.js';

const SHARDS = 8;
const KEY = 'sk-of-the-keys-file';
const SCORES = { format: 5, factuality: 4, consistency: 4, realism: 5, quality: 4 };
const VERDICT = `<final_evaluation>\n${JSON.stringify({ scores: SCORES })}\n</final_evaluation>`;

/** A stand-in for vLLM: at the port that it is given it listens after a while, and passes everything on to the loopback server. */
const ENGINE = `
import { connect, createServer } from 'node:net';
const [port, to] = process.argv.slice(2).map(Number);
const server = createServer((socket) => {
  const behind = connect(to, '127.0.0.1');
  for (const one of [socket, behind]) one.on('error', () => [socket, behind].forEach((end) => end.destroy()));
  socket.pipe(behind).pipe(socket);
});
setTimeout(() => server.listen(port, '127.0.0.1'), 500);
`;

/** A row by what its request asks for. */
function nameOf(messages: unknown): string {
  return [...JSON.stringify(messages).matchAll(/step \d+ of \w+ \d+/g)].at(-1)?.[0] as string;
}

if (noSlurm !== undefined) it.skip(`examples/slurm: ${noSlurm}`, () => {});

describe.skipIf(noSlurm !== undefined)('examples/slurm, on a Slurm of one node,', () => {
  let dir: string;
  let server: LoopbackServer;
  let slurm: SlurmNode;
  let env: Record<string, string>;
  /** The world model's requests, by row. */
  let asked: string[] = [];
  let judged = 0;
  /** Rows that get no answer before they are let go. */
  const held = new Set<string>();
  const keys = new Set<unknown>();
  const refusesJudges = false;

  const flags = (out: string) => ['--output-dir', join(dir, out), '--concurrency', '2', '--quiet'];
  const bytes = (out: string, file: string) => readFile(join(dir, out, file), 'utf8');

  beforeAll(async () => {
    dir = await temporaryFolder();
    // Slurm's daemons and tasks are root's, and munge wants folders that can be entered.
    await chmod(dir, 0o711);
    const domains = ['mcp', 'terminal', 'web'];
    const files = domains.map((domain) => [`${domain}_test.jsonl`, madeUpRows(domain, 48)]);
    await writeDataset(join(dir, 'data'), Object.fromEntries(files));
    server = await startLoopbackServer(
      async ({ body, headers }) => {
        keys.add(headers.authorization);
        if (body.model === 'judge') {
          judged++;
          return refusesJudges ? { status: 401, body: { error: { message: 'no such key' } } } : { content: VERDICT };
        }
        const name = nameOf(body.messages);
        asked.push(name);
        while (held.has(name)) await wait(20);
        return { content: deterministicAnswer(body.messages) };
      },
      { record: false },
    );
    await writeFile(join(dir, 'engine.mjs'), ENGINE);
    await writeFile(join(dir, 'awb'), `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, 'dist/bin.js')}' "$@"\n`);
    await chmod(join(dir, 'awb'), 0o755);
    await writeFile(join(dir, 'keys'), `AWB_MODEL_API_KEY=${KEY}\nAWB_JUDGE_API_KEY=${KEY}\n`, { mode: 0o600 });
    slurm = await startSlurm(join(dir, 'slurm'));
    env = {
      OUT: join(dir, 'step-2000'),
      LABEL: 'step-2000',
      DATA_DIR: join(dir, 'data'),
      DB: join(dir, 'runs.sqlite'),
      BASE: 'production',
      POLICY: join(ROOT, 'examples/gate.yaml'),
      SHARDS: String(SHARDS),
      MODEL: 'wm',
      SERVE: `'${process.execPath}' ${join(dir, 'engine.mjs')} $PORT ${server.port}`,
      JUDGE_MODEL: 'judge',
      JUDGE_BASE_URL: server.url,
      INFER_SBATCH: '',
      JUDGE_SBATCH: '',
      MERGE_SBATCH: '',
      WAIT_READY: '1m',
      AWB: join(dir, 'awb'),
      KEYS: join(dir, 'keys'),
      AWB_CONCURRENCY: '2',
    };
    const asking = ['--model-base-url', server.url, '--model-name', 'wm', ...flags('whole')];
    expect((await awb(['infer', '--data-dir', join(dir, 'data'), ...asking])).code).toBe(0);
    const predictions = join(dir, 'whole/predictions.jsonl');
    const judging = ['--judge-base-url', server.url, '--judge-model', 'judge', ...flags('whole')];
    expect((await awb(['judge', '--predictions', predictions, ...judging])).code).toBe(0);
    const scored = await awb(['score', join(dir, 'whole'), '--db', env.DB as string, '--label', 'production']);
    expect(scored.code).toBe(0);
    asked = [];
    judged = 0;
  }, 60_000);

  afterAll(async () => {
    held.clear();
    await slurm?.stop();
    await server?.close();
  }, 60_000);

  /** The names of a shard's rows, in the order of asking. */
  async function rowsOf(task: number): Promise<string[]> {
    const out = `rows-${task}`;
    const part = ['--shard', `${task + 1}/${SHARDS}`, '--baseline', 'persistence', ...flags(out)];
    expect((await awb(['infer', '--data-dir', join(dir, 'data'), ...part])).code).toBe(0);
    return (await readRows(join(dir, out, 'predictions.jsonl'))).map(({ prompt }) => nameOf(prompt));
  }

  /** Submits the checkpoint by the script; the numbers of its jobs. */
  async function submit(): Promise<Record<string, string>> {
    const told = await slurm.run('bash', [join(SLURM, 'submit.sh')], env);
    return Object.fromEntries(told.split(' ').map((word) => word.split('=')));
  }

  /** Resolves once a shard's journal holds so many rows. */
  async function finished(task: number, rows: number): Promise<void> {
    const journal = join(dir, 'step-2000/shards', String(task), 'predictions.journal.jsonl');
    while ((await readRows(journal).catch(() => [])).length < rows) await wait(50);
  }

  test('shards that are killed, requeued, near their time limit or left by their engine end in the bytes of an unsharded run', async () => {
    const [killed, awbKilled, atLimit, engineKilled] = [2, 3, 4, 5];
    const unfinished = new Map<number, string[]>();
    for (const task of [2, 3, 4, 5]) {
      const rows = await rowsOf(task);
      unfinished.set(task, rows.slice(-2));
      for (const name of rows.slice(-2)) held.add(name);
    }
    const jobs = await submit();
    const taskOf = (task: number) => `${jobs.infer}_${task}`;
    for (const task of [2, 3, 4, 5]) await finished(task, 16);

    // As a node that fails: everything of the task is gone at once, and nobody has told Slurm.
    for (const { pid } of slurm.processes(jobs.infer as string, killed as number)) process.kill(pid, 'SIGKILL');
    await slurm.run('scontrol', ['requeue', taskOf(killed as number)]);
    const processOf = (task: number, word: string) =>
      slurm.processes(jobs.infer as string, task).find(({ command }) => command.includes(word))?.pid as number;
    process.kill(processOf(awbKilled as number, 'bin.js infer'), 'SIGKILL');
    // What --signal=B:USR1@300 sends.
    await slurm.run('scancel', ['--batch', '--signal=USR1', taskOf(atLimit as number)]);
    process.kill(processOf(engineKilled as number, 'engine.mjs'), 'SIGKILL');
    for (const task of [2, 3, 4, 5]) {
      while ((await slurm.job(taskOf(task))).Restarts !== '1') await wait(100);
    }
    held.clear();

    expect(await slurm.until(jobs.gate as string, 'COMPLETED', 'FAILED', 'CANCELLED')).toMatchObject({
      JobState: 'COMPLETED',
      ExitCode: '0:0',
    });
    expect(await bytes('step-2000/merged', 'predictions.jsonl')).toBe(await bytes('whole', 'predictions.jsonl'));
    expect(await bytes('step-2000/merged', 'judged.jsonl')).toBe(await bytes('whole', 'judged.jsonl'));
    // Two rows of each were in flight, and no other was asked twice.
    const again = asked.filter((name, index) => asked.indexOf(name) !== index);
    expect(new Set(again)).toEqual(new Set([...unfinished.values()].flat()));
    expect(asked).toHaveLength(144 + again.length);
    expect(judged).toBe(144);
  }, 120_000);
});
