// Closes after each test what modules of test support opened. Files that share a worker share these modules, so hooks registered when a
// module loads would apply only to the first of those files.

import { afterEach } from 'vitest';
import { cleanups } from './cleanups.js';

afterEach(async () => {
  for (const cleanUp of cleanups) await cleanUp();
});
