// The program as an environment: processes that agents elsewhere talk to, that are stopped or killed, and that lack optional parts.

import { once } from 'node:events';
import { mkdir, readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { afterEach, describe, expect, test } from 'vitest';
import { EXIT } from '../../src/core/errors.js';
import { awb, type CliProcess, ROOT, startAwb, temporaryFolder } from '../support/cli.js';
import { json, post, SocketAgent, type TestEnvironment } from '../support/environment.js';
import { type Handler, type LoopbackServer, startLoopbackServer } from '../support/loopback-server.js';

const open: { close(): Promise<void> }[] = [];
const BIN = join(ROOT, 'dist/bin.js');

afterEach(async () => {
  for (const one of open.splice(0)) await one.close();
});

async function model(script?: Handler): Promise<LoopbackServer> {
  const server = await startLoopbackServer(script);
  open.push(server);
  return server;
}

function flags({ url }: LoopbackServer, ...more: readonly string[]): string[] {
  return ['simulate', '--model-base-url', url, '--model-name', 'loopback', '--domain', 'terminal', ...more];
}

/** The environment in its own process. */
async function listening(server: LoopbackServer, ...more: readonly string[]) {
  const started: CliProcess = startAwb(flags(server, '--listen', '127.0.0.1:0', '--json', ...more), {
    AWB_MODEL_API_KEY: 'model-secret',
  });
  open.push({
    async close() {
      started.child.kill('SIGKILL');
      await started.ended;
    },
  });
  const printed = started.child.stdout;
  if (printed === null) throw new Error('no output');
  const [line] = await Promise.race([once(printed, 'data'), started.ended.then(({ stderr }) => [stderr])]);
  const { url } = JSON.parse(String(line));
  // `post` needs only the address.
  return { ...started, url, environment: { url } as TestEnvironment };
}

describe('a listening process', () => {
  test('finishes the current step when it is interrupted, and its record is what the agent saw', async () => {
    let answer = () => {};
    const asked = new Promise<void>((resolve) => {
      answer = resolve;
    });
    let arrived = () => {};
    const underWay = new Promise<void>((resolve) => {
      arrived = resolve;
    });
    const server = await model(async () => {
      arrived();
      await asked;
      return { content: '<predicted_observation>in time</predicted_observation>' };
    });
    const record = join(await temporaryFolder(), 'episodes');
    const { child, ended, environment } = await listening(server, '--record', record);
    const agent = await SocketAgent.connect(environment);
    await agent.reset({ episode_id: 'e' });
    const acted = agent.act('ls');
    await underWay;
    child.kill('SIGINT');
    answer();
    expect(await acted).toMatchObject({ data: { observation: { text: 'in time' } } });
    expect((await ended).code).toBe(EXIT.interrupted);
    expect(await readFile(join(record, 'terminal-e_test.jsonl'), 'utf8')).toContain('in time');
  });

  test('produces no answers for a client that reads none, and disconnects it while the others stay', async () => {
    const { environment } = await listening(await model());
    const [greedy, other] = [await SocketAgent.connect(environment), await SocketAgent.connect(environment)];
    await other.reset();
    let answers = 0;
    greedy.socket.on('message', () => answers++);
    greedy.socket.on('error', () => {});
    const closed = once(greedy.socket, 'close');
    greedy.socket.pause();
    const sent = 1_000;
    for (let count = 0; count < sent && greedy.socket.readyState === greedy.socket.OPEN; count++) {
      greedy.socket.send(JSON.stringify({ type: 'reset', data: { task: 'x'.repeat(60_000) } }), () => {});
      // Few enough at once not to be disconnected for that.
      await other.say({ type: 'state' });
    }
    greedy.socket.send('{"type":"close"}', () => {});
    greedy.socket.resume();
    // A client whose connection ends before it reads the close frame sees 1006.
    expect([1006, 1008]).toContain((await closed)[0]);
    expect(answers).toBeLessThan(sent);
    expect(await other.act('ls')).toMatchObject({ type: 'observation' });
  });

  test('that is killed leaves every episode at its last finished step, as rows that awb infer reads, without secrets', async () => {
    const server = await model(({ index }) =>
      index < 6 ? { content: `<predicted_observation>saw ${index}</predicted_observation>` } : 'hang',
    );
    const record = join(await temporaryFolder(), 'episodes');
    const { child, ended, environment } = await listening(server, '--record', record, '--listen-key', 'listen-secret');
    const headers = { authorization: 'Bearer listen-secret' };
    const step = (episode_id: string) =>
      post(environment, '/step', { episode_id, action: { action: 'ls' } }, { headers });
    for (const episode_id of ['one', 'two']) {
      await post(environment, '/reset', { episode_id }, { headers });
      for (let count = 0; count < 3; count++) await step(episode_id);
    }
    const lost = Promise.allSettled([step('one'), step('two')]);
    while (server.count < 8) await new Promise((resolve) => setTimeout(resolve, 5));
    child.kill('SIGKILL');
    await Promise.all([lost, ended]);
    const names = (await readdir(record)).sort();
    expect(names).toEqual(['terminal-one_test.jsonl', 'terminal-two_test.jsonl']);
    for (const name of names) {
      const text = await readFile(join(record, name), 'utf8');
      const row = JSON.parse(text);
      expect(row).toMatchObject({ task: 'simulated/terminal', turn_idx: 3, total_turns: 3 });
      expect(row.response).toHaveLength(3);
      expect(text).not.toMatch(/secret/);
    }
    const out = join(record, '..', 'out');
    await mkdir(out);
    const infer = await awb(['infer', '--data-dir', record, '--baseline', 'oracle', '--output-dir', out, '--quiet']);
    expect(infer).toMatchObject({ code: EXIT.done });
    expect((await readFile(join(out, 'predictions.jsonl'), 'utf8')).trim().split('\n')).toHaveLength(2);
  });

  test('reports an outage as retryable, and continues the episode after it', async () => {
    let isDown = true;
    const server = await model(() =>
      isDown ? { status: 503, body: 'down' } : { content: '<predicted_observation>up again</predicted_observation>' },
    );
    const { environment } = await listening(server, '--retry-minutes', '0');
    await post(environment, '/reset', {});
    const failed = await json(post(environment, '/step', { action: { action: 'ls' } }));
    expect(failed).toMatchObject({ status: 503, body: { code: 'WORLD_MODEL_UNAVAILABLE' } });
    expect(failed.headers.get('retry-after')).not.toBeNull();
    isDown = false;
    const acted = await json(post(environment, '/step', { action: { action: 'ls' } }));
    expect(acted).toMatchObject({ status: 200, body: { observation: { text: 'up again', turn: 1 } } });
  });
});

describe('a process that speaks MCP on its standard streams', () => {
  test("is understood by the SDK's own client", async () => {
    const server = await model();
    const client = new Client({ name: 'test', version: '1' });
    const args = [BIN, ...flags(server, '--mcp', '--steps', '2')];
    await client.connect(new StdioClientTransport({ command: process.execPath, args, stderr: 'pipe' }));
    expect((await client.listTools()).tools.map(({ name }) => name)).toEqual(['act']);
    const acted = await client.callTool({ name: 'act', arguments: { action: 'ls' } });
    expect(acted).toMatchObject({ content: [{ text: expect.stringMatching(/^observed /) }] });
    await client.callTool({ name: 'act', arguments: { action: 'ls' } });
    const late = await client.callTool({ name: 'act', arguments: { action: 'ls' } });
    expect(late).toMatchObject({ isError: true });
    await client.close();
  });

  test('prints only the protocol, byte for byte, whatever it has to report', async () => {
    const server = await model(({ index }) =>
      index === 0
        ? { status: 429, body: 'slow down' }
        : { content: '<predicted_observation>a</predicted_observation>' },
    );
    const started = startAwb(flags(server, '--mcp', '--json', '--verbose'), {}, ROOT, 'pipe');
    const clientInfo = { name: 'test', version: '1' };
    const initialize = { protocolVersion: '2025-06-18', capabilities: {}, clientInfo };
    const messages = [
      { jsonrpc: '2.0', id: 1, method: 'initialize', params: initialize },
      { jsonrpc: '2.0', method: 'notifications/initialized' },
      { jsonrpc: '2.0', id: 2, method: 'tools/call', params: { name: 'act', arguments: { action: 'ls' } } },
      { jsonrpc: '2.0', id: 3, method: 'tools/call', params: { name: 'act', arguments: { action: '' } } },
    ];
    started.child.stdin?.end(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
    const { code, stdout } = await started.ended;
    const answers = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers.map(({ id }) => id)).toEqual([1, 2, 3]);
    expect(stdout).toBe(answers.map((answer) => `${JSON.stringify(answer)}\n`).join(''));
    expect(answers[1]).toMatchObject({ result: { content: [{ text: 'a' }] } });
    expect(code).toBe(EXIT.done);
  });

  test('reads a message of any length, since its sender started the process', async () => {
    const server = await model();
    const call = (id: number, action: string) =>
      `${JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params: { name: 'act', arguments: { action } } })}\n`;
    const input = call(1, 'x'.repeat(300_000)) + call(2, 'ls');
    const { code, stdout } = await awb(flags(server, '--mcp', '--message-kib', '1'), { input });
    const answers = stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers).toMatchObject([1, 2].map((id) => ({ id, result: { content: [{ text: expect.any(String) }] } })));
    expect(code).toBe(EXIT.done);
  });

  test('says how to add the SDK if it is missing, and prints nothing', async () => {
    const hook = `export async function resolve(name, context, next) {
      if (name.startsWith('@modelcontextprotocol/')) throw Object.assign(new Error('gone'), { code: 'ERR_MODULE_NOT_FOUND' });
      return next(name, context);
    }`;
    const hooks = `data:text/javascript,${encodeURIComponent(hook)}`;
    const register = `import { register } from 'node:module'; register(${JSON.stringify(hooks)});`;
    const env = { NODE_OPTIONS: `--import=data:text/javascript,${encodeURIComponent(register)}` };
    const { code, stdout, stderr } = await startAwb(flags(await model(), '--mcp'), env).ended;
    expect({ code, stdout }).toEqual({ code: EXIT.unavailable, stdout: '' });
    expect(stderr).toContain('npm i @modelcontextprotocol/sdk@');
  });
});
