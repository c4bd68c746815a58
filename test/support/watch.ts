// Shared by tests of `awb watch`: processes that serve made-up checkpoints, a judge on loopback, and folders to watch.

import { createHash } from 'node:crypto';
import { cp, mkdir, readFile, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, type CliProcess, ROOT, startAwb, temporaryFolder } from './cli.js';
import { verdict } from './judging.js';
import { type LoopbackServer, startLoopbackServer } from './loopback-server.js';
import { madeUpRow, readRows, writeDataset } from './run-folder.js';

export const ROWS = 16;
export const KEY = 'sk-judge-0123456789';
const children: CliProcess[] = [];
/** Answers for the base, and judges. */
export let judge: LoopbackServer;
/** A folder with the data, and the base: inferred, judged and scored. */
let made: string;

/** The judge, the data and the base are set up before the tests of a file, and closed after them. */
export function watchesCheckpoints(): void {
  beforeAll(async () => {
    judge = await startLoopbackServer(({ body }) => {
      if (body.model === 'base') return { content: 'good prediction of the base' };
      const text = JSON.stringify(body.messages);
      const isJudged = !text.includes('half judged prediction') || bitOf(text) === 0;
      return { content: isJudged ? rated(body.messages) : 'no verdict' };
    });
    made = await temporaryFolder();
    const rows = Array.from({ length: ROWS }, (_, id) => madeUpRow('mcp', id));
    await writeDataset(join(made, 'data'), { 'mcp_test.jsonl': rows });
    const model = ['--model-base-url', judge.url, '--model-name', 'base'];
    const judging = ['--judge-base-url', judge.url, '--judge-model', 'judge'];
    const steps = [
      ['infer', '--data-dir', 'data', '--output-dir', 'base', ...model],
      ['judge', '--predictions', 'base/predictions.jsonl', '--output-dir', 'base', ...judging],
      ['score', '--predictions', 'base', '--label', 'base'],
    ];
    for (const step of steps) expect((await awb([...step, '--quiet'], { cwd: made })).code).toBe(EXIT.done);
  });
  afterEach(() => {
    for (const { child } of children.splice(0)) child.kill('SIGKILL');
  });
  afterAll(() => judge.close());
}

/** Good predictions are rated 4 or 5, bad ones 1 or 2, by a hash, so that no two checkpoints get the same ratings. */
function rated(messages: unknown): string {
  const text = JSON.stringify(messages);
  return verdict((text.includes('bad prediction') ? 1 : 4) + bitOf(text));
}

function bitOf(text: string): number {
  return (createHash('sha256').update(text).digest()[0] as number) % 2;
}

interface Files {
  readonly [path: string]: object;
}

export async function setUp(checkpoints: Files, more = '', { drop = 25, judgeMore = '', env = {} } = {}) {
  const dir = await temporaryFolder();
  await cp(made, dir, { recursive: true });
  const arrive = async (files: Files) => {
    for (const [path, content] of Object.entries(files)) {
      await mkdir(dirname(join(dir, 'checkpoints', path)), { recursive: true });
      await writeFile(join(dir, 'checkpoints', path), JSON.stringify(content));
    }
  };
  await mkdir(join(dir, 'checkpoints'));
  await arrive(checkpoints);
  const serve = [process.execPath, join(ROOT, 'test/support/checkpoint-server.mjs'), '{checkpoint}', '{port}'];
  const config = `
infer: { data-dir: data, concurrency: 2 }
judge: { judge-base-url: "${judge.url}", judge-model: judge${judgeMore} }
gate: { max-drop: ${drop}, max-domain-drop: 40 }
watch:
  serve-command: ${JSON.stringify(serve)}
  base: base
  every: 0.05
${more}`;
  await writeFile(join(dir, 'awb.yaml'), config);
  const start = (...flags: string[]) => {
    const all = { AWB_JUDGE_API_KEY: KEY, ...env };
    const watch = startAwb(['watch', 'checkpoints', '--config', 'awb.yaml', ...flags], all, dir);
    children.push(watch);
    return watch;
  };
  const lines = async (name: string) => readRows(join(dir, name)).catch(() => []);
  return {
    dir,
    arrive,
    start,
    once: (...flags: string[]) => start('--once', ...flags).ended,
    log: () => lines('watch/watch.jsonl'),
    /** The checkpoints whose servers were started, or were about to be. */
    started: async () =>
      (await lines('watch/watch.jsonl')).filter(({ type }) => type === 'serving').map(({ checkpoint }) => checkpoint),
    served: async () => (await lines('served.log')).map(({ name }) => name),
    pids: async () => (await lines('served.log')).map(({ pid }) => Number(pid)),
    asked: async () => (await lines('served.asked')).map((line) => JSON.stringify(line)),
    result: async (name: string) => JSON.parse(await readFile(join(dir, 'watch', name, 'result.json'), 'utf8')),
    async until(isSo: () => Promise<boolean>) {
      while (!(await isSo())) await wait(20);
    },
  };
}

export const complete = (name: string, config: object) => ({
  [`${name}/config.json`]: config,
  [`${name}/COMPLETE`]: {},
});
