// Engines with tiny real models on one CPU thread, and the batches that they evaluate; closed after each test.

import { mkdtemp } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { LlamaModel } from 'node-llama-cpp';
import { openEngine } from '../../src/serve/engine.js';
import type { InnerContext } from '../../src/serve/inner-calls.js';
import type { EngineSettings } from '../../src/serve/load.js';
import { readModelFile } from '../../src/serve/memory.js';
import type { Engine, EngineMessage, GenerateEvent, GenerateOptions } from '../../src/serve/request.js';
import { cleanups } from './cleanups.js';
import { keptModel, RANDOM_MODELS, scriptedModel } from './tiny-model/model.js';

export type Batch = readonly { readonly slot: number; readonly tokens: number }[];
export type Answer = { reasoning: string; content: string; end: Extract<GenerateEvent, { type: 'end' }> | undefined };

export const SCRIPT = {
  thinking: 'The file exists.',
  content: '<predicted_observation>\nok: 3 files\n</predicted_observation>',
};
export const OPTIONS: GenerateOptions = {
  maxTokens: 40,
  temperature: 0,
  topP: 1,
  topK: 0,
  minP: 0,
  seed: 1,
  presencePenalty: 0,
  frequencyPenalty: 0,
  repetitionPenalty: 1,
  stop: [],
  responseFormat: { type: 'text' },
  thinkingBudget: Number.POSITIVE_INFINITY,
  templateArguments: {},
};
export const NO_THINKING = { templateArguments: { enable_thinking: false } };
/** Above any greedy or seeded choice of a random model that never ends by itself. */
export const FREE: Partial<GenerateOptions> = { temperature: 1, topK: 20 };

export const folder = await mkdtemp(join(tmpdir(), 'engine-'));
export const scripted = await keptModel(scriptedModel(SCRIPT), folder);
/** Ends its replies now and then. */
export const random = await keptModel(RANDOM_MODELS.tiny, folder);
export const endless = await keptModel(
  { ...RANDOM_MODELS.tiny, name: 'endless', replyTokens: Number.POSITIVE_INFINITY },
  folder,
);
const opened: Engine[] = [];
cleanups.push(async () => {
  for (const engine of opened.splice(0)) await engine.close();
});

/** Of the engine started last. */
let batches: Batch[] = [];
const { createContext } = LlamaModel.prototype;
LlamaModel.prototype.createContext = async function (options) {
  const context = await createContext.call(this, options);
  noteBatches(Reflect.get(context, '_ctx'), batches);
  return context;
};

/** Records each batch before it is evaluated. */
function noteBatches(inner: InnerContext, noted: Batch[]): void {
  const { addToBatch, decodeBatch } = inner;
  let batch: { slot: number; tokens: number }[] = [];
  const noting: Pick<InnerContext, 'addToBatch' | 'decodeBatch'> = {
    addToBatch(slot, position, tokens, outputs) {
      batch.push({ slot, tokens: tokens.length });
      return addToBatch.call(inner, slot, position, tokens, outputs);
    },
    decodeBatch() {
      noted.push(batch);
      batch = [];
      return decodeBatch.call(inner);
    },
  };
  // What the binding gives its objects cannot be assigned.
  Object.defineProperties(inner, Object.getOwnPropertyDescriptors(noting));
}

/** An engine, and the batches it evaluates as they arrive. */
export async function start(
  modelPath: string,
  changed: Partial<EngineSettings> = {},
): Promise<{ engine: Engine; batches: Batch[] }> {
  const own: Batch[] = [];
  batches = own;
  const engine = await openEngine({
    file: await readModelFile(modelPath, 'off'),
    name: 'tiny',
    gpu: 'off',
    contextSize: 4096,
    slots: 1,
    batchSize: 512,
    gpuLayers: 0,
    kvCache: 'f16',
    flashAttention: true,
    threads: 1,
    checkpointBytes: 64 * 2 ** 20,
    signal: new AbortController().signal,
    ...changed,
  });
  opened.push(engine);
  return { engine, batches: own };
}

export function user(content: string): EngineMessage[] {
  return [{ role: 'user', content }];
}

export async function ask(
  engine: Engine,
  messages: readonly EngineMessage[],
  changed: Partial<GenerateOptions> = {},
  signal = new AbortController().signal,
): Promise<Answer> {
  const answer: Answer = { reasoning: '', content: '', end: undefined };
  for await (const event of engine.generate({ messages }, { ...OPTIONS, ...changed }, signal)) {
    if (event.type === 'text') answer[event.channel] += event.text;
    if (event.type === 'end') answer.end = event;
  }
  return answer;
}

export function usageOf(end: Answer['end']): NonNullable<Answer['end']>['usage'] {
  if (end === undefined) throw new Error('the reply did not end');
  return end.usage;
}

export function evaluated(batches: readonly Batch[]): number {
  return batches.flat().reduce((sum, { tokens }) => sum + tokens, 0);
}
