// Whether a release's inner calls are those that were tried.

import { expect, test } from 'vitest';
import { innerCalls } from '../../src/serve/inner-calls.js';
import type { Loaded } from '../../src/serve/load.js';
import type { LlamaCpp } from '../../src/serve/runtime.js';

const call = (): void => undefined;
const CONTEXT = { initBatch: call, addToBatch: call, decodeBatch: call, sampleToken: call };
const SAMPLER = { applyConfig: call, dispose: call };

class Sequence {
  readonly _sequenceId: number = 0;
  _nextTokenIndex = 0;
  _contextTokens: number[] = [];
  get nextTokenIndex(): number {
    return this._nextTokenIndex;
  }
  get contextTokens(): number[] {
    return [...this._contextTokens];
  }
}

/** Has the fields, and reads others. */
class OtherSequence extends Sequence {
  override get contextTokens(): number[] {
    return [];
  }
}

/** Whether the calls are found in a release that has this. */
async function found(
  context: object,
  sampler: object,
  sequence: object = new Sequence(),
  stateField = '_state',
): Promise<boolean> {
  const AddonSampler = class {};
  Object.assign(AddonSampler.prototype, sampler);
  const AddonGrammarEvaluationState = class {};
  const LlamaGrammarEvaluationState = class {
    constructor() {
      Reflect.set(this, stateField, new AddonGrammarEvaluationState());
    }
  };
  // Nothing else of them is read.
  const loaded = {
    runtime: { LlamaGrammarEvaluationState },
    llama: { _bindings: { AddonSampler, AddonGrammarEvaluationState }, createGrammar: async () => ({}) },
    model: { _model: {} },
    context: { _ctx: context },
  } as unknown as Loaded;
  const calls = await innerCalls(loaded, sequence as LlamaCpp.LlamaContextSequence);
  expect(calls?.context ?? context).toBe(context);
  return calls !== undefined;
}

test('they are found by their names, and a release that lacks one of them has none', async () => {
  expect(await found(CONTEXT, SAMPLER)).toBe(true);
  expect(await found({ ...CONTEXT, decodeBatch: undefined }, SAMPLER)).toBe(false);
  expect(await found(CONTEXT, { applyConfig: call })).toBe(false);
  expect(await found(CONTEXT, SAMPLER, { nextTokenIndex: 0, contextTokens: [] })).toBe(false);
  expect(await found(CONTEXT, SAMPLER, new Sequence(), '_inner')).toBe(false);
});

test('a sequence that reads other fields than those it is told by is not used', async () => {
  const other = new OtherSequence();
  expect(await found(CONTEXT, SAMPLER, other)).toBe(false);
  expect(other).toMatchObject({ _nextTokenIndex: 0, _contextTokens: [] });
});

test('a sequence that was tried holds nothing afterwards', async () => {
  const sequence = new Sequence();
  expect(await found(CONTEXT, SAMPLER, sequence)).toBe(true);
  expect([sequence.nextTokenIndex, sequence.contextTokens]).toEqual([0, []]);
});
