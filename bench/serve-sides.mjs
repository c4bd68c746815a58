// Starts the two servers to compare with the same settings, and asks either.

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { BIN } from './workbench.mjs';

const WITHOUT_AMX = new URL('without-amx.cjs', import.meta.url).pathname;
const TICKS_PER_SECOND = 100;

/** Starts `awb serve` on a GGUF file. `bin` is another build of it. `told` gets its messages (memory plan, loading progress). */
export async function startOurs(model, settings) {
  const { gpu, threads, slots, context, bin = BIN, told } = settings;
  const child = spawn(
    process.execPath,
    [
      ...['--require', WITHOUT_AMX],
      ...[bin, 'serve', '--model', model, '--port', '0', '--until-stdin-closes', '--json', '--gpu', gpu],
      ...(told === undefined ? ['--quiet'] : []),
      ...['--threads', threads, '--parallel', String(slots), '--context', context].map(String),
    ],
    { stdio: ['pipe', 'pipe', told === undefined ? 'inherit' : 'pipe'] },
  );
  child.stderr?.on('data', told);
  const [printed] = await Promise.race([once(child.stdout, 'data'), once(child, 'close').then(() => [])]);
  if (printed === undefined) throw new Error('awb serve did not start');
  const { url, model: facts } = JSON.parse(printed);
  return {
    ...{
      name: bin === BIN ? 'awb serve' : 'other awb',
      url,
      model: facts.name,
      gpuLayers: facts.gpuLayers,
      pid: child.pid,
      child,
    },
    async stop() {
      child.stdin.end();
      await once(child, 'close');
    },
  };
}

/** Starts llama-server with the batch size of `awb serve`, and without the prompt cache outside the slots, which is not used here. */
export async function startLlamaServer(path, model, { gpu, threads, slots, context }) {
  const port = String(await freePort());
  const child = spawn(
    path,
    [
      ...['--model', model, '--host', '127.0.0.1', '--port', port, '--threads', String(threads), '--log-disable'],
      ...['--parallel', String(slots), '--ctx-size', String(context * slots), '--batch-size', '512'],
      ...['--cache-ram', '0', '--flash-attn', 'on'],
      ...(gpu === 'off' ? ['--device', 'none'] : ['--gpu-layers', '999']),
    ],
    { stdio: ['ignore', 'ignore', 'inherit'] },
  );
  const url = `http://127.0.0.1:${port}`;
  while (!(await fetch(`${url}/health`).catch(() => undefined))?.ok) {
    if (child.exitCode !== null || child.signalCode !== null) throw new Error('llama-server did not start');
    await new Promise((done) => setTimeout(done, 200));
  }
  return {
    ...{ name: 'llama-server', url: `${url}/v1`, model: 'default', pid: child.pid },
    async stop() {
      child.kill();
      await once(child, 'close');
    },
  };
}

export async function freePort() {
  const server = createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address();
  server.close();
  return port;
}

/** User and system time of a server process. */
export function cpuSeconds({ pid }) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** Streams one reply; resolves to the milliseconds until its first text, and its usage. */
export async function ask(server, messages, maxTokens) {
  const before = performance.now();
  const response = await fetch(`${server.url}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({
      ...{
        model: server.model,
        messages,
        max_tokens: maxTokens,
        stream: true,
        stream_options: { include_usage: true },
      },
      ...{ temperature: 0.6, top_p: 0.95, top_k: 20, min_p: 0, seed: 1 },
      chat_template_kwargs: { enable_thinking: false },
    }),
  });
  if (!response.ok) throw new Error(`${server.name}: ${await response.text()}`);
  let [rest, firstMs, usage] = ['', undefined, undefined];
  for await (const text of response.body.pipeThrough(new TextDecoderStream())) {
    const lines = `${rest}${text}`.split('\n');
    rest = lines.pop();
    for (const line of lines) {
      if (!line.startsWith('data: {')) continue;
      const chunk = JSON.parse(line.slice(6));
      if (chunk.choices?.[0]?.delta?.content) firstMs ??= performance.now() - before;
      usage = chunk.usage ?? usage;
    }
  }
  return { firstMs: firstMs ?? performance.now() - before, usage };
}

export function user(content) {
  return { role: 'user', content };
}
