// An environment from its start to its end.

import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import { setTimeout as wait } from 'node:timers/promises';
import { describe, expect, test } from 'vitest';
import { EXIT } from '../../../src/core/errors.js';
import type { Io, TextSink } from '../../../src/core/types.js';
import { serveEnvironment } from '../../../src/simulate/environment/http.js';
import { ENVIRONMENT_OPTIONS } from '../../../src/simulate/options.js';
import { temporaryFolder } from '../../support/cli.js';
import { ioIn } from '../../support/io.js';
import { scriptedSimulator } from '../../support/scripted-simulator.js';

const DEFAULTS = {
  listen: undefined,
  mcp: false,
  listenKey: undefined,
  record: undefined,
  sessions: ENVIRONMENT_OPTIONS.sessions.default,
  sessionIdle: ENVIRONMENT_OPTIONS['session-idle'].default,
  messageKib: ENVIRONMENT_OPTIONS['message-kib'].default,
  steps: 10,
  config: undefined,
  printConfig: false,
  json: false,
  quiet: false,
  verbose: false,
  color: false,
};

/** Serves with these settings until `stop` is aborted, and keeps what is printed. */
function serving(
  given: Partial<Omit<typeof DEFAULTS, 'listen' | 'record'> & { readonly listen: string; readonly record: string }>,
  input: readonly string[] = [],
) {
  const stop = new AbortController();
  const printed = { stdout: '', stderr: '' };
  const sink = (name: keyof typeof printed): TextSink => ({
    isTTY: false,
    columns: 80,
    write(text) {
      printed[name] += text;
    },
  });
  const io: Io = {
    ...ioIn(process.cwd()),
    stop: stop.signal,
    stdout: sink('stdout'),
    stderr: sink('stderr'),
    async *input() {
      for (const text of input) yield Buffer.from(text);
    },
  };
  const settings = { ...DEFAULTS, ...given };
  return { ended: serveEnvironment(scriptedSimulator(), settings, io), stop, printed };
}

async function urlIn(printed: { readonly stdout: string }): Promise<string> {
  for (;;) {
    const url = /http:\S+?:\d+(?= |")/.exec(printed.stdout)?.[0];
    if (url !== undefined) return url;
    await wait(5);
  }
}

describe('over HTTP', () => {
  test('it prints its address, serves until it is stopped, and ends like an interrupted command', async () => {
    const { ended, stop, printed } = serving({ listen: '127.0.0.1:0', mcp: true });
    const url = await urlIn(printed);
    expect(printed.stdout).toBe(`worlds of scripted at ${url} (OpenEnv; WebSockets at /ws); MCP at ${url}/mcp\n`);
    expect((await fetch(`${url}/health`)).status).toBe(200);
    stop.abort('SIGINT');
    expect(await ended).toBe(EXIT.interrupted);
    await expect(fetch(`${url}/health`)).rejects.toThrow();
  });

  test('under --json it says so in one line, and under --verbose every request stands on stderr, without what was said', async () => {
    const { ended, stop, printed } = serving({ listen: '127.0.0.1:0', json: true, verbose: true });
    const url = await urlIn(printed);
    expect(JSON.parse(printed.stdout)).toEqual({ schema: 'awb.environment/1', url, model: 'scripted' });
    await fetch(`${url}/state?episode_id=secret`);
    stop.abort('SIGTERM');
    expect(await ended).toBe(EXIT.terminated);
    expect(printed.stderr).toMatch(/"path":"\/state","status":404,/);
    expect(printed.stderr).not.toContain('secret');
  });

  test("an episode that could not be recorded is also reported to the server's operator", async () => {
    const record = join(await temporaryFolder(), 'episodes');
    const { ended, stop, printed } = serving({ listen: '127.0.0.1:0', record });
    const url = await urlIn(printed);
    await rm(record, { recursive: true });
    const post = (path: string, body: object) =>
      fetch(url + path, {
        method: 'POST',
        headers: { 'content-type': 'application/json' },
        body: JSON.stringify(body),
      });
    await post('/reset', {});
    expect((await post('/step', { action: { action: 'ls' } })).status).toBe(503);
    stop.abort('SIGINT');
    await ended;
    expect(printed.stderr).toMatch(/environment: the step could not be recorded \(ENOENT/);
  });

  test.each([
    ['0.0.0.0:0', { message: expect.stringContaining('--listen-key'), exitCode: EXIT.usage }],
    ['192.0.2.1:1', { message: expect.stringContaining('--listen-key'), exitCode: EXIT.usage }],
  ])('%s without a key is refused', async (listen, error) => {
    await expect(serving({ listen }).ended).rejects.toMatchObject(error);
  });

  test('a busy port is a message with a remedy', async () => {
    const first = serving({ listen: '127.0.0.1:0' });
    const { port } = new URL(await urlIn(first.printed));
    await expect(serving({ listen: `127.0.0.1:${port}` }).ended).rejects.toMatchObject({
      message: expect.stringContaining('name another with --listen'),
      exitCode: EXIT.unavailable,
    });
    first.stop.abort('SIGINT');
    await first.ended;
  });
});

describe('over standard input and output', () => {
  test('all input is answered before the end, and only the protocol is printed', async () => {
    const clientInfo = { name: 'test', version: '1' };
    const messages = [
      { id: 1, method: 'initialize', params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo } },
      { id: 2, method: 'tools/call', params: { name: 'act', arguments: { action: 'a' } } },
      { id: 3, method: 'tools/call', params: { name: 'act', arguments: { action: 'b' } } },
    ];
    const input = messages.map((message) => `${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`).join('');
    const { ended, printed } = serving({ mcp: true, json: true, verbose: true }, [input.slice(0, 99), input.slice(99)]);
    expect(await ended).toBe(EXIT.done);
    const answers = printed.stdout
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(answers).toMatchObject([
      { id: 1 },
      { id: 2, result: { content: [{ text: 'did a' }] } },
      { id: 3, result: { content: [{ text: 'did b' }] } },
    ]);
    expect(printed.stdout).toBe(answers.map((answer) => `${JSON.stringify(answer)}\n`).join(''));
  });
});

test('without a protocol nothing is served', async () => {
  await expect(serving({}).ended).rejects.toThrow(/--listen HOST:PORT, --mcp/);
});
