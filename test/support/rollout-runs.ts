// `awb infer --rollout` over made-up trajectories and a server in this process, which knows the turn that it is asked about.

import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { awb, type CliResult, temporaryFolder } from './cli.js';
import { type Handler, type LoopbackServer, type SeenRequest, startLoopbackServer } from './loopback-server.js';
import { readRows, writeDataset } from './run-folder.js';
import type { TrajectoryRow } from './trajectories.js';

interface Message {
  readonly role: string;
  readonly content: string;
}

export const messagesOf = ({ body }: SeenRequest): Message[] => body.messages;
export const saidBy = (messages: readonly Message[]) =>
  messages.flatMap(({ role, content }) => (role === 'assistant' ? [content] : []));
export const lastOf = (messages: readonly Message[]) => messages.at(-1)?.content ?? '';
export const turnOf = (request: SeenRequest) => Number(/### Turn (\d+)/.exec(lastOf(messagesOf(request)))?.[1]);
export const trajectoryOf = (request: SeenRequest) =>
  Number(/environment (\d+)/.exec(messagesOf(request)[0]?.content ?? '')?.[1]);
export const tagged = (text: string) => `<predicted_observation>\n${text}\n</predicted_observation>`;
/** Thinks, and then names its turn. */
export const speaking = (request: SeenRequest) => ({
  content: `<think>thought</think>\n${tagged(`model on ${trajectoryOf(request)} turn ${turnOf(request)}`)}`,
});

const servers: LoopbackServer[] = [];

/** Closes the servers of the finished test. */
export async function closeServers(): Promise<void> {
  await Promise.all(servers.splice(0).map((server) => server.close()));
}

export async function setUpRollout(rows: readonly TrajectoryRow[], script: Handler = speaking) {
  const folder = await temporaryFolder();
  const data = await writeDataset(join(folder, 'data'), { 'some_test.jsonl': rows });
  const server = await startLoopbackServer(script);
  servers.push(server);
  const out = join(folder, 'out');
  const own = ['--data-dir', data, '--model-base-url', server.url, '--model-name', 'wm', '--output-dir', out];
  const args = ['infer', '--rollout', ...own];
  return {
    server,
    data,
    out,
    args,
    journal: join(out, 'predictions.journal.jsonl'),
    infer: (...more: string[]): Promise<CliResult> => awb([...args, '--retry-minutes', '0', ...more]),
    predictions: () => readRows(join(out, 'predictions.jsonl')),
    turns: () => readRows(join(out, 'rollout.jsonl')),
    manifest: async () => JSON.parse(await readFile(join(out, 'predictions.manifest.json'), 'utf8')),
    /** Both files, byte by byte. */
    written: async () => [
      await readFile(join(out, 'predictions.jsonl'), 'utf8'),
      await readFile(join(out, 'rollout.jsonl'), 'utf8'),
    ],
  };
}
