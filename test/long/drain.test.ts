// Ctrl-C drains: calls in flight finish and are kept, no new one starts, and the same command continues after them.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { RECORDED, startAwb, temporaryFolder } from '../support/cli.js';
import { type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';

let server: LoopbackServer | undefined;
afterEach(() => server?.close());

test('an interrupted run keeps what was in flight, starts nothing more, and asks none of it again', async () => {
  const dir = await temporaryFolder();
  let interrupt = () => {};
  server = await startLoopbackServer(({ index }) => {
    if (index === 2) interrupt();
    return { content: `<predicted_observation>\nreply ${index}\n</predicted_observation>`, latencyMs: 1_500 };
  });
  const args = [
    ...['infer', '--data-dir', RECORDED, '--domains', 'terminal', '--limit', '9', '--concurrency', '3'],
    ...['--model-base-url', server.url, '--model-name', 'wm', '--output-dir', dir],
  ];
  const { child, ended } = startAwb(args);
  interrupt = () => child.kill('SIGINT');
  const { code, stderr } = await ended;
  expect([code, server.count]).toEqual([130, 3]);
  expect(stderr).toContain('s for calls in flight; interrupt again to stop immediately');
  const journal = await readFile(join(dir, 'predictions.journal.jsonl'), 'utf8');
  expect(journal.trimEnd().split('\n')).toHaveLength(3);
  expect((await startAwb(args).ended).code).toBe(0);
  expect(server.count).toBe(9);
});
