// The maker of tiny models for scripts: vite compiles its TypeScript on the fly.

import { fileURLToPath } from 'node:url';
import { runnerImport } from 'vite';

const { module } = await runnerImport(fileURLToPath(new URL('model.ts', import.meta.url)), {
  configFile: false,
  logLevel: 'error',
});
export const { keptModel, makeModel, QUICKSTART_MODEL, RANDOM_MODELS } = module;
