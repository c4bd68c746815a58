// awb serve as a process, and the whole pipeline on a real model: infer, judge and score over recorded rows.

import { execFile, spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { readdir, readFile, writeFile } from 'node:fs/promises';
import { basename, join } from 'node:path';
import { promisify } from 'node:util';
import OpenAI from 'openai';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { readFacts } from '../../src/core/facts.js';
import { DIMENSIONS } from '../../src/core/types.js';
import { needsTwoThreads } from '../../src/serve/memory.js';
import { type CliProcess, PLAIN_PACK, RECORDED, ROOT, startAwb, temporaryFolder } from '../support/cli.js';
import { fakeCheckout } from '../support/judging.js';
import { holdMessage, holdText } from '../support/messages.js';
import { keptModel, RANDOM_MODELS, scriptedModel } from '../support/tiny-model/model.js';

const PREDICTION = '<predicted_observation>\nroot@sandbox:/app# ls\nREADME.md\n</predicted_observation>';
const VERDICT =
  '<final_evaluation>\n{"strengths": ["right"], "weaknesses": [], "scores": {"format": 5, "factuality": 4, "consistency": 3, "realism": 2, "quality": 1}}\n</final_evaluation>';

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
let judgeModel: string;

beforeAll(async () => {
  folder = await temporaryFolder();
  worldModel = await keptModel(scriptedModel({ thinking: 'The listing follows.', content: PREDICTION }), folder);
  judgeModel = await keptModel(scriptedModel({ thinking: 'I compare.', content: VERDICT }), folder);
});

/** Starts a server and waits for the line that says where it listens. */
async function startServing(args: readonly string[]): Promise<CliProcess & { url: string }> {
  const process = startAwb(['serve', '--gpu', 'off', '--threads', '1', '--quiet', '--json', ...args]);
  const url = await new Promise<string>((done, failed) => {
    let printed = '';
    process.child.stdout?.on('data', (text) => {
      printed += text;
      if (printed.includes('\n')) done((JSON.parse(printed) as { url: string }).url);
    });
    void process.ended.then(({ stderr }) => failed(new Error(stderr)));
  });
  return { ...process, url };
}

async function rowsOf(path: string) {
  const lines = (await readFile(path, 'utf8')).trim().split('\n');
  return lines.map((line) => JSON.parse(line));
}

describe('awb serve', () => {
  let server: CliProcess & { url: string };

  beforeAll(async () => {
    server = await startServing(['--model', worldModel, '--port', '0', '--context', '8192', '--alias', OFFICIAL_NAME]);
  });
  afterAll(() => server.child.kill());

  test('answers the openai client with thinking and content apart', async () => {
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

  test('a request is one line of the log under --verbose, without what was asked', async () => {
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
    expect(stderr).toMatch(/^\d\d:\d\d:\d\d POST \/v1\/chat\/completions 404 \d+\.\d s$/m);
    expect(stderr).toMatch(/POST \/v1\/chat\/completions 200 \d+\.\d s, \d+ tokens in \(0 cached\), \d+ out$/m);
    expect(stderr).not.toContain('GEHEIM');
  });

  test('a busy port is said in one sentence, with the exit code of an endpoint that is not there', async () => {
    const port = new URL(server.url).port;
    const second = await startAwb(['serve', '--model', worldModel, '--port', port, '--gpu', 'off', '--quiet']).ended;
    expect(second.code).toBe(EXIT.unavailable);
    expect(second.stderr).toContain(port);
  });

  test('listens nowhere but on loopback without a key', async () => {
    const open = await startAwb(['serve', '--model', worldModel, '--host', '0.0.0.0', '--port', '0', '--quiet']).ended;
    expect(open.code).toBe(EXIT.usage);
    expect(open.stderr).toContain('--api-key');
  });

  test('what is no model, or cannot fit, is refused before anything is loaded', async () => {
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
  ])('%j is refused for what is wrong with it, not for memory', async (flags, says) => {
    const args = ['serve', '--model', worldModel, '--port', '0', '--gpu', 'off', '--quiet', ...flags];
    const { code, stderr } = await startAwb(args).ended;
    expect([code, stderr]).toEqual([EXIT.usage, expect.stringMatching(says)]);
    expect(stderr).not.toContain('memory');
  });

  test.skipIf(!needsTwoThreads(2))(
    'one thread for several slots is refused where it would answer wrongly',
    async () => {
      const args = ['serve', '--model', worldModel, '--port', '0', '--gpu', 'off', '--quiet', '--threads', '1'];
      const { code, stderr } = await startAwb([...args, '--parallel', '2']).ended;
      expect([code, stderr]).toEqual([EXIT.usage, expect.stringMatching(/--threads 2, or --parallel 1/)]);
    },
  );

  test('prints its plan, ends when interrupted, and says so by its exit code', async () => {
    const served = startAwb(['serve', '--model', worldModel, '--port', '0', '--gpu', 'off', '--threads', '1']);
    await new Promise((done) => served.child.stdout?.once('data', done));
    served.child.kill('SIGINT');
    const { code, stdout, stderr } = await served.ended;
    expect(code).toBe(EXIT.interrupted);
    await holdText('serve-one-thread', stdout.replace(/(?<=scripted-)\w+/, 'HASH').replace(/:\d+(?=\/v1)/, ':<port>'));
    expect(stderr).toMatch(/^weights .*\n.*total /ms);
  });
});

/** Only a clone on which `npm run gpu` ran has it: its package is an empty one elsewhere. */
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
  ])('a GPU that is asked for is refused: %s', async (name, flags, code) => {
    const args = ['serve', '--model', worldModel, ...flags];
    const refused = await holdMessage(`serve-without-gpu-code-${name}`, args, { [worldModel]: '<model>' });
    expect(refused.code).toBe(code);
  });
});

describe('the pipeline on real models', { timeout: 120_000 }, () => {
  test('infer, judge and score over recorded rows, each served for as long as it takes', async () => {
    const dir = await temporaryFolder();
    const rows = ['--data-dir', RECORDED, '--domains', 'swe', '--limit', '2', '--output-dir', dir];
    const env = { AWB_GPU: 'off', AWB_THREADS: '1' };
    const infer = () => startAwb(['infer', ...rows, '--local', worldModel, '--quiet'], env).ended;
    expect(await infer()).toMatchObject({ code: EXIT.done });
    const predictions = join(dir, 'predictions.jsonl');
    for (const row of await rowsOf(predictions)) {
      expect(row.gen).toBe(PREDICTION);
      expect(row.awb.reasoning.trim()).toBe('The listing follows.');
    }
    const manifest = JSON.parse(await readFile(join(dir, 'predictions.manifest.json'), 'utf8'));
    expect(manifest.identity.model.sha256).toMatch(/^[0-9a-f]{64}$/);
    expect(manifest.models[0]).toMatchObject({ sha256: manifest.identity.model.sha256, slots: 1 });
    // The same model on another port is the same run; another file is another.
    expect(await infer()).toMatchObject({ code: EXIT.done });
    const other = startAwb(['infer', ...rows, '--local', judgeModel, '--quiet'], env).ended;
    expect(await other).toMatchObject({ code: EXIT.identityDiffers, stderr: expect.stringContaining('model.sha256') });

    const judge = ['judge', '--predictions', predictions, '--output-dir', dir, '--quiet', '--local', judgeModel];
    // The scripted judge cannot follow a schema; the official way of asking leaves it free.
    expect(await startAwb([...judge, '--rubrics', await fakeCheckout()], env).ended).toMatchObject({ code: EXIT.done });
    const score = await startAwb(['score', 'judged.jsonl', '--json'], {}, dir).ended;
    const { domains } = JSON.parse(score.stdout);
    expect(domains.swe).toMatchObject({ valid: 2, format: 100, factuality: 75, consistency: 50, quality: 0 });
  });

  test('a random model as judge is held to five ratings by the schema, and to a checklist where the pack asks for one', async () => {
    const dir = await temporaryFolder();
    const env = { AWB_GPU: 'off', AWB_THREADS: '1' };
    const tiny = await keptModel(RANDOM_MODELS.tiny, folder);
    const rows = ['--data-dir', RECORDED, '--domains', 'swe', '--limit', '1', '--baseline', 'oracle'];
    expect((await startAwb(['infer', ...rows, '--output-dir', dir, '--quiet']).ended).code).toBe(EXIT.done);
    const asked = ['--max-tokens', '8192', '--extra-body', '{"chat_template_kwargs":{"enable_thinking":false}}'];
    const where = ['--predictions', join(dir, 'predictions.jsonl'), '--output-dir', dir, '--quiet'];
    for (const [pack, name] of [
      ['awb-3', 'judged'],
      [PLAIN_PACK, 'judged.plain'],
    ] as const) {
      // It copies no mark, which the official reading does not ask for.
      const options = ['--local', tiny, '--rubrics', pack, '--verdicts', 'official', '--label', 'plain', ...asked];
      expect(await startAwb(['judge', ...where, ...options], env).ended).toMatchObject({ code: EXIT.done });
      const [row] = await rowsOf(join(dir, `${name}.jsonl`));
      for (const dimension of DIMENSIONS) expect([1, 2, 3, 4, 5]).toContain(row[dimension]);
      const { facts } = row.awb.judge;
      if (pack === 'awb-3') expect(readFacts(facts)).toEqual(facts);
      else expect(facts).toBeUndefined();
      const { identity } = JSON.parse(await readFile(join(dir, `${name}.manifest.json`), 'utf8'));
      expect(identity.verdict_schema).toBe(2);
    }
  });

  test('a server that is killed in the middle and brought back costs no row', async () => {
    const dir = await temporaryFolder();
    const serving = ['--model', worldModel, '--context', '16384'];
    const first = await startServing([...serving, '--port', '0']);
    const port = new URL(first.url).port;
    const infer = startAwb([
      ...['infer', '--data-dir', RECORDED, '--domains', 'terminal', '--limit', '8', '--output-dir', dir],
      ...['--concurrency', '1'],
      ...['--model-base-url', first.url, '--model-name', await nameOf(first.url), '--quiet', '--json'],
    ]);
    const journal = join(dir, 'predictions.journal.jsonl');
    while ((await readFile(journal, 'utf8').catch(() => '')).split('\n').length < 4) {
      await new Promise((done) => setTimeout(done, 20));
    }
    first.child.kill('SIGKILL');
    const second = await startServing([...serving, '--port', port]);
    const { code, stdout } = await infer.ended;
    expect(code).toBe(EXIT.done);
    expect(JSON.parse(stdout).counts).toMatchObject({ ok: 8, failed: 0 });
    second.child.kill();
    await second.ended;
  });

  test('a served model ends with the run that started it, even where that is killed', async () => {
    const dir = await temporaryFolder();
    const infer = startAwb(
      ['infer', '--data-dir', RECORDED, '--output-dir', dir, '--local', worldModel, '--repeats', '50', '--verbose'],
      { AWB_GPU: 'off', AWB_THREADS: '1' },
    );
    const journal = join(dir, 'predictions.journal.jsonl');
    while ((await readFile(journal, 'utf8').catch(() => '')) === '') await new Promise((done) => setTimeout(done, 20));
    const children = async () => {
      const running = (await readdir('/proc')).filter((name) => /^\d+$/.test(name));
      const lines = await Promise.all(running.map((pid) => readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => '')));
      return lines.filter(
        (line) => line.includes('\0serve\0') && line.includes(worldModel) && line.includes('until-stdin'),
      );
    };
    expect(await children()).toHaveLength(1);
    infer.child.kill('SIGKILL');
    await infer.ended;
    while ((await children()).length > 0) await new Promise((done) => setTimeout(done, 50));
  });
});

async function nameOf(url: string): Promise<string> {
  const { data } = (await (await fetch(`${url}/models`)).json()) as { data: { id: string }[] };
  return data[0]?.id as string;
}
