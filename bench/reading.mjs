// Opens a folder of data, and says what that took; started by bench/index.mjs in a process of its own, with the flags of awb.
// node --expose-gc --heap-growing-percent=40 bench/reading.mjs DIST DATA [again]   `again` reads every row a second time, in order

import { join } from 'node:path';

const [dist, data, mode] = process.argv.slice(2);
const { openDataset } = await import(join(dist, 'bench/dataset.js'));
const started = performance.now();
const dataset = await openDataset(data);
const indexed = performance.now();
const rows = dataset.rows.length;
if (mode === 'again') for (let row = 0; row < rows; row++) await dataset.readSample(row);
const read = performance.now();
const { userCPUTime, systemCPUTime, maxRSS } = process.resourceUsage();
globalThis.gc();
globalThis.gc();
const { heapUsed, external } = process.memoryUsage();
console.log(
  JSON.stringify({
    rows,
    indexSeconds: (indexed - started) / 1000,
    againSeconds: (read - indexed) / 1000,
    cpuSeconds: (userCPUTime + systemCPUTime) / 1e6,
    peakMb: maxRSS / 1024,
    // Array buffers are external memory.
    live: heapUsed + external,
  }),
);
await dataset.close();
