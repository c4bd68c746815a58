// MCP's one tool, asked by the SDK's own client over both transports.

import { once } from 'node:events';
import { PassThrough } from 'node:stream';
import { Client } from '@modelcontextprotocol/sdk/client/index.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js';
import { describe, expect, test, vi } from 'vitest';
import { ApiError } from '../../../src/serve/http/wire.js';
import { importSdk, mcpRoute, serveStdio } from '../../../src/simulate/environment/mcp.js';
import { Sessions, type Simulator } from '../../../src/simulate/environment/sessions.js';
import { json, post, type Said, startTestEnvironment } from '../../support/environment.js';
import { SILENT, scriptedSimulator } from '../../support/scripted-simulator.js';

/** For what comes by itself, however busy the machine is. */
const PATIENCE = { timeout: 30_000 };

function toldOf(error: unknown): ApiError {
  return error instanceof ApiError ? error : new ApiError(500, 'failed', 'EXECUTION_ERROR');
}

async function startMcp(simulator: Simulator, limits = { most: 10, idleMs: 60_000 }, apiKey = '') {
  const sdk = await importSdk();
  const sessions = new Sessions({ simulator, steps: 3, ...limits });
  const mcp = mcpRoute(sdk, { sessions, messageBytes: 65_536, toldOf });
  const environment = await startTestEnvironment(simulator, { mcp, apiKey });
  return { url: environment.url, sessions, environment };
}

async function connect(url: string, headers: Record<string, string> = {}): Promise<Client> {
  const client = new Client({ name: 'test', version: '1' });
  const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`), { requestInit: { headers } });
  // The SDK's types do not hold to exactOptionalPropertyTypes.
  await client.connect(transport as Transport);
  return client;
}

async function act(client: Client, given: Record<string, unknown>): Promise<Said> {
  return client.callTool({ name: 'act', arguments: given });
}

describe('streamable HTTP', () => {
  test('one tool, which acts in an episode of its connection', async () => {
    const { url } = await startMcp(scriptedSimulator());
    const client = await connect(url);
    const { tools } = await client.listTools();
    expect(tools.map(({ name }) => name)).toEqual(['act']);
    expect(Object.keys(tools[0]?.inputSchema.properties ?? {})).toEqual(['action', 'reset']);
    const begun = await act(client, { reset: { task: 'look around' } });
    expect(begun).toMatchObject({ content: [{ text: 'look around' }], structuredContent: { turn: 0, done: false } });
    const acted = await act(client, { action: 'ls' });
    expect(acted).toMatchObject({ content: [{ text: 'did ls' }], structuredContent: { turn: 1, done: false } });
    await act(client, { action: { name: 'read', arguments: {} } });
    const last = await act(client, { action: 'pwd' });
    expect(last).toMatchObject({
      content: [{ text: 'did pwd' }, { text: '(the episode is over: step-limit)' }],
      structuredContent: { done: true },
    });
    const late = await act(client, { action: 'pwd' });
    expect(late).toMatchObject({ isError: true, content: [{ text: expect.stringContaining('is over') }] });
    expect(await act(client, { reset: {}, action: 'ls' })).toMatchObject({ content: [{ text: 'did ls' }] });
    await client.close();
  });

  test('without reset the first action begins the default episode', async () => {
    const simulator = scriptedSimulator();
    const { url } = await startMcp(simulator);
    const client = await connect(url);
    expect(await act(client, { action: 'ls' })).toMatchObject({ structuredContent: { turn: 1 } });
    expect(simulator.starts).toEqual([{}]);
    await client.close();
  });

  test('parallel calls are executed one after another', async () => {
    const { url } = await startMcp(scriptedSimulator((action, { turns }) => `${action} after ${turns.length}`));
    const client = await connect(url);
    const both = await Promise.all([act(client, { action: 'a' }), act(client, { action: 'b' })]);
    expect(both).toMatchObject([{ content: [{ text: 'a after 0' }] }, { content: [{ text: 'b after 1' }] }]);
    await client.close();
  });

  test('connections do not share an episode', async () => {
    const { url } = await startMcp(scriptedSimulator((action, { turns }) => `${action} after ${turns.length}`));
    const [one, other] = [await connect(url), await connect(url)];
    await act(one, { action: 'a' });
    expect(await act(other, { action: 'b' })).toMatchObject({ content: [{ text: 'b after 0' }] });
    await Promise.all([one.close(), other.close()]);
  });

  test.each([
    ['neither action nor reset', {}, /needs an action/],
    ['a member of another name', { act: 'ls' }, /key: "act"/],
    ['a reset of another form', { reset: 'now' }, /"reset": .*expected object/],
    ['a start that there is not', { reset: { domain: 'chess' } }, /unknown domain/],
    ['an empty action', { action: '' }, /not empty/],
  ])('%s is an error of the tool, not of the connection', async (_, given, message) => {
    const { url } = await startMcp(scriptedSimulator());
    const client = await connect(url);
    const said = await act(client, given);
    expect(said).toMatchObject({ isError: true, content: [{ text: expect.stringMatching(message) }] });
    expect(await act(client, { action: 'ls' })).not.toHaveProperty('isError');
    await client.close();
  });

  test('requires the key, and an existing session', async () => {
    const { url, environment } = await startMcp(scriptedSimulator(), undefined, 'sesame');
    await expect(connect(url)).rejects.toThrow(/API key/);
    const client = await connect(url, { authorization: 'Bearer sesame' });
    expect(await act(client, { action: 'ls' })).toMatchObject({ content: [{ text: 'did ls' }] });
    const headers = { authorization: 'Bearer sesame', 'mcp-session-id': 'nobody', accept: 'application/json' };
    const stray = await json(post(environment, '/mcp', { jsonrpc: '2.0', id: 1, method: 'tools/list' }, { headers }));
    expect(stray).toMatchObject({ status: 404, body: { code: 'SESSION_NOT_FOUND' } });
    await client.close();
  });

  test('a connection that ends its session gives its place back', async () => {
    const { url, sessions } = await startMcp(scriptedSimulator(), { most: 1, idleMs: 60_000 });
    const client = new Client({ name: 'test', version: '1' });
    const transport = new StreamableHTTPClientTransport(new URL(`${url}/mcp`));
    await client.connect(transport as Transport);
    await expect(connect(url)).rejects.toThrow(/--sessions/);
    await transport.terminateSession();
    await vi.waitFor(() => expect(sessions.opened.size).toBe(0), PATIENCE);
    await connect(url);
    expect(sessions.opened.size).toBe(1);
  });

  test('a connection that is idle gives its place back', async () => {
    // Long enough for a busy machine to connect.
    const { url, sessions } = await startMcp(scriptedSimulator(), { most: 1, idleMs: 1_000 });
    await connect(url);
    await vi.waitFor(() => expect(sessions.opened.size).toBe(0), PATIENCE);
    await connect(url);
  });
});

describe('standard input and output', () => {
  test('each line of the output is a message of the protocol, and the end of the input ends it', async () => {
    const sdk = await importSdk();
    const simulator = scriptedSimulator();
    const sessions = new Sessions({ simulator, steps: 3, most: 1, idleMs: 60_000 });
    const [input, output] = [new PassThrough(), new PassThrough()];
    const ended = serveStdio(
      sdk,
      { sessions, messageBytes: 65_536, toldOf },
      { input, output },
      new AbortController().signal,
    );
    let written = '';
    output.on('data', (bytes) => {
      written += bytes;
    });
    const say = async (message: object) => {
      input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
      await once(output, 'data');
    };
    const clientInfo = { name: 'test', version: '1' };
    await say({ id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } });
    await say({ id: 2, method: 'tools/call', params: { name: 'act', arguments: { action: 'ls' } } });
    await say({ id: 3, method: 'tools/call', params: { name: 'dance' } });
    input.end();
    await ended;
    const messages = written
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(messages).toMatchObject([
      { id: 1, result: { serverInfo: { name: 'agentworldbench' } } },
      { id: 2, result: { content: [{ text: 'did ls' }] } },
      { id: 3, result: { isError: true } },
    ]);
    expect(written).toBe(messages.map((message) => `${JSON.stringify(message)}\n`).join(''));
  });

  test('a client that is silent for long can still act', async () => {
    const sdk = await importSdk();
    const simulator = scriptedSimulator((action, { signal }) =>
      signal.aborted ? { status: 'interrupted' } : `did ${action}`,
    );
    const sessions = new Sessions({ simulator, steps: 3, most: 1, idleMs: 20 });
    const streams = { input: new PassThrough(), output: new PassThrough() };
    const grounds = { sessions, messageBytes: 65_536, toldOf };
    const ended = serveStdio(sdk, grounds, streams, new AbortController().signal);
    await new Promise((resolve) => setTimeout(resolve, 200));
    const message = {
      jsonrpc: '2.0',
      id: 1,
      method: 'tools/call',
      params: { name: 'act', arguments: { action: 'ls' } },
    };
    streams.input.end(`${JSON.stringify(message)}\n`);
    await ended;
    expect(String(streams.output.read())).toContain('"text":"did ls"');
  });

  test('a stop ends it, whatever is in progress', async () => {
    const sdk = await importSdk();
    const simulator = scriptedSimulator(SILENT);
    const sessions = new Sessions({ simulator, steps: 3, most: 1, idleMs: 60_000 });
    const stop = new AbortController();
    const streams = { input: new PassThrough(), output: new PassThrough() };
    const ended = serveStdio(sdk, { sessions, messageBytes: 65_536, toldOf }, streams, stop.signal);
    stop.abort();
    await ended;
  });
});
