// What a model that is served on this machine may take of it: the flags, and what they ask of the memory.

import { UserError } from '../errors.js';
import type { PlanWishes } from '../serve/memory/memory-plan.js';
import { needsTwoThreads } from '../serve/threads.js';
import type { OptionTable, Settings } from './options.js';

export const HARDWARE_OPTIONS = {
  parallel: { kind: 'integer', min: 1, max: 256, default: 1, group: 'Hardware', help: 'slots; 1 makes exact reruns' },
  context: { kind: 'integer', min: 256, group: 'Hardware', help: 'tokens per slot (default: the most that fits)' },
  gpu: {
    kind: 'choice',
    choices: ['auto', 'cuda', 'vulkan', 'metal', 'off'],
    default: 'auto',
    group: 'Hardware',
    help: 'what computes',
  },
  'gpu-layers': { kind: 'integer', min: 0, group: 'Hardware', help: 'layers on the GPU (default: the most that fit)' },
  'kv-cache': {
    kind: 'choice',
    choices: ['auto', 'f16', 'q8_0'],
    default: 'auto',
    group: 'Hardware',
    help: 'type of the cache; auto: f16, or q8_0 where the context would be short',
  },
  'flash-attention': { kind: 'boolean', default: true, group: 'Hardware', help: 'leave flash attention off' },
  threads: { kind: 'integer', min: 1, group: 'Hardware', help: 'CPU threads (default: cores less one)' },
  'batch-size': {
    kind: 'integer',
    min: 16,
    max: 65536,
    default: 512,
    group: 'Hardware',
    help: 'tokens per evaluation',
  },
  'checkpoint-memory': {
    kind: 'integer',
    min: 0,
    default: 2048,
    group: 'Hardware',
    help: 'MiB of host memory for states to which a next turn can go back',
  },
  'thinking-budget': {
    kind: 'integer',
    min: 0,
    group: 'Hardware',
    help: 'most tokens of thinking (default: no limit)',
  },
} as const satisfies OptionTable;

type HardwareSettings = Settings<typeof HARDWARE_OPTIONS>;

/** Throws a UserError (2) for flags that cannot go together; call it before anything is downloaded. */
export function requirePossible({ kvCache, flashAttention, threads, parallel }: HardwareSettings): void {
  if (kvCache === 'q8_0' && !flashAttention) {
    throw new UserError('--kv-cache q8_0 needs flash attention; leave out --no-flash-attention, or use --kv-cache f16');
  }
  if (threads === 1 && needsTwoThreads(parallel)) {
    throw new UserError(
      `with one thread and several slots llama.cpp answers wrongly on this processor (AMX); use --threads 2, or --parallel 1`,
    );
  }
}

/** What the flags leave open is as much as fits. */
export function wishesOf(settings: HardwareSettings): PlanWishes {
  return {
    contextSize: settings.context ?? 'most',
    slots: settings.parallel,
    kvCache: settings.kvCache,
    gpuLayers: settings.gpuLayers ?? 'most',
    checkpointBytes: settings.checkpointMemory * 2 ** 20,
    batchSize: settings.batchSize,
    flashAttention: settings.flashAttention,
  };
}
