// Measures how fast a tokenizer.json counts all strings of the rows, by CPU time: node bench/tokens.mjs TOKENIZER.json [FILE.jsonl ...]

import { readFileSync } from 'node:fs';
import { openTokenizer } from '../dist/model/tokens/tokenizer.js';

const [path, ...files] = process.argv.slice(2);
const domains = ['android', 'mcp', 'os', 'search', 'swe', 'terminal', 'web'];
const recorded = domains.map((name) => new URL(`../fixtures/recorded/${name}_test.jsonl`, import.meta.url));

const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) / 1e6;
};
const megabytes = (bytes) => `${Math.round(bytes / 1e6)} MB`;

function* stringsIn(value) {
  if (typeof value === 'string') yield value;
  else if (typeof value === 'object' && value !== null) for (const one of Object.values(value)) yield* stringsIn(one);
}

const texts = (files.length > 0 ? files : recorded).flatMap((file) =>
  readFileSync(file, 'utf8')
    .split('\n')
    .filter((line) => line !== '')
    .flatMap((line) => [...stringsIn(JSON.parse(line))]),
);
const characters = texts.reduce((sum, text) => sum + text.length, 0);
const before = process.memoryUsage().rss;
let start = cpu();
const tokenizer = await openTokenizer(path);
console.log(`opened in ${(cpu() - start).toFixed(2)} s, ${megabytes(process.memoryUsage().rss - before)}`);
for (const pass of ['new text', 'text with one new line']) {
  start = cpu();
  let tokens = 0;
  for (const text of texts) tokens += tokenizer.count(`${pass}\n${text}`);
  const rate = characters / 1e6 / (cpu() - start);
  console.log(
    `${pass}: ${tokens} tokens, ${(characters / tokens).toFixed(2)} characters each, ${rate.toFixed(1)} MB/s`,
  );
}
