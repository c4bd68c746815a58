// A suite on made-up rows, and a world model on 127.0.0.1 with known following and leaking.

import { createHash } from 'node:crypto';
import { join } from 'node:path';
import { folderOf } from './folder.js';
import { type LoopbackServer, type SeenRequest, startLoopbackServer } from './loopback-server.js';
import { madeUpRow, writeDataset } from './run-folder.js';

/** Two scenarios of one step, a state to be reached in three, and a question of three steps in its own world. */
export const SUITE = `
scenarios:
  - name: power-cut
    domains: [mcp, terminal]
    instruction: 'The power fails: the line POWER CUT appears.'
    verify:
      - contains: POWER CUT
      - unchanged_elsewhere: { except: POWER CUT, percent: 50 }
  - name: slow-disk
    domains: [terminal]
    put: system
    instruction: 'The disk is slow: the line DISK SLOW appears.'
    verify:
      - contains: DISK SLOW
`;

export const STEPS = `
scenarios:
  - name: reach-green
    domains: [terminal]
    instruction: 'Within three steps the line LAMP GREEN appears.'
    then: [look, look again]
    verify:
      - contains: LAMP GREEN
world:
  name: isle
  domain: terminal
  system: You are a terminal.
  instruction: 'On this isle: {facts}'
  facts:
    - { subject: Ulm, relation: ruler, object: Queen Ada }
    - { subject: Ulm, relation: river, object: the Brook }
    - { subject: Ulm, relation: hill, object: Mount Up }
  questions:
    - name: ulm
      steps:
        - { action: cat ruler, asks: [Ulm, ruler] }
        - { action: cat river, asks: [Ulm, river] }
        - { action: cat hill, asks: [Ulm, hill] }
`;

/** A folder with this suite under the name `made`. */
export async function suiteFolder(suite = SUITE): Promise<string> {
  return join(await folderOf({ 'made/suite.yaml': suite }), 'made');
}

/** This many rows of each domain, two per trajectory. */
export function rowsFolder(folder: string, rows: Readonly<Record<string, number>>): Promise<string> {
  const files = Object.entries(rows).map(([domain, count]) => [
    `${domain}_test.jsonl`,
    Array.from({ length: count }, (_, index) => madeUpRow(domain, Math.floor(index / 2), (index % 2) + 1)),
  ]);
  return writeDataset(folder, Object.fromEntries(files));
}

/** The parts of a request that an answer depends on. */
export interface Asked {
  /** All messages as one text. */
  readonly text: string;
  /** The last message. */
  readonly last: string;
  /** The number of the made-up row, from 0 in its domain. */
  readonly row: number;
  /** The line that the instruction wants; undefined if there is none. */
  readonly wanted: string | undefined;
  /** A number from 0 to 99 that depends only on the messages. */
  readonly lot: number;
}

export function askedIn({ body }: Pick<SeenRequest, 'body'>): Asked {
  const contents: string[] = body.messages.map(({ content }: { content: string }) => content);
  const [text, last] = [contents.join('\n'), contents.at(-1) ?? ''];
  const [, turn = '1', id = '0'] = /step (\d+) of \w+ (\d+)/.exec(last) ?? [];
  const [wanted] = /POWER CUT|DISK SLOW/.exec(text) ?? [];
  const lot = createHash('sha256').update(text).digest().readUInt32BE() % 100;
  return { text, last, row: Number(id) * 2 + Number(turn) - 1, wanted, lot };
}

/** The truth of a made-up row, as a world model that knows it would predict it. */
export function truthOf({ last }: Asked): string {
  const [, turn, domain, id] = /step (\d+) of (\w+) (\d+)/.exec(last) ?? [];
  return `result ${turn} of ${domain} ${id}`;
}

/** A world model that predicts these lines. */
export function startWorldModel(
  linesOf: (asked: Asked) => readonly string[] | 'refuse',
  options: Parameters<typeof startLoopbackServer>[1] & { readonly latencyMs?: number } = {},
): Promise<LoopbackServer> {
  const { latencyMs = 0, ...rest } = options;
  return startLoopbackServer((request) => {
    const lines = linesOf(askedIn(request));
    if (lines === 'refuse') return { message: { role: 'assistant', refusal: 'no' }, stream: false };
    return { content: `<predicted_observation>\n${lines.join('\n')}\n</predicted_observation>`, latencyMs };
  }, rest);
}
