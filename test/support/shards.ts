// Runs in shards next to the unsharded one, over made-up rows and a server whose answers depend only on the request.

import { cp, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { awb, type CliResult, temporaryFolder } from './cli.js';
import { caseIn, marked, verdict } from './judging.js';
import { type Answer, deterministicAnswer, type LoopbackServer, startLoopbackServer } from './loopback-server.js';
import { madeUpRows, writeDataset } from './run-folder.js';

/** Rows of two domains, some of them duplicated. */
export const FILES = {
  'a_test.jsonl': [...madeUpRows('mcp', 12), ...madeUpRows('mcp', 3)],
  'b_test.jsonl': madeUpRows('terminal', 15),
};
export const ROWS = FILES['a_test.jsonl'].length + FILES['b_test.jsonl'].length;

export interface Sharded {
  readonly folder: string;
  readonly data: string;
  readonly server: LoopbackServer;
  /** Runs `awb infer` into a folder of that name. */
  infer(out: string, ...args: string[]): Promise<CliResult>;
  /** Runs `awb judge` over the predictions in the folder of that name. */
  judge(out: string, ...args: string[]): Promise<CliResult>;
  /** Merges folders with these names into the last one. */
  merge(...names: string[]): Promise<CliResult>;
  path(...names: string[]): string;
  text(...names: string[]): Promise<string>;
  copy(from: string, to: string): Promise<void>;
}

/** Ratings from 1 to 5 that depend on the messages. */
function ratingOf(body: unknown): number {
  return (JSON.stringify(body).length % 5) + 1;
}

/** @param refuse says which requests of the world model or the judge fail, by their text */
export async function sharded(refuse: (text: string) => boolean = () => false): Promise<Sharded> {
  const folder = await temporaryFolder();
  const data = await writeDataset(join(folder, 'data'), FILES);
  const server = await startLoopbackServer(({ body }): Answer => {
    const { messages, model } = body;
    const text = JSON.stringify(messages);
    if (refuse(text)) return { status: 400, body: { error: { message: `no idea of ${text.length}` } } };
    return model === 'judge'
      ? { content: marked(verdict(ratingOf(caseIn(body))), { body }) }
      : { content: deterministicAnswer(messages) };
  });
  afterAll(() => server.close());
  const path = (...names: string[]) => join(folder, ...names);
  return {
    folder,
    data,
    server,
    path,
    infer: (out, ...args) =>
      awb([
        ...['infer', '--data-dir', data, '--model-base-url', server.url, '--model-name', 'wm', '--quiet'],
        ...['--output-dir', path(out), '--keep-going', ...args],
      ]),
    judge: (out, ...args) =>
      awb([
        ...['judge', '--predictions', path(out, 'predictions.jsonl'), '--output-dir', path(out), '--keep-going'],
        ...['--judge-base-url', server.url, '--judge-model', 'judge', '--quiet', ...args],
      ]),
    merge: (...names) => {
      const words = names.map((name) => (name.startsWith('--') ? name : path(name)));
      return awb(['merge', ...words.slice(0, -1), '--output-dir', words.at(-1) ?? '']);
    },
    text: (...names) => readFile(path(...names), 'utf8'),
    copy: (from, to) => cp(path(from), path(to), { recursive: true }),
  };
}
