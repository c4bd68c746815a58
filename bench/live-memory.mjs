// Preloaded into a measured process: writes its live memory (bytes, after garbage collection) to the file in BENCH_LIVE, measured when
// the first record goes to the journal, and when all records exist and the output is about to be written.

import fs from 'node:fs';
import { syncBuiltinESMExports } from 'node:module';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';

setFlagsFromString('--expose-gc');
const gc = runInNewContext('gc');
const readings = {};

/** `external` already includes array buffers. */
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
