// The scripts of examples/slurm as a team submits them, on a Slurm of one node: killed, requeued, held, submitted again.

import { chmod, cp, mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it, test } from 'vitest';
import { codeOf, present } from '../../src/core/errors.js';
import { AT_A_TIME, type ClusterTrial, startClusterTrial } from '../support/cluster-trial.js';
import { everythingIn, readRows } from '../support/run-folder.js';
import { noSlurm, SLURM, type SlurmNode, startSlurm } from '../support/slurm.js';

const SHARDS = 8;
const ROWS_OF_A_DOMAIN = 48;
const ROWS = 3 * ROWS_OF_A_DOMAIN;
const KEY = 'sk-of-the-keys-file';

/** A substitute for vLLM: it listens at its port after a while, and passes everything on to the loopback server. */
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

/** A listed process, such as a watcher's `sleep`, may have ended by itself since. */
function killNow(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (codeOf(error) !== 'ESRCH') throw error;
  }
}

// Reported once if no Slurm can be started, which needs root and its packages; `.ci/run` installs them.
if (noSlurm !== undefined) it.skip(`examples/slurm: ${noSlurm}`, () => {});

describe.skipIf(noSlurm !== undefined)('examples/slurm, on a Slurm of one node,', () => {
  let trial: ClusterTrial;
  let dir: string;
  let slurm: SlurmNode;
  let env: Record<string, string>;

  beforeAll(async () => {
    trial = await startClusterTrial(ROWS_OF_A_DOMAIN);
    dir = trial.dir;
    // munge needs a socket that everyone can reach.
    await chmod(dir, 0o711);
    await writeFile(join(dir, 'engine.mjs'), ENGINE);
    await writeFile(join(dir, 'keys'), `AWB_MODEL_API_KEY=${KEY}\nAWB_JUDGE_API_KEY=${KEY}\n`, { mode: 0o600 });
    slurm = await startSlurm(join(dir, 'slurm'));
    env = {
      OUT: join(dir, 'step-2000'),
      LABEL: 'step-2000',
      DATA_DIR: join(dir, 'data'),
      DB: join(dir, 'runs.sqlite'),
      BASE: 'production',
      POLICY: join(dir, 'gate.yaml'),
      SHARDS: String(SHARDS),
      MODEL: 'wm',
      SERVE: `'${process.execPath}' ${join(dir, 'engine.mjs')} $PORT ${trial.server.port}`,
      JUDGE_MODEL: 'judge',
      JUDGE_BASE_URL: trial.server.url,
      INFER_SBATCH: '',
      JUDGE_SBATCH: '',
      MERGE_SBATCH: '',
      WAIT_READY: '1m',
      AWB: join(dir, 'awb'),
      KEYS: join(dir, 'keys'),
      AWB_CONCURRENCY: String(AT_A_TIME),
    };
  }, 120_000);

  afterAll(async () => {
    trial?.held.clear();
    await slurm?.stop();
    await trial?.server.close();
  }, 120_000);

  /** Submits the checkpoint with the script; returns the numbers of its jobs. */
  async function submit(): Promise<Record<'infer' | 'merge' | 'judge' | 'gate', string>> {
    const told = await slurm.run('bash', [join(SLURM, 'submit.sh')], env);
    const numbers = told.split(' ').map((word) => word.split('=')[1]);
    const [infer, merge, judge, gate] = numbers.map(present);
    return { infer: present(infer), merge: present(merge), judge: present(judge), gate: present(gate) };
  }

  /** Submits a single script, with sbatch flags that put its log in `out`, another folder; returns its number. */
  async function submitScript(script: string, flags: readonly string[], out: string, other = {}): Promise<string> {
    await mkdir(out, { recursive: true });
    const args = ['--parsable', `--chdir=${SLURM}`, ...flags, join(SLURM, script)];
    return slurm.run('sbatch', args, { ...env, OUT: out, ...other });
  }
  const arrayOf = (tasks: string, out: string) => [`--array=${tasks}`, `--output=${join(out, '%a.log')}`];

  /** Submits only the judge, for the unsharded predictions; returns its number. */
  async function submitJudge(out: string, other = {}): Promise<string> {
    await cp(join(dir, 'whole/predictions.jsonl'), join(out, 'merged/predictions.jsonl'));
    return submitScript('judge.sbatch', [`--output=${join(out, 'judge.log')}`], out, other);
  }

  async function expectWhole(): Promise<void> {
    for (const file of ['predictions.jsonl', 'judged.jsonl']) {
      expect(await trial.text('step-2000/merged', file)).toBe(await trial.text('whole', file));
    }
  }

  test('shards that are killed, requeued, near their time limit or left by their engine end with the bytes of an unsharded run', async () => {
    const [killed, awbKilled, atLimit, left] = [2, 3, 4, 5] as const;
    const tasks = [killed, awbKilled, atLimit, left];
    const rows = await Promise.all(tasks.map((task) => trial.rowsOf(task + 1, SHARDS)));
    const last = new Set(rows.flatMap((ofTask) => ofTask.slice(-AT_A_TIME)));
    for (const name of last) trial.held.add(name);
    const jobs = await submit();
    const taskOf = (task: number) => `${jobs.infer}_${task}`;
    const kill = (task: number, word: string) => {
      const found = slurm.processes(jobs.infer, task).filter(({ command }) => command.includes(word));
      for (const { pid } of found) killNow(pid);
    };
    await trial.untilAsked(last);

    // As if a node fails: everything of the task is gone at once, and Slurm does not know.
    kill(killed, '');
    await slurm.run('scontrol', ['requeue', taskOf(killed)]);
    kill(awbKilled, 'bin.js infer');
    // What --signal=B:USR1@300 sends.
    await slurm.run('scancel', ['--batch', '--signal=USR1', taskOf(atLimit)]);
    kill(left, 'engine.mjs');
    for (const task of tasks) {
      while ((await slurm.job(taskOf(task))).Restarts !== '1') await wait(100);
    }
    trial.held.clear();

    const gate = await slurm.until(jobs.gate, 'COMPLETED', 'FAILED', 'CANCELLED');
    expect(gate).toMatchObject({ JobState: 'COMPLETED', ExitCode: '0:0' });
    await expectWhole();
    // Only what was in flight when they ended was asked once more.
    expect(trial.askedAgain()).toEqual(last);
    expect(trial.asked).toHaveLength(ROWS + last.size);
    expect(trial.judge.asked).toBe(ROWS);
  }, 300_000);

  test('keys reach the servers, and none of the files that Slurm keeps', async () => {
    expect([...trial.keys]).toContain(`Bearer ${KEY}`);
    const kept = await everythingIn(join(dir, 'slurm'));
    expect(kept).toContain('JUDGE_BASE_URL=');
    expect(kept).not.toContain(KEY);
  });

  test('when submitted again, finished shards ask nothing, and everything ends as before', async () => {
    const before = { asked: trial.asked.length, judged: trial.judge.asked };
    const { gate } = await submit();
    expect(await slurm.until(gate, 'COMPLETED', 'FAILED', 'CANCELLED')).toMatchObject({ JobState: 'COMPLETED' });
    expect({ asked: trial.asked.length, judged: trial.judge.asked }).toEqual(before);
    await expectWhole();
  }, 300_000);

  test("the gate's verdict is the exit code of its job", async () => {
    await writeFile(join(dir, 'strict.yaml'), 'min_score: { overall: 99 }\n');
    const alone = ['--parsable', `--chdir=${SLURM}`, `--output=${join(dir, 'strict.log')}`, join(SLURM, 'gate.sbatch')];
    const gate = await slurm.run('sbatch', alone, { ...env, POLICY: join(dir, 'strict.yaml') });
    expect(await slurm.until(gate, 'COMPLETED', 'FAILED')).toMatchObject({ JobState: 'FAILED', ExitCode: '4:0' });
  }, 120_000);

  test('a task whose key is refused is held, and continues once that is fixed and it is released', async () => {
    const out = join(dir, 'refused');
    trial.judge.refuses = true;
    const job = await submitJudge(out);
    while (!(await slurm.run('squeue', ['--noheader', '--format=%r'])).includes('held')) await wait(100);
    trial.judge.refuses = false;
    await slurm.run('scontrol', ['release', job]);
    expect(await slurm.until(job, 'COMPLETED', 'FAILED')).toMatchObject({ JobState: 'COMPLETED', Restarts: '1' });
    expect(await readRows(join(out, 'merged/judged.jsonl'))).toHaveLength(ROWS);
  }, 120_000);

  test('a cancelled task stays cancelled, although awb and its engine end by a signal', async () => {
    const out = join(dir, 'cancelled');
    const before = trial.judge.asked;
    trial.held.add('judge');
    const job = await submitJudge(out, { JUDGE_SERVE: present(env.SERVE) });
    while (trial.judge.asked === before) await wait(50);
    await slurm.run('scancel', [job]);
    await slurm.until(job, 'CANCELLED');
    trial.held.delete('judge');
    while (slurm.processes(job).length > 0) await wait(100);
    expect(await slurm.job(job)).toMatchObject({ JobState: 'CANCELLED', Restarts: '0' });
    expect(await trial.text('cancelled/judge.log')).not.toContain('requeued');
  }, 120_000);

  test('a task whose engine dies each time is held after the maximum number of restarts', async () => {
    const out = join(dir, 'dying');
    const job = await submitScript('infer.sbatch', arrayOf('0-0', out), out, {
      SERVE: 'exit 3',
      SHARDS: '1',
      MAX_RESTARTS: '1',
    });
    while (!(await slurm.run('squeue', ['--noheader', '--format=%r'])).includes('held')) {
      const { JobState } = await slurm.job(`${job}_0`);
      if (JobState === 'FAILED') throw new Error(await trial.text('dying/0.log'));
      await wait(100);
    }
    expect(await slurm.job(`${job}_0`)).toMatchObject({ Restarts: '2' });
    expect(await trial.text('dying/0.log')).toContain(
      'the engine has died, after 1 restarts; held until: scontrol release',
    );
    await slurm.run('scancel', [job]);
  }, 120_000);

  test('an array of another size than N consecutive tasks fails at once, and nothing is asked', async () => {
    const before = trial.asked.length;
    const out = join(dir, 'part');
    const job = await submitScript('infer.sbatch', arrayOf('3,5', out), out);
    for (const task of [3, 5]) {
      const ended = await slurm.until(`${job}_${task}`, 'COMPLETED', 'FAILED');
      expect(ended).toMatchObject({ JobState: 'FAILED', ExitCode: '2:0', Restarts: '0' });
    }
    expect(await trial.text('part/3.log')).toContain('a job array of exactly 8 consecutive tasks');
    expect(trial.asked).toHaveLength(before);
  }, 120_000);
});
