// A loopback endpoint with a fixed latency, in its own process so that its CPU time does not count.
// node bench/server.mjs LATENCY_MS [PIECES]  -> prints its port, and the number of chat requests when its standard input closes

import { createServer } from 'node:http';

const latencyMs = Number(process.argv[2] ?? 200);
const pieces = Number(process.argv[3] ?? 8);
const CONTENT = '<predicted_observation>\nroot@host:/app# ls\nREADME.md  src\n</predicted_observation>';
const USAGE = { prompt_tokens: 100, completion_tokens: 20, total_tokens: 120 };
let requests = 0;

const server = createServer((request, response) => {
  let [head, tail] = ['', ''];
  request.on('data', (chunk) => {
    const text = chunk.toString('latin1');
    if (head.length < 4096) head += text;
    tail = (tail + text).slice(-4096);
  });
  request.on('end', () => {
    if (request.method === 'POST') requests++;
    const content = head.includes('"model":"judge"')
      ? verdictFor(tail.slice(tail.lastIndexOf('Put the JSON')))
      : CONTENT;
    setTimeout(
      () => (head.includes('"stream":true') ? stream(response, content) : whole(response, content)),
      latencyMs,
    );
  });
});

/** A verdict in the tags that the end of a judge's prompt requires. */
function verdictFor(asked) {
  const [tag] = asked.match(/final_evaluation-[0-9a-f]{16}/) ?? ['final_evaluation'];
  const scores = '{"format":4,"factuality":3,"consistency":4,"realism":4,"quality":3}';
  return `<${tag}>{"strengths":[],"weaknesses":[],"scores":${scores}}</${tag}>`;
}

function whole(response, content) {
  response.writeHead(200, { 'content-type': 'application/json' });
  const choices = [{ index: 0, message: { role: 'assistant', content }, finish_reason: 'stop' }];
  response.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices, usage: USAGE }));
}

/** Streams the pieces, then the end and the usage, like a serving engine. Long replies repeat the text. */
function stream(response, content) {
  response.writeHead(200, { 'content-type': 'text/event-stream' });
  const event = (choices, usage) =>
    `data: ${JSON.stringify({ id: 'x', object: 'chat.completion.chunk', created: 1, model: 'm', choices, ...(usage ? { usage } : {}) })}\n\n`;
  const size = Math.ceil(content.length / 8);
  for (let piece = 0; piece < pieces; piece++) {
    const at = (piece % 8) * size;
    response.write(event([{ index: 0, delta: { content: content.slice(at, at + size) }, finish_reason: null }]));
  }
  response.write(event([{ index: 0, delta: {}, finish_reason: 'stop' }]));
  response.end(`${event([], USAGE)}data: [DONE]\n\n`);
}

server.keepAliveTimeout = 60_000;
server.listen(0, '127.0.0.1', () => console.log(server.address().port));
process.stdin.on('end', () => {
  console.log(requests);
  process.exit(0);
});
process.stdin.resume();
