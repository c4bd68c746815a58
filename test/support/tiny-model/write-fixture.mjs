// Writes fixtures/tiny-random.gguf, the model that `awb quickstart` serves.  node test/support/tiny-model/write-fixture.mjs

import { fileURLToPath } from 'node:url';
import { makeModel, QUICKSTART_MODEL } from './maker.mjs';

console.log(
  await makeModel(QUICKSTART_MODEL, fileURLToPath(new URL('../../../fixtures/tiny-random.gguf', import.meta.url))),
);
