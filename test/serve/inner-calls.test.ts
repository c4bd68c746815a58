// Whether a release's inner calls are those that were tried.

import { expect, test } from 'vitest';
import { innerCalls } from '../../src/serve/inner-calls.js';
import type { Loaded } from '../../src/serve/load.js';

const call = (): void => undefined;

class Sampler {
  applyConfig = call;
  dispose = call;
}

/** What is looked at of a loaded model. */
function loaded(context: object, prototype: object): Loaded {
  const AddonSampler = class {};
  Object.assign(AddonSampler.prototype, prototype);
  // Nothing else of it is read.
  return {
    llama: { _bindings: { AddonSampler } },
    model: { _model: {} },
    context: { _ctx: context },
  } as unknown as Loaded;
}

test('they are found by their names, and a release that lacks one of them has none', () => {
  const context = { initBatch: call, addToBatch: call, decodeBatch: call, sampleToken: call };
  const sampler = { ...new Sampler() };
  expect(innerCalls(loaded(context, sampler))?.context).toBe(context);
  expect(innerCalls(loaded({ ...context, decodeBatch: undefined }, sampler))).toBeUndefined();
  expect(innerCalls(loaded(context, { applyConfig: call }))).toBeUndefined();
  expect(innerCalls({ llama: {}, model: {}, context: {} } as unknown as Loaded)).toBeUndefined();
});
