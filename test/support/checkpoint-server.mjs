// A server of made-up checkpoints for tests of the watch: `node checkpoint-server.mjs CHECKPOINT PORT`. The checkpoint says what it does.

import { spawn } from 'node:child_process';
import { appendFileSync, existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import { basename, dirname, join } from 'node:path';

const [checkpoint, port] = process.argv.slice(2);
const config = statSync(checkpoint).isDirectory() ? join(checkpoint, 'config.json') : checkpoint;
const {
  answer = 'good',
  ready = true,
  crashAfter = Infinity,
  hangAfter = Infinity,
  flood = 0,
  strays = false,
} = JSON.parse(readFileSync(config, 'utf8'));
const notes = join(dirname(checkpoint), '..', 'served');
const name = basename(checkpoint);
appendFileSync(`${notes}.log`, `${JSON.stringify({ name, pid: process.pid })}\n`);
console.error(`loading ${name}`);
appendFileSync(`${notes}.env`, `${JSON.stringify(process.env)}\n`);
for (let line = 0; line < flood; line++) console.log(`line ${line} `.padEnd(999, '.'));
// A process that soon loses its parent, in its own session, and that ignores SIGTERM.
if (strays) {
  const deaf = "process.on('SIGTERM', () => {}); setInterval(() => {}, 1e6)";
  const stray = spawn(process.execPath, ['-e', deaf], { detached: true, stdio: 'ignore' });
  appendFileSync(`${notes}.strays`, `${stray.pid}\n`);
}
if (!ready) console.error('out of memory: cannot load the weights');

let count = 0;
createServer((request, response) => {
  let text = '';
  request.on('data', (piece) => {
    text += piece;
  });
  request.on('end', () => {
    response.setHeader('content-type', 'application/json');
    if (!ready) return response.writeHead(503).end('{}');
    if (request.method === 'GET') return response.end(JSON.stringify({ object: 'list', data: [{ id: 'made-up' }] }));
    const crashed = `${notes}.${name}.crashed`;
    if (++count > crashAfter && !existsSync(crashed)) {
      writeFileSync(crashed, '');
      console.error('CUDA error');
      process.exit(1);
    }
    const hung = `${notes}.${name}.hung`;
    if (count > hangAfter && (!existsSync(hung) || readFileSync(hung, 'utf8') === `${process.pid}`)) {
      return writeFileSync(hung, `${process.pid}`);
    }
    appendFileSync(`${notes}.asked`, `${JSON.stringify({ name, messages: JSON.parse(text).messages })}\n`);
    const message = { role: 'assistant', content: `${answer} prediction of ${name}` };
    const usage = { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 };
    response.end(
      JSON.stringify({
        id: 'x',
        object: 'chat.completion',
        model: 'made-up',
        choices: [{ index: 0, message, finish_reason: 'stop' }],
        usage,
      }),
    );
  });
}).listen(Number(port), '127.0.0.1');
