// awb judge --verdict-schema: the endpoint constrains verdicts to a schema.

import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { DIMENSIONS } from '../../src/core/types.js';
import { verdictFormat } from '../../src/judge/verdicts.js';
import { awb, type CliResult, PLAIN_PACK } from '../support/cli.js';
import { fakeCheckout, inferred, jsonOf, rowsOf, verdict } from '../support/judging.js';
import { type Handler, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';

const servers: LoopbackServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close()));
});

const BARE = {
  facts: [{ claim: 'the file is there', kind: 'determined', met: true }],
  strengths: ['right'],
  weaknesses: [],
  scores: Object.fromEntries(DIMENSIONS.map((dimension) => [dimension, 4])),
};

async function judgeServer(script: Handler): Promise<LoopbackServer> {
  const server = await startLoopbackServer(script);
  servers.push(server);
  return server;
}
/** Answers like a server that constrains replies to the schema, and freely if none is sent. */
const holding: Handler = ({ body }) => ({
  content:
    body.response_format === undefined
      ? verdict(4)
      : JSON.stringify({ mark: /"mark": "(\w+)"$/.exec(body.messages.at(-1)?.content)?.[1], ...BARE }),
});

type Folder = Awaited<ReturnType<typeof inferred>>;

function judge({ dir, predictions }: Folder, { url }: LoopbackServer, ...options: string[]): Promise<CliResult> {
  const where = [
    '--predictions',
    predictions,
    '--output-dir',
    dir,
    '--judge-base-url',
    url,
    '--judge-model',
    'judge-a',
  ];
  return awb(['judge', ...where, ...options]);
}

describe('--verdict-schema', () => {
  it('sends the schema of the pack with every request, and reads the JSON with the mark', async () => {
    const folder = await inferred();
    const server = await judgeServer(holding);
    expect((await judge(folder, server, '--verdict-schema')).code).toBe(0);
    expect(server.count).toBe(7);
    for (const { body } of server.requests) expect(body.response_format).toEqual(verdictFormat({ facts: true }, true));
    for (const row of await rowsOf(join(folder.dir, 'judged.jsonl'))) {
      expect(row).toMatchObject({ total_score: 4, strengths: ['right'], awb: { judge: { facts: BARE.facts } } });
    }
  });

  it('is off by default, and gives another judging, each continued by its own command', async () => {
    const folder = await inferred(['--domains', 'os']);
    const server = await judgeServer(holding);
    await judge(folder, server);
    expect(server.requests[0]?.body).not.toHaveProperty('response_format');
    const { stdout } = await judge(folder, server, '--verdict-schema', '--label', 'held', '--json');
    expect(JSON.parse(stdout).notices.join()).toContain(
      'judged.jsonl contains another judging (verdict_schema: absent before, 2 now)',
    );
    expect((await jsonOf(join(folder.dir, 'judged.manifest.json'))).identity).not.toHaveProperty('verdict_schema');
    expect((await jsonOf(join(folder.dir, 'judged.held.manifest.json'))).identity.verdict_schema).toBe(2);
    await judge(folder, server, '--verdict-schema');
    await judge(folder, server);
    expect(server.count).toBe(2);
  });

  it('constrains packs without a checklist to remarks and scores', async () => {
    const folder = await inferred(['--domains', 'os']);
    const server = await judgeServer(holding);
    expect((await judge(folder, server, '--verdict-schema', '--rubrics', PLAIN_PACK)).code).toBe(0);
    expect(server.requests[0]?.body.response_format).toEqual(verdictFormat({}, true));
  });

  it.each([
    ['', []],
    [', even if other parameters may be dropped', ['--allow-param-drop']],
  ])('that the endpoint rejects ends the judging with the remedy%s', async (_, options) => {
    const folder = await inferred();
    const message = 'response_format of type json_schema is not supported with this model';
    const server = await judgeServer(({ body }) =>
      body.response_format === undefined
        ? { content: verdict(4) }
        : { status: 400, body: { error: { message, param: 'response_format' } } },
    );
    const { code, stderr } = await judge(folder, server, '--verdict-schema', '--concurrency', '1', ...options);
    expect(code).toBe(2);
    expect(stderr).toContain('rejects the JSON schema of the verdicts');
    expect(stderr).toContain('leave out --verdict-schema');
    expect(server.count).toBe(1);
    expect((await judge(folder, server)).code).toBe(0);
  });

  it.each([
    [
      'an official checkout, which asks for text around the JSON',
      async () => ['--rubrics', await fakeCheckout()],
      /but official has none/,
    ],
    [
      'a form in --extra-body',
      async () => ['--extra-body', '{"response_format":{"type":"json_object"}}'],
      /both set the form of the reply/,
    ],
  ])('is refused before any request together with %s', async (_, options, message) => {
    const folder = await inferred(['--domains', 'os']);
    const server = await judgeServer(holding);
    const { code, stderr } = await judge(folder, server, '--verdict-schema', ...(await options()));
    expect(code).toBe(2);
    expect(stderr).toMatch(message);
    expect(server.count).toBe(0);
  });

  it('is refused in modes without verdicts', async () => {
    const { predictions, dir } = await inferred(['--domains', 'os']);
    const run = await awb([
      'judge',
      '--mode',
      'metrics',
      '--predictions',
      predictions,
      '--output-dir',
      dir,
      '--verdict-schema',
    ]);
    expect(run.code).toBe(2);
    expect(run.stderr).toContain('but metrics has none');
  });
});
