import { availableParallelism } from 'node:os';
import { defineConfig } from 'vitest/config';

export default defineConfig({
  test: {
    include: ['test/**/*.test.ts'],
    globalSetup: ['test/support/build.ts'],
    setupFiles: ['test/support/cleanup.ts'],
    // One worker per file (some 450) would spend more time on imports than on tests.
    isolate: false,
    // Only to end tests that hang, not a claim about speed: a busy machine takes ten times as long.
    testTimeout: 120_000,
    hookTimeout: 120_000,
    // Tests wait a quarter of their time, so one more worker keeps the cores busy.
    maxWorkers: availableParallelism() + 1,
  },
});
