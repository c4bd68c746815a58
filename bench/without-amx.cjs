// Preloaded into `awb serve` by the benchmarks: one thread for several slots is refused on processors with AMX, whose code in llama.cpp is
// wrong then; scripts/setup.mjs has taken that code out here, so that nothing on this machine runs it.

const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');

const { readFileSync } = fs;
fs.readFileSync = function (path, ...rest) {
  const read = readFileSync.call(this, path, ...rest);
  return path === '/proc/cpuinfo' ? String(read).replace(/ amx_\w+/g, '') : read;
};
syncBuiltinESMExports();
