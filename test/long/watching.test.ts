// `awb watch` over servers that crash, hang and are killed, and how it behaves while it waits.

import { readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { isAlive } from '../../src/run/run.js';
import { awb, temporaryFolder } from '../support/cli.js';
import { holdText } from '../support/messages.js';
import { readRows } from '../support/run-folder.js';
import { complete, judge, KEY, ROWS, setUp, watchesCheckpoints } from '../support/watch.js';

watchesCheckpoints();

test('a server that never gets ready is logged with its last output, and the watch continues with the next checkpoint', async () => {
  const run = await setUp({ ...complete('step-1', { ready: false }), ...complete('step-2', {}) });
  const flags = ['--tries', '2'];
  // Long enough for the second one to get ready while the machine is busy.
  const first = await run.once(...flags, '--wait-ready', '10s');
  expect(first.code).toBe(EXIT.unavailable);
  expect(first.stderr).toMatch(
    /step-1: not evaluated: the server was not ready after 10 s .*out of memory.*; it will be tried again/,
  );
  expect(await run.result('step-2')).toMatchObject({ verdict: 'GO' });
  expect(await run.result('step-1')).toMatchObject({ verdict: 'FAILED', will_retry: true, reason: expect.any(String) });
  const second = await run.once(...flags, '--wait-ready', '0.1s');
  expect(second.stderr).toMatch(/it is skipped until it changes/);
  const third = await run.once(...flags);
  expect([third.code, await run.started()]).toEqual([EXIT.done, ['step-1', 'step-2', 'step-1']]);
  await run.arrive(complete('step-1', { note: 'mended' }));
  expect((await run.once(...flags)).code).toBe(EXIT.done);
  expect(await run.result('step-1.2')).toMatchObject({ verdict: 'GO', checkpoint: { name: 'step-1' } });
  for (const pid of await run.pids()) expect(isAlive(pid)).toBe(false);
}, 300_000);

test('a server that crashes in the middle costs no finished row: the next round continues', async () => {
  const run = await setUp(complete('step-1', { crashAfter: 6 }));
  const first = await run.once();
  expect(first.code).toBe(EXIT.unavailable);
  expect(first.stderr).toMatch(/the server exited unexpectedly \(exit code 1\); it last said: .*CUDA error/);
  expect((await run.once()).code).toBe(EXIT.done);
  const asked = await run.asked();
  expect([asked.length, new Set(asked).size]).toEqual([ROWS, ROWS]);
}, 300_000);

test('a watch that is killed ends its server and steps, and the same command continues', async () => {
  const run = await setUp({ ...complete('step-1', {}), ...complete('step-2', { hangAfter: 5 }) });
  const { child, ended } = run.start('--once');
  await run.until(async () => (await readdir(run.dir)).includes('served.step-2.hung'));
  // An answer counts once it is in the journal.
  const journal = join(run.dir, 'watch/step-2/predictions.journal.jsonl');
  await run.until(async () => (await readRows(journal).catch(() => [])).length === 5);
  child.kill('SIGKILL');
  await ended;
  await run.until(async () => (await run.pids()).every((pid) => !isAlive(pid)));
  const before = await run.asked();
  expect((await run.once()).code).toBe(EXIT.done);
  expect(await run.served()).toEqual(['step-1', 'step-2', 'step-2']);
  const asked = await run.asked();
  expect(asked.slice(0, before.length)).toEqual(before);
  expect(new Set(asked).size).toBe(2 * ROWS);
  expect(asked.length).toBe(2 * ROWS);
}, 300_000);

test('without --once it waits for checkpoints, and Ctrl-C stops the server in the middle', async () => {
  const run = await setUp({ 'step-1/config.json': {} });
  const { child, ended } = run.start();
  await run.until(async () => (await run.log()).length > 0);
  await run.arrive(complete('step-1', {}));
  await run.until(async () => (await run.log()).some(({ verdict: told }) => told === 'GO'));
  await run.arrive(complete('step-2', { hangAfter: 3 }));
  await run.until(async () => (await readdir(run.dir)).includes('served.step-2.hung'));
  child.kill('SIGINT');
  const { code, stderr } = await ended;
  expect(code).toBe(EXIT.interrupted);
  expect(stderr).toMatch(/interrupted; run the same command again to continue\n$/);
  for (const pid of await run.pids()) expect(isAlive(pid)).toBe(false);
}, 300_000);

test('a result whose report was cut off by Ctrl-C is reported once more', async () => {
  const telling = `[sh, -c, 'cat >> told; test -e go || exec sleep 60']`;
  const run = await setUp(complete('step-1', {}), `  on-result: ${telling}\n`);
  const { child, ended } = run.start('--once');
  const told = () => readFile(join(run.dir, 'told'), 'utf8').catch(() => '');
  await run.until(async () => (await told()).includes('"GO"'));
  child.kill('SIGINT');
  expect((await ended).code).toBe(EXIT.interrupted);
  await writeFile(join(run.dir, 'go'), '');
  expect((await run.once()).code).toBe(EXIT.done);
  expect((await told()).match(/"verdict": ?"GO"/g)).toHaveLength(2);
  expect(await run.served()).toEqual(['step-1']);
}, 300_000);

test('too little evidence ends --once with its own code, and missing evidence takes precedence', async () => {
  const run = await setUp(complete('step-1', {}), '', { drop: 0.1 });
  const unsure = await run.once();
  expect([unsure.code, (await run.result('step-1')).verdict]).toEqual([EXIT.inconclusive, 'INCONCLUSIVE']);
  await run.arrive({ ...complete('step-2', { answer: 'half judged' }), ...complete('step-3', {}) });
  const missing = await run.once('--json');
  expect(JSON.parse(missing.stdout)).toMatchObject({
    exit_code: EXIT.incomplete,
    results: [{ verdict: 'INCOMPLETE' }, { verdict: 'INCONCLUSIVE' }],
  });
  expect(missing.code).toBe(EXIT.incomplete);
  expect(await run.result('step-2')).toMatchObject({ verdict: 'INCOMPLETE', exit_code: EXIT.incomplete });
}, 300_000);

test('a spent budget is not a batch: it counts as a failed round', async () => {
  const run = await setUp(complete('step-1', {}), '', { judgeMore: ', budget-tokens: 20' });
  const { code, stderr } = await run.once();
  expect(code).toBe(EXIT.unavailable);
  expect(stderr).toMatch(/not evaluated: awb judge ended with exit code 75.*budget.*it will be tried again/);
}, 300_000);

test.each([
  ['a base that is no run', ['--base', 'step-0'], EXIT.usage, /there is no run or judged file "step-0"/],
  ['a command without the checkpoint', ['--serve-command', 'serve --port {port}'], EXIT.usage, /has no \{checkpoint\}/],
  ['a command without the port', ['--serve-command', 'serve {checkpoint}'], EXIT.usage, /has no \{port\}/],
])('%s is refused before anything is served', async (_, flags, exitCode, message) => {
  const run = await setUp(complete('step-1', {}));
  const { code, stderr } = await run.once(...flags);
  expect([code, await run.served()]).toEqual([exitCode, []]);
  expect(stderr).toMatch(message);
});

test('an output folder that cannot be created is named as it was given', async () => {
  const run = await setUp(complete('step-1', {}), '  output-dir: checkpoints/../awb.yaml/watch\n');
  const { code, stderr } = await run.once();
  expect(code).toBe(EXIT.cannotCreate);
  expect(stderr).toMatch(/cannot create checkpoints\/\.\.\/awb\.yaml\/watch \(E\w+\)/);
});

test('a result that cannot be reported, a busy port and a missing command are logged; two watches never work in one folder', async () => {
  const run = await setUp(complete('step-1', { hangAfter: 2 }), '  on-result: [sh, -c, "echo no mail >&2; exit 7"]\n');
  const taken = await run.once('--port', String(judge.port));
  expect(taken.stderr).toContain(`port ${judge.port} is taken by another process`);
  expect(taken.stderr).toMatch(/--on-result failed \(exit code 7\); it last said: no mail/);
  const missing = await run.once('--serve-command', 'no-such-engine {checkpoint} {port}');
  expect(missing.stderr).toContain(
    'not evaluated: the server could not be started (spawn no-such-engine ENOENT); it will',
  );
  const { child, ended } = run.start();
  await run.until(async () => (await readdir(run.dir)).includes('served.step-1.hung'));
  const other = await run.once();
  expect([other.code, /another awb watch uses/.test(other.stderr)]).toEqual([EXIT.cannotCreate, true]);
  child.kill('SIGTERM');
  expect((await ended).code).toBe(EXIT.terminated);
  await rm(join(run.dir, 'checkpoints'), { recursive: true });
  const gone = await run.once();
  expect(gone.code).toBe(EXIT.inputMissing);
  expect(gone.stderr).toContain('cannot read the folder of checkpoints');
}, 300_000);

test('the log of a server that writes without end keeps the end', async () => {
  const { dir, once } = await setUp(complete('step-1', { flood: 30_000 }));
  expect((await once()).code).toBe(EXIT.done);
  const read = (name: string) => readFile(join(dir, 'watch/step-1', name), 'utf8');
  const [before, log] = [await read('server.log.1'), await read('server.log')];
  expect([before.length < 6e6, log.length < 6e6]).toEqual([true, true]);
  expect(log).toMatch(/line 29999 \.+\n$/);
});

test.skipIf(process.platform !== 'linux')(
  'processes that a server started in their own sessions end with it',
  async () => {
    const { dir, once } = await setUp(complete('step-1', { strays: true }));
    expect((await once()).code).toBe(EXIT.done);
    const pids = (await readFile(join(dir, 'served.strays'), 'utf8')).trim().split('\n').map(Number);
    expect(pids).toHaveLength(1);
    // A killed process is listed until it is reaped.
    while (pids.some(isAlive)) await wait(20);
  },
);

test('server, steps and --on-result get what they need of the environment, and no key of others', async () => {
  const secrets = {
    AWB_JUDGE_API_KEY: KEY,
    AWB_MODEL_API_KEY: 'model-secret',
    AWB_LISTEN_KEY: 'listen-secret',
    OPENAI_API_KEY: 'openai-secret',
    MLFLOW_TRACKING_TOKEN: 'mlflow-secret',
    MLFLOW_TRACKING_PASSWORD: 'mlflow-password',
    HF_TOKEN: 'hub-secret',
    HOOK_TOKEN: 'hook-secret',
    SLACK_WEBHOOK: 'https://hooks.slack.com/services/secret',
    DATABASE_URL: 'postgres://me:secret@db/runs',
  };
  const usual = { HOME: '/home/me', CUDA_VISIBLE_DEVICES: '1', FTP_PROXY: 'http://me:secret@127.0.0.1:9' };
  const folder = await temporaryFolder();
  const spy = join(folder, 'spy.mjs');
  const note = `${JSON.stringify(join(folder, 'seen'))}, JSON.stringify([process.argv[2], process.env]) + '\\n'`;
  await writeFile(spy, `import { appendFileSync } from 'node:fs'; appendFileSync(${note});`);
  const tell = [process.execPath, '-e', '0', 'hook'];
  const { dir, once } = await setUp(
    complete('step-1', {}),
    `  on-result: ${JSON.stringify(tell)}\n  pass-env: [HOOK_TOKEN]\n`,
    { env: { ...secrets, ...usual, NODE_OPTIONS: `--import=${spy}` } },
  );
  expect((await once()).code).toBe(EXIT.done);
  // biome-ignore lint/suspicious/noExplicitAny: pairs of a word and an environment
  const seen = (await readRows(join(folder, 'seen'))) as any as [string, Record<string, string>][];
  const given = (name: string) => {
    const env = seen.findLast(([word]) => word === name)?.[1] ?? {};
    return Object.keys(secrets).filter((key) => key in env);
  };
  expect(given('infer')).toEqual(['AWB_MODEL_API_KEY']);
  expect(given('judge')).toEqual(['AWB_JUDGE_API_KEY', 'OPENAI_API_KEY', 'HF_TOKEN']);
  for (const step of ['score', 'gate']) expect(given(step)).toEqual([]);
  const [served] = (await readRows(join(dir, 'served.env'))) as readonly Record<string, string>[];
  const told = seen.find(([, env]) => 'AWB_WATCH_RESULT' in env)?.[1];
  for (const env of [served, told]) {
    expect(Object.keys(secrets).filter((key) => key in (env ?? {}))).toEqual(['HOOK_TOKEN']);
    expect(env).toMatchObject(usual);
  }
});

test('the base is pinned at the first start: no label moves it, and a changed base is refused', async () => {
  const run = await setUp(complete('step-1', {}));
  const score = (path: string) => awb(['score', path, '--label', 'base', '--quiet'], { cwd: run.dir });
  await score('base');
  expect((await run.once()).code).toBe(EXIT.done);
  expect((await score('watch/step-1')).code).toBe(EXIT.done);
  await run.arrive(complete('step-2', {}));
  const moved = await run.once();
  const gated = async (name: string) => JSON.parse(await readFile(join(run.dir, 'watch', name, 'gate.json'), 'utf8'));
  const bases = [await gated('step-1'), await gated('step-2').catch(() => undefined)].map((gate) => gate?.base.source);
  await run.arrive(complete('step-3', {}));
  const told = async (name: string, ...flags: string[]) => {
    const { code, stderr } = await run.once(...flags);
    return `$ awb watch ... ${[name, ...flags].join(' ')}\n--- stderr\n${stderr}--- exit ${code}\n`;
  };
  const other = await told('# another base', '--base', '2');
  const judged = join(run.dir, 'base/judged.jsonl');
  const before = await readFile(judged, 'utf8');
  await writeFile(judged, `${before}\n`);
  await score('base');
  const changed = await told('# base/judged.jsonl has changed, and was scored again');
  await awb(['runs', 'remove', '1', '--yes'], { cwd: run.dir });
  const gone = await told('# run 1 was removed');
  const text = [other, changed, gone].join('\n').replaceAll(/\b[0-9a-f]{12,64}\b/g, '<sha256>');
  const timeless = text.replaceAll(/\d{4}-\d\d-\d\dT[\d:.]+Z/g, '<time>').replaceAll(/in \d+ s/g, 'in N s');
  await holdText('watch-base', timeless, { [run.dir]: '<folder>' });
  expect([moved.code, ...bases]).toEqual([EXIT.done, judged, judged]);
}, 300_000);
