// Preloaded into a measured process: writes what is alive in it (bytes, after garbage collection) to the file that BENCH_LIVE names,
// when the first record goes to the journal and when the output is about to be written, with all records there.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');
const readings = {};

/** `external` holds the array buffers already. */
function read(moment) {
  if (readings[moment] !== undefined) return;
  gc();
  gc();
  const { heapUsed, external } = process.memoryUsage();
  readings[moment] = heapUsed + external;
}

const { fdatasync } = fs;
fs.fdatasync = (...args) => {
  read('begin');
  return fdatasync(...args);
};
const { open } = fs.promises;
fs.promises.open = (path, ...args) => {
  if (/(predictions|judged)\.jsonl\.\w+\.tmp$/.test(String(path))) read('end');
  return open(path, ...args);
};
syncBuiltinESMExports();
process.on('exit', () => fs.writeFileSync(process.env.BENCH_LIVE, JSON.stringify(readings)));
