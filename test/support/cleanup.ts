// What modules of test support open is closed after each test. Files that share a worker share these modules, and hooks that a module
// registers as it loads would hold for the first of those files alone.

import { afterEach } from 'vitest';
import { cleanups } from './cleanups.js';

afterEach(async () => {
  for (const cleanUp of cleanups) await cleanUp();
});
