// The minimal program for the same requests: the plain openai client, streaming, with p-limit. Nothing is durable, checked or
// continued; the answers are written at the end.
// node bench/bare-client.mjs DATA_FILE BASE_URL OUTPUT_FILE

import { createReadStream, writeFileSync } from 'node:fs';
import { createInterface } from 'node:readline';
import OpenAI from 'openai';
import pLimit from 'p-limit';

const [data, baseURL, output] = process.argv.slice(2);
const client = new OpenAI({ apiKey: 'EMPTY', baseURL });
const limit = pLimit(64);

async function ask(row) {
  const messages = [{ role: 'system', content: row.system_str }];
  for (let turn = 0; turn < row.turn_idx - 1; turn++) {
    messages.push({ role: 'user', content: row.prompt[turn] }, { role: 'assistant', content: row.response[turn] });
  }
  messages.push({ role: 'user', content: row.prompt[row.turn_idx - 1] });
  const stream = await client.chat.completions.create({
    model: 'm',
    messages,
    max_tokens: 32_768,
    temperature: 0.6,
    stream: true,
    stream_options: { include_usage: true },
  });
  let gen = '';
  let usage;
  for await (const chunk of stream) {
    gen += chunk.choices[0]?.delta?.content ?? '';
    usage = chunk.usage ?? usage;
  }
  return JSON.stringify({ ...row, gen, usage });
}

const answers = [];
for await (const line of createInterface({ input: createReadStream(data) })) {
  answers.push(limit(() => ask(JSON.parse(line))));
}
writeFileSync(output, `${(await Promise.all(answers)).join('\n')}\n`);
