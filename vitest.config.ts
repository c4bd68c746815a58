import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    setupFiles: ['test/support/cleanup.ts'],
    // A worker for each of some 450 files would spend more time on imports than on tests.
    isolate: false,
    // They end what hangs, and claim nothing: beside other work a machine takes ten times as long.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // A quarter of what the tests do is waiting, which one more worker fills.
    maxWorkers: availableParallelism() + 1,
  },
});
