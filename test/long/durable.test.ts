// A record is on the disk before its worker takes the next step: the next request finds it there.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { RECORDED, startAwb, temporaryFolder } from '../support/cli.js';
import { marked, verdict } from '../support/judging.js';
import { type LoopbackServer, type SeenRequest, startLoopbackServer } from '../support/loopback-server.js';

let server: LoopbackServer | undefined;
afterEach(() => server?.close());

const recordsIn = async (journal: string) => (await readFile(journal, 'utf8').catch(() => '')).split('\n').length - 1;
const answer = (request: SeenRequest) =>
  request.body.model === 'judge'
    ? { content: marked(verdict(3), request) }
    : { content: `<predicted_observation>\nreply ${request.index}\n</predicted_observation>` };

/** The number of records in the journal at each request. */
async function heldAt(args: (url: string) => readonly string[], journal: string): Promise<number[]> {
  const held: number[] = [];
  server = await startLoopbackServer(async (request) => {
    held.push(await recordsIn(journal));
    return answer(request);
  });
  const { code, stderr } = await startAwb([...args(server.url), '--concurrency', '1', '--quiet']).ended;
  expect(code, stderr).toBe(0);
  await server.close();
  return held;
}

const ROWS = ['--data-dir', RECORDED, '--domains', 'terminal', '--limit', '9'];

test.each([
  ['infer', []],
  ['a rollout', ['--rollout']],
])('by %s, and by its judge', async (_, more) => {
  const dir = await temporaryFolder();
  const world = (url: string) => [
    ...['infer', ...ROWS, ...more, '--model-base-url', url, '--model-name', 'wm', '--output-dir', dir],
  ];
  const predicted = await heldAt(world, join(dir, 'predictions.journal.jsonl'));
  expect(predicted.length).toBeGreaterThanOrEqual(9);
  expect(predicted).toEqual(predicted.map((_count, index) => index));
  const judge = (url: string) => ['judge', dir, '--judge-base-url', url, '--judge-model', 'judge'];
  const judged = await heldAt(judge, join(dir, 'judged.journal.jsonl'));
  expect(judged.length).toBeGreaterThanOrEqual(9);
  expect(judged).toEqual(judged.map((_count, index) => index));
});
