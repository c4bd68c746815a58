// awb serve as a process.

import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { needsTwoThreads } from '../../src/serve/memory.js';
import { ROOT, startAwb, temporaryFolder } from '../support/cli.js';
import { holdMessage, holdText } from '../support/messages.js';
import { PREDICTION, type Serving, startServing } from '../support/serving.js';
import { keptModel, scriptedModel } from '../support/tiny-model/model.js';

const OFFICIAL_NAME = 'Qwen/Qwen-AgentWorld-35B-A3B';
const CARD_REQUEST = {
  model: OFFICIAL_NAME,
  messages: [
    { role: 'system' as const, content: 'You are a Linux terminal.' },
    { role: 'user' as const, content: 'Action: execute_bash\nCommand: ls' },
  ],
  max_tokens: 32768,
  temperature: 0.6,
  top_p: 0.95,
  top_k: 20,
};

let folder: string;
let worldModel: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  worldModel = await keptModel(scriptedModel({ thinking: 'The listing follows.', content: PREDICTION }), folder);
});

describe('awb serve', () => {
  let server: Serving;

  beforeAll(async () => {
    server = await startServing(['--model', worldModel, '--port', '0', '--context', '8192', '--alias', OFFICIAL_NAME]);
  });
  afterAll(() => server.child.kill());

  test('answers the openai client with thinking and content separated', async () => {
    const client = new OpenAI({ baseURL: server.url, apiKey: 'EMPTY', maxRetries: 0 });
    const [model] = (await client.models.list()).data;
    const reply = await client.chat.completions.create({
      model: model?.id as string,
      messages: [{ role: 'user', content: 'ls' }],
    });
    const message = reply.choices[0]?.message as unknown as { content: string; reasoning_content: string };
    expect(message.content).toBe(PREDICTION);
    expect(message.reasoning_content.trim()).toBe('The listing follows.');
    expect(reply.choices[0]?.finish_reason).toBe('stop');
  });

  test("the model card's own client code runs, and the port it names is the default", async () => {
    const { stdout } = await startAwb(['serve', '--model', worldModel, '--print-config']).ended;
    expect(stdout).toMatch(/^port +8000 /m);
    const client = new OpenAI({ baseURL: server.url.replace('127.0.0.1', 'localhost'), apiKey: 'EMPTY' });
    const reply = await client.chat.completions.create(CARD_REQUEST);
    expect(reply.choices[0]?.message.content).toBe(PREDICTION);
  });

  test("the model card's own client code runs in Python", async (context) => {
    const python = spawnSync('python3', ['-c', 'import openai'], { encoding: 'utf8' });
    if (python.status !== 0) context.skip(`no Python with the package openai: ${python.error ?? python.stderr}`);
    const code = [
      'import json, sys',
      'from openai import OpenAI',
      'base_url, request = sys.argv[1:]',
      'client = OpenAI(base_url=base_url, api_key="EMPTY")',
      'request = json.loads(request)',
      'request["extra_body"] = {"top_k": request.pop("top_k")}',
      'print(client.chat.completions.create(**request).choices[0].message.content, end="")',
    ].join('\n');
    const ran = promisify(execFile)('python3', ['-c', code, server.url, JSON.stringify(CARD_REQUEST)]);
    expect((await ran).stdout).toBe(PREDICTION);
  });

  test('a request is one line of the log under --verbose, without its content', async () => {
    const verbose = ['serve', '--model', worldModel, '--port', '0', '--gpu', 'off', '--threads', '1', '--verbose'];
    const served = startAwb(verbose);
    const printed = await new Promise<string>((done) =>
      served.child.stdout?.once('data', (text) => done(String(text))),
    );
    const url = /http:\S+/.exec(printed)?.[0];
    const client = new OpenAI({ baseURL: url as string, apiKey: 'GEHEIM' });
    await client.chat.completions
      .create({ model: '', messages: [{ role: 'user', content: 'ls GEHEIM' }] })
      .catch(String);
    await client.chat.completions.create({
      ...CARD_REQUEST,
      model: (await client.models.list()).data[0]?.id as string,
    });
    served.child.kill('SIGTERM');
    const { stderr } = await served.ended;
    expect(stderr).toMatch(/^\{"method":"POST","path":"\/v1\/chat\/completions","status":404,"durationMs":[\d.]+\}$/m);
    expect(stderr).toMatch(/"status":200,"durationMs":[\d.]+,"usage":\{"promptTokens":\d+,/);
    expect(stderr).not.toContain('GEHEIM');
  });

  test('a busy port is reported in one sentence, with the exit code of an unavailable endpoint', async () => {
    const port = new URL(server.url).port;
    const second = await startAwb(['serve', '--model', worldModel, '--port', port, '--gpu', 'off', '--quiet']).ended;
    expect(second.code).toBe(EXIT.unavailable);
    expect(second.stderr).toContain(port);
  });

  test('listens only on loopback unless it has a key', async () => {
    const open = await startAwb(['serve', '--model', worldModel, '--host', '0.0.0.0', '--port', '0', '--quiet']).ended;
    expect(open.code).toBe(EXIT.usage);
    expect(open.stderr).toContain('--api-key');
  });

  test('what is not a model, or cannot fit, is refused before anything is loaded', async () => {
    const text = join(folder, 'no.gguf');
    await writeFile(text, 'this is text');
    const cases = [
      { model: text, flags: [], code: EXIT.badData, says: 'GGUF' },
      { model: join(folder, 'none.gguf'), flags: [], code: EXIT.inputMissing, says: 'none.gguf' },
      {
        model: worldModel,
        flags: ['--checkpoint-memory', '100000000'],
        code: EXIT.unavailable,
        says: 'lower --parallel or --checkpoint-memory',
      },
    ];
    for (const { model, flags, code, says } of cases) {
      const refused = await startAwb(['serve', '--model', model, '--port', '0', '--gpu', 'off', '--quiet', ...flags])
        .ended;
      expect([refused.code, refused.stderr]).toEqual([code, expect.stringContaining(says)]);
    }
  });

  test.each([
    [['--kv-cache', 'q8_0', '--no-flash-attention'], /--kv-cache q8_0 needs flash attention/],
    [['--gpu-layers', '9'], /--gpu-layers 9: there is no GPU/],
  ])('%j is refused for its actual error, not for memory', async (flags, says) => {
    const args = ['serve', '--model', worldModel, '--port', '0', '--gpu', 'off', '--quiet', ...flags];
    const { code, stderr } = await startAwb(args).ended;
    expect([code, stderr]).toEqual([EXIT.usage, expect.stringMatching(says)]);
    expect(stderr).not.toContain('memory');
  });

  test.skipIf(!needsTwoThreads(2))(
    'one thread for several slots is refused if it would answer incorrectly',
    async () => {
      const args = ['serve', '--model', worldModel, '--port', '0', '--gpu', 'off', '--quiet', '--threads', '1'];
      const { code, stderr } = await startAwb([...args, '--parallel', '2']).ended;
      expect([code, stderr]).toEqual([EXIT.usage, expect.stringMatching(/--threads 2, or --parallel 1/)]);
    },
  );

  test('prints its plan, ends when interrupted, and reports that in its exit code', async () => {
    const served = startAwb(['serve', '--model', worldModel, '--port', '0', '--gpu', 'off', '--threads', '1']);
    await new Promise((done) => served.child.stdout?.once('data', done));
    served.child.kill('SIGINT');
    const { code, stdout, stderr } = await served.ended;
    expect(code).toBe(EXIT.interrupted);
    await holdText('serve-one-thread', stdout.replace(/(?<=scripted-)\w+/, 'HASH').replace(/:\d+(?=\/v1)/, ':<port>'));
    expect(stderr).toMatch(/^weights .*\n.*total /ms);
  });
});

/** Only a clone in which `npm run gpu` ran has it: elsewhere its package is an empty one. */
const hasGpuCode = existsSync(join(ROOT, 'node_modules/@node-llama-cpp/linux-x64-cuda/bins'));

describe.skipIf(hasGpuCode || process.platform !== 'linux' || process.arch !== 'x64')('without GPU code', () => {
  test.each(['auto', 'off'])('--gpu %s serves on the processor, and says so', async (gpu) => {
    const flags = ['--model', worldModel, '--port', '0', '--gpu', gpu, '--threads', '2', '--context', '2048'];
    const { child, ended } = startAwb(['serve', ...flags]);
    const printed = String(await new Promise((done) => child.stdout?.once('data', done)));
    child.kill('SIGTERM');
    const { stderr } = await ended;
    // The table of memory differs from machine to machine.
    const notes = stderr.replace(/^[\s\S]*^free .*\n/m, '').replace(/^(?:hashing|loading) .*\n/gm, '');
    const text = `$ awb serve --gpu ${gpu}\n${printed.replace(/:\d+\/v1/, ':<port>/v1')}--- stderr\n${notes}`;
    await holdText(`serve-without-gpu-code-${gpu}`, text, { [basename(worldModel, '.gguf')]: '<model>' });
  });

  test.each([
    ['cuda', ['--gpu', 'cuda'], EXIT.unavailable],
    ['layers', ['--gpu-layers', '9'], EXIT.usage],
  ])('a requested GPU is refused: %s', async (name, flags, code) => {
    const args = ['serve', '--model', worldModel, ...flags];
    const refused = await holdMessage(`serve-without-gpu-code-${name}`, args, { [worldModel]: '<model>' });
    expect(refused.code).toBe(code);
  });
});
