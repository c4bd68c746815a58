// The time between two evaluations in `awb serve` and in llama.cpp's own server, and what it is made of; what it showed stands in bench/serve.md.
// node bench/serve-gap.mjs [--llama-server PATH] [--other dist/launch.cjs] [--model endless|large|FILE.gguf] [--parallel 1,2,4,8] [--tokens 1000] …   (`npm run build` first; needs cc)

import { execFileSync } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { loadavg, tmpdir } from 'node:os';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import { keptModel, RANDOM_MODELS } from '../test/support/tiny-model/maker.mjs';
import { ask, cpuSeconds, startLlamaServer, startOurs, user } from './serve-sides.mjs';

const { values: flags } = parseArgs({
  options: {
    'llama-server': { type: 'string' },
    /** Another build of awb, by its dist/launch.cjs. */
    other: { type: 'string' },
    /** `endless` is the tiny one without its ends: evaluations of a quarter of a millisecond, and many gaps. */
    model: { type: 'string', default: 'endless' },
    gpu: { type: 'string', default: 'off' },
    threads: { type: 'string', default: '1' },
    parallel: { type: 'string', default: '1,2,4,8' },
    /** Tokens per slot. */
    context: { type: 'string', default: '2048' },
    /** Tokens generated per request. */
    tokens: { type: 'string', default: '1000' },
    runs: { type: 'string', default: '3' },
    /** Which steps fill the gap, as JavaScript sees them; timing them takes about a fiftieth of a millisecond a token. */
    steps: { type: 'boolean', default: false },
  },
});
const parallels = flags.parallel.split(',').map(Number);
const [threads, context, tokens, runs] = ['threads', 'context', 'tokens', 'runs'].map((name) => Number(flags[name]));
const settings = { gpu: flags.gpu, threads, slots: Math.max(...parallels), context };
const MODELS = {
  ...RANDOM_MODELS,
  endless: { ...RANDOM_MODELS.tiny, name: 'endless', replyTokens: Number.POSITIVE_INFINITY },
};
const here = (name) => new URL(name, import.meta.url).pathname;
const RECORD_BYTES = 64;
const RECORDS = 2 ** 16;
const FIELDS = ['start', 'end', 'sampling', 'tokens', 'firstStart', 'firstEnd', 'allStart', 'allEnd'];
const root = mkdtempSync(join(tmpdir(), 'awb-gap-'));
const sides = [];
let asked = 0;

try {
  const made = MODELS[flags.model];
  const model = made === undefined ? flags.model : await keptModel(made, root);
  const shim = join(root, 'serve-gap.so');
  execFileSync('cc', ['-O2', '-shared', '-fPIC', '-o', shim, here('serve-gap.c'), '-ldl']);
  const watched = (name) => ({ LD_PRELOAD: shim, GAP_FILE: join(root, name) });
  const probe = flags.steps && { node: ['--require', here('serve-gap-probe.cjs')], ipc: true };
  sides.push({
    ...(await startOurs(model, { ...settings, env: watched('ours'), ...probe })),
    file: join(root, 'ours'),
  });
  if (flags.other !== undefined) {
    const other = await startOurs(model, { ...settings, bin: flags.other, env: watched('other'), ...probe });
    sides.push({ ...other, file: join(root, 'other') });
  }
  if (flags['llama-server'] !== undefined) {
    const theirs = await startLlamaServer(flags['llama-server'], model, { ...settings, env: watched('theirs') });
    sides.push({ ...theirs, file: join(root, 'theirs') });
  }
  for (const side of sides) await ask(side, [user('Begin.')], tokens);
  console.log(
    `${flags.model}, ${settings.slots} slots, ${threads} threads; microseconds, of ${runs} runs together; load ${loadavg()[0].toFixed(1)}`,
  );
  for (const parallel of parallels) await measure(parallel);
} finally {
  for (const side of sides) await side.stop();
  rmSync(root, { recursive: true });
}

async function measure(parallel) {
  const found = sides.map(() => ({ gaps: [], sampling: [], evaluations: [], first: [], all: [], cpu: 0, tokens: 0 }));
  const probed = flags.steps ? sides.filter(({ child }) => child !== undefined) : [];
  for (const side of probed) await stepsOf(side);
  for (let run = 0; run < runs; run++) {
    for (const [index, side] of sides.entries()) {
      const [before, cpuBefore] = [countOf(side), cpuSeconds(side)];
      const questions = Array.from({ length: parallel }, () => [user(`Case ${asked++}: list the files.`)]);
      await Promise.all(questions.map((messages) => ask(side, messages, tokens)));
      found[index].cpu += cpuSeconds(side) - cpuBefore;
      found[index].tokens += parallel * tokens;
      collect(records(side, before), parallel, found[index]);
    }
  }
  for (const [index, side] of sides.entries()) {
    const { gaps, sampling, evaluations, first, all, cpu, tokens: generated } = found[index];
    console.log(
      `${String(parallel).padStart(2)} ${side.name.padEnd(13)} gap ${spread(gaps)} | CPU in it: first thread ${spread(first)}, all ${spread(all)}, samplers ${spread(sampling)} | ` +
        `evaluation ${spread(evaluations)} | ${(generated / cpu).toFixed(1)} tokens a CPU-second; load ${loadavg()[0].toFixed(1)}`,
    );
  }
  for (const side of probed) showSteps(side.name, parallel, await stepsOf(side));
}

/** Only where two evaluations of one token for each stream follow each other. */
function collect(rows, parallel, { gaps, sampling, evaluations, first, all }) {
  for (const [at, row] of rows.entries()) {
    const next = rows[at + 1];
    if (row.tokens !== parallel) continue;
    evaluations.push(row.end - row.start);
    if (next?.tokens !== parallel) continue;
    gaps.push(next.start - row.end);
    sampling.push(row.sampling);
    first.push(next.firstStart - row.firstEnd);
    all.push(next.allStart - row.allEnd);
  }
}

function records({ file }, from) {
  const bytes = readFileSync(file);
  const count = Number(bytes.readBigInt64LE(0));
  return Array.from({ length: count - from }, (_, index) => {
    const at = 8 + ((from + index) % RECORDS) * RECORD_BYTES;
    return Object.fromEntries(FIELDS.map((name, field) => [name, Number(bytes.readBigInt64LE(at + 8 * field))]));
  });
}

function countOf({ file }) {
  return existsSync(file) ? Number(readFileSync(file).readBigInt64LE(0)) : 0;
}

/** Median (least of a hundred; tenths at both ends): what a busy machine adds stands in the upper part. */
function spread(values) {
  const sorted = [...values].sort((a, b) => a - b);
  const [least, low, middle, high] = [0.01, 0.1, 0.5, 0.9].map((part) =>
    ((sorted[Math.floor(part * (sorted.length - 1))] ?? Number.NaN) / 1000).toFixed(0),
  );
  return `${middle.padStart(5)} (${least}; ${low} to ${high})`;
}

async function stepsOf({ child }) {
  child.send('take');
  const [answer] = await once(child, 'message');
  return answer;
}

function showSteps(name, parallel, { steps, gaps, samples }) {
  const [seen, sampled] = [gaps, samples].map((list) => list.filter(([width]) => width === parallel));
  console.log(
    `   ${name}: JavaScript sees a gap of ${spread(seen.map(([, spent]) => spent))}, a sample of ${spread(sampled.map(([, spent]) => spent))}; of it, all calls of a gap together:`,
  );
  const found = steps.filter(([width]) => width === parallel).map(([, step]) => step);
  const names = [...new Set(found.flatMap((step) => Object.keys(step)))];
  for (const step of names) {
    const [inside, hidden, calls] = ['inside', 'hidden', 'calls'].map((key) =>
      found.map((one) => one[step]?.[key] ?? 0),
    );
    const mean = calls.reduce((sum, count) => sum + count, 0) / found.length;
    if (mean < 0.5) continue;
    console.log(
      `   ${step.padEnd(48)} in the gap ${spread(inside)}, hidden ${spread(hidden)}, calls ${mean.toFixed(1)}`,
    );
  }
}
