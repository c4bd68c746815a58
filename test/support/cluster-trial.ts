// The setting for trials of runs on clusters: rows, a server for world model and judge, and an unsharded run to compare with.

import { createHash } from 'node:crypto';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { awb, ROOT, temporaryFolder } from './cli.js';
import { deterministicAnswer, type LoopbackServer, startLoopbackServer } from './loopback-server.js';
import { madeUpRows, readRows, writeDataset } from './run-folder.js';

/** A verdict between 70 and 90 that depends on the messages, so that rows differ. */
function verdictOn(messages: unknown): string {
  const digit = createHash('sha256').update(JSON.stringify(messages)).digest()[0] ?? 0;
  const scores = { format: 5, factuality: 3 + (digit % 3), consistency: 4, realism: 4 + (digit % 2), quality: 4 };
  return `<final_evaluation>\n${JSON.stringify({ scores })}\n</final_evaluation>`;
}

export interface ClusterTrial {
  /**
   * Contains `data/`, the unsharded run in `whole/`, that run's scores as `production` in `runs.sqlite`, a policy that it passes, and
   * `awb`.
   */
  readonly dir: string;
  readonly server: LoopbackServer;
  /** The requests to the world model so far, by row, without those of the unsharded run. */
  readonly asked: string[];
  /** Rows that get no answer until they are released; `judge` stands for all requests to the judge. */
  readonly held: Set<string>;
  /** The values of the `authorization` header so far. */
  readonly keys: ReadonlySet<string | undefined>;
  /** The judge `judge`: the number of its requests so far (without the unsharded run), and whether it answers 401. */
  readonly judge: { asked: number; refuses: boolean };
  /** The rows that a shard (1-based) asks, in order. */
  rowsOf(shard: number, shards: number): Promise<string[]>;
  /** Resolves once each of these rows was asked. */
  untilAsked(rows: Iterable<string>): Promise<void>;
  /** Rows that were asked more than once. */
  askedAgain(): Set<string>;
  /** The text of a file in the folder. */
  text(...path: readonly string[]): Promise<string>;
}

/** Identifies a row by what its prompt asks for. */
function nameOf(messages: unknown): string {
  return [...JSON.stringify(messages).matchAll(/step \d+ of \w+ \d+/g)].at(-1)?.[0] ?? '';
}

/** Two rows at a time, so holding back two shows that all before them are finished. */
export const AT_A_TIME = 2;

export async function startClusterTrial(rowsOfADomain: number): Promise<ClusterTrial> {
  const dir = await temporaryFolder();
  const data = join(dir, 'data');
  const files = ['mcp', 'terminal', 'web'].map((domain) => [`${domain}_test.jsonl`, madeUpRows(domain, rowsOfADomain)]);
  await writeDataset(data, Object.fromEntries(files));
  await writeFile(join(dir, 'awb'), `#!/bin/sh\nexec '${process.execPath}' '${join(ROOT, 'dist/bin.js')}' "$@"\n`);
  await chmod(join(dir, 'awb'), 0o755);

  await writeFile(join(dir, 'gate.yaml'), 'min_score: { overall: 55 }\n');

  const asked: string[] = [];
  const held = new Set<string>();
  const keys = new Set<string | undefined>();
  const judge = { asked: 0, refuses: false };
  const server = await startLoopbackServer(
    async ({ body, headers }) => {
      keys.add(headers.authorization);
      if (body.model === 'judge') {
        judge.asked++;
        while (held.has('judge')) await wait(20);
        return judge.refuses
          ? { status: 401, body: { error: { message: 'no such key' } } }
          : { content: verdictOn(body.messages) };
      }
      const name = nameOf(body.messages);
      asked.push(name);
      while (held.has(name)) await wait(20);
      return { content: deterministicAnswer(body.messages) };
    },
    { record: false },
  );

  const run = async (...args: readonly string[]) => {
    const { code, stderr } = await awb(args);
    if (code !== 0) throw new Error(`awb ${args[0]} ended with ${code}: ${stderr}`);
  };
  const common = ['--output-dir', join(dir, 'whole'), '--quiet'];
  await run('infer', '--data-dir', data, '--model-base-url', server.url, '--model-name', 'wm', ...common);
  const predictions = ['--predictions', join(dir, 'whole/predictions.jsonl')];
  await run('judge', ...predictions, '--judge-base-url', server.url, '--judge-model', 'judge', ...common);
  await run('score', join(dir, 'whole'), '--db', join(dir, 'runs.sqlite'), '--label', 'production', '--quiet');
  asked.length = 0;
  judge.asked = 0;

  return {
    dir,
    server,
    asked,
    held,
    keys,
    judge,
    async rowsOf(shard, shards) {
      const out = join(dir, `rows-${shard}`);
      const part = ['--shard', `${shard}/${shards}`, '--baseline', 'persistence', '--output-dir', out, '--quiet'];
      await run('infer', '--data-dir', data, ...part);
      return (await readRows(join(out, 'predictions.jsonl'))).map(({ prompt }) => nameOf(prompt));
    },
    async untilAsked(rows) {
      while ([...rows].some((name) => !asked.includes(name))) await wait(50);
    },
    askedAgain: () => new Set(asked.filter((name, index) => asked.indexOf(name) !== index)),
    text: (...path) => readFile(join(dir, ...path), 'utf8'),
  };
}
