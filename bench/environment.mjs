// Measures `awb simulate --listen` under many sessions: its memory, and the cost of a step without the model. README.md has the results.
// node bench/environment.mjs [--sessions 200] [--steps 20] [--row DOMAIN:ID:TURN] [--record]   (`npm run build` first)

import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import WebSocket from 'ws';

const { values: flags } = parseArgs({
  options: {
    sessions: { type: 'string', default: '200' },
    /** Steps per session. */
    steps: { type: 'string', default: '20' },
    /** Row at which the sessions start (default: an empty terminal). */
    row: { type: 'string' },
    record: { type: 'boolean', default: false },
    /** Steps of a single session, to time a step. */
    alone: { type: 'string', default: '200' },
  },
});
const [sessions, steps, alone] = [flags.sessions, flags.steps, flags.alone].map(Number);
const file = (path) => new URL(path, import.meta.url).pathname;
const TICKS_PER_SECOND = 100;
const root = mkdtempSync(join(tmpdir(), 'awb-bench-'));
const model = spawn(process.execPath, [file('server.mjs'), '0', '1'], { stdio: ['pipe', 'pipe', 'inherit'] });

try {
  const modelUrl = `http://127.0.0.1:${String((await once(model.stdout, 'data'))[0]).trim()}/v1`;
  const { url, pid, stop } = await startEnvironment(modelUrl);
  try {
    const idle = memory(pid);
    const start = flags.row === undefined ? { domain: 'terminal' } : { row: flags.row };
    const agents = [];
    for (let session = 0; session < sessions; session++) agents.push(await connect(url));
    await Promise.all(agents.map((agent) => agent({ type: 'reset', data: start })));
    const [cpuBefore, before] = [cpuSeconds(pid), performance.now()];
    for (let step = 0; step < steps; step++) {
      await Promise.all(agents.map((agent) => agent({ type: 'step', data: { action: `echo ${step}` } })));
    }
    const cpu = cpuSeconds(pid) - cpuBefore;
    const wall = (performance.now() - before) / 1000;
    const { resident, peak } = memory(pid);
    const count = sessions * steps;
    console.log(
      `${sessions} sessions of ${steps} steps, start ${flags.row ?? 'empty'}${flags.record ? ', recorded' : ''}`,
    );
    console.log(`memory: ${idle.resident} MB idle, ${resident} MB with all sessions, peak ${peak} MB`);
    console.log(`CPU per step: ${((1000 * cpu) / count).toFixed(2)} ms; ${(count / wall).toFixed(0)} steps per second`);
    const agent = agents[0];
    await agent({ type: 'reset', data: start });
    const times = await timed(alone, (step) => agent({ type: 'step', data: { action: `echo ${step}` } }));
    const bare = await timed(alone, () => askBare(modelUrl));
    console.log(`one session, a step: ${told(times)}; a plain request with a short prompt: ${told(bare)}`);
  } finally {
    await stop();
  }
} finally {
  model.kill();
  rmSync(root, { recursive: true });
}

async function startEnvironment(modelUrl) {
  const args = ['simulate', '--listen', '127.0.0.1:0', '--json', '--quiet', '--model-base-url', modelUrl];
  const data = ['--model-name', 'm', '--data-dir', file('../fixtures/recorded'), '--steps', '1000'];
  const record = flags.record ? ['--record', join(root, 'episodes')] : [];
  const child = spawn(process.execPath, [file('../dist/bin.js'), ...args, ...data, ...record], {
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  const [printed] = await Promise.race([once(child.stdout, 'data'), once(child, 'close').then(() => [])]);
  if (printed === undefined) throw new Error('awb simulate did not start');
  return {
    ...{ url: JSON.parse(printed).url, pid: child.pid },
    async stop() {
      child.kill('SIGINT');
      await once(child, 'close');
    },
  };
}

/** An agent with its own WebSocket: sends a message and resolves to the answer's data. */
async function connect(url) {
  const socket = new WebSocket(`${url.replace('http', 'ws')}/ws`);
  await once(socket, 'open');
  return async (message) => {
    socket.send(JSON.stringify(message));
    const { type, data } = JSON.parse(String((await once(socket, 'message'))[0]));
    if (type === 'error') throw new Error(data.message);
    return data;
  };
}

async function askBare(modelUrl) {
  const messages = [{ role: 'user', content: 'ls' }];
  const response = await fetch(`${modelUrl}/chat/completions`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'm', messages, stream: true }),
  });
  await response.text();
}

async function timed(count, act) {
  const times = [];
  for (let turn = 0; turn < count; turn++) {
    const before = performance.now();
    await act(turn);
    times.push(performance.now() - before);
  }
  return times.sort((a, b) => a - b);
}

function told(times) {
  const at = (share) => times[Math.floor(share * (times.length - 1))].toFixed(2);
  return `median ${at(0.5)} ms, 95th percentile ${at(0.95)} ms`;
}

function cpuSeconds(pid) {
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8')
    .replace(/^.*\) /s, '')
    .split(' ');
  return (Number(fields[11]) + Number(fields[12])) / TICKS_PER_SECOND;
}

/** In MB. */
function memory(pid) {
  const status = readFileSync(`/proc/${pid}/status`, 'utf8');
  const read = (name) => Math.round((Number(new RegExp(`${name}:\\s+(\\d+)`).exec(status)[1]) * 1024) / 1e6);
  return { resident: read('VmRSS'), peak: read('VmHWM') };
}
