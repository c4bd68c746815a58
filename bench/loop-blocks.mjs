// Preloaded into a measured process: how long its event loop was blocked, to the file that BENCH_BLOCKS names. A turn of the loop that
// takes long because the machine gives the thread no core is no block: what the kernel says that the thread waited for one is taken off.

import { readFileSync, writeFileSync } from 'node:fs';
import { PerformanceObserver } from 'node:perf_hooks';

const EVERY_MS = 5;
/** What is kept of blocks: those from so many milliseconds on. */
const KEPT_MS = 25;
const schedstat = `/proc/self/task/${process.pid}/schedstat`;
const blocks = [];
let longestGcMs = 0;
let before = now();

/** Milliseconds: the clock, and what the thread has waited for a core so far. */
function now() {
  const [, waited] = readFileSync(schedstat, 'latin1').split(' ');
  return { at: performance.now(), waited: Number(waited) / 1e6 };
}

function tick() {
  const { at, waited } = now();
  const blocked = at - before.at - EVERY_MS - (waited - before.waited);
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
