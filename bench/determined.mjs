// Measures how long it takes to find the determined tokens of a large row, and to make doses and rewrites of it. bench/README.md has
// the results.
// node bench/determined.mjs   (`npm run build` first)

import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { HERE, median } from './workbench.mjs';

const dist = join(HERE, '../dist');
const { tokensOf } = await import(join(dist, 'judge/calibrate/tokens.js'));
const { VARIANTS } = await import(join(dist, 'judge/calibrate/variants.js'));
const { randomOf } = await import(join(dist, 'core/random.js'));
const { DOMAINS } = await import(join(dist, 'core/types.js'));
const ROUNDS = 5;
const MADE = ['determined-2of3', 'rewrite-runtime', 'rewrite-keys', 'rewrite-space'];

for (const domain of DOMAINS) {
  const rows = readFileSync(join(HERE, `../fixtures/recorded/${domain}_test.jsonl`), 'utf8')
    .trim()
    .split('\n');
  const truths = rows.map((line) => JSON.parse(line)).map((row) => row.response[row.turn_idx - 1]);
  for (const size of [200_000, 400_000, 800_000]) {
    // One half is the history, the other half the truth. Every repetition has other numbers, so that lines differ.
    const half = grown(truths.join('\n'), size / 2);
    const times = Array.from({ length: ROUNDS }, () => timesOf(domain, half));
    const [finding, ...making] = times[0].map((_, place) => median(times.map((round) => round[place])).toFixed(0));
    console.log(
      `${domain} ${size / 1000} kB: found in ${finding} ms; ${MADE.map((name, place) => `${name} ${making[place]}`).join(', ')} ms`,
    );
  }
}

function timesOf(domain, half) {
  const sample = {
    key: 'k',
    trajectory: 't',
    domain,
    turnIdx: 2,
    prompts: ['look', '**Action:**\n```\ngo\n```'],
    responses: [half, half],
    currentPrompt: '',
    systemPrompt: '',
  };
  return [
    timed(() => tokensOf(sample)),
    ...MADE.map((name) => timed(() => VARIANTS[name].make({ sample, random: randomOf(1), rowRandom: randomOf(2) }))),
  ];
}

function timed(work) {
  const start = performance.now();
  work();
  return performance.now() - start;
}

function grown(text, length) {
  let made = '';
  let count = 0;
  while (made.length < length) made += `${text.replace(/\b\d{3}\b/g, () => String(100 + (count++ % 899)))}\n`;
  return made.slice(0, length);
}
