// Preloaded into `awb serve` by the benchmarks. On processors with AMX it refuses one thread for several slots, because llama.cpp's AMX
// code is wrong then. Here scripts/setup.mjs has removed that code, so the refusal is unnecessary: this hides AMX.

const fs = require('node:fs');
const { syncBuiltinESMExports } = require('node:module');

const { readFileSync } = fs;
fs.readFileSync = function (path, ...rest) {
  const read = readFileSync.call(this, path, ...rest);
  return path === '/proc/cpuinfo' ? String(read).replace(/ amx_\w+/g, '') : read;
};
syncBuiltinESMExports();
