#!/usr/bin/env node
// What `awb` starts: it sizes Node's thread pool, which only code before the first ES module can do, and goes on in bin.ts.

import os = require('node:os');

/** An old Node has no such function; bin.ts tells it what it needs. */
const cores: number | undefined = os.availableParallelism?.();

// With one thread to compute and four in the pool, each evaluation goes to another of the four, which the kernel moves between the
// cores: 3 to 5 % of the tokens a second (bench/serve.md). On more cores the pool's threads sample for several slots at once.
// On Windows the pool does not see what is set here (libuv/libuv#4887): it would have four threads and be said to have one.
const isFree = process.env.UV_THREADPOOL_SIZE === undefined && process.platform !== 'win32';
if (process.argv[2] === 'serve' && cores !== undefined && cores <= 2 && isFree) {
  process.env.UV_THREADPOOL_SIZE = '1';
}

import('./bin.js');
