// Preloaded into a measured process: writes how long turns of its event loop took to the file in BENCH_BLOCKS. Only time in which the
// thread had a core counts: on a busy machine it waits for one, and for garbage collection helpers that wait themselves.

import { readFileSync, writeFileSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';

const EVERY_MS = 5;
/** Shortest block to record. */
const KEPT_MS = 25;
const schedstat = `/proc/self/task/${process.pid}/schedstat`;
const blocks = [];
let longestGcMs = 0;
let before = now();

/** In milliseconds: the clock, and how long the thread has had a core so far. */
function now() {
  const [worked] = readFileSync(schedstat, 'latin1').split(' ');
  return { at: performance.now(), worked: Number(worked) / 1e6 };
}

function tick() {
  const { at, worked } = now();
  const blocked = worked - before.worked;
  if (blocked >= KEPT_MS)
    blocks.push({ at: Math.round(before.at), ms: Math.round(blocked), wall: Math.round(at - before.at) });
  before = now();
}

setInterval(tick, EVERY_MS).unref();
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) longestGcMs = Math.max(longestGcMs, duration);
}).observe({ entryTypes: ['gc'] });
process.on('exit', () => {
  tick();
  writeFileSync(process.env.BENCH_BLOCKS, JSON.stringify({ blocks, longestGcMs }));
});
