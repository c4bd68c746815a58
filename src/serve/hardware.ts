// What a model that is served on this machine may take of it, and what that asks of the memory.

import { UserError } from '../errors.js';
import type { PlanWishes } from './memory/memory-plan.js';
import { needsTwoThreads } from './threads.js';

/** What the user allows; what is left open is as much as fits. */
interface Hardware {
  readonly parallel: number;
  /** Tokens per slot. */
  readonly context?: number | undefined;
  readonly gpuLayers?: number | undefined;
  readonly kvCache: PlanWishes['kvCache'];
  readonly flashAttention: boolean;
  readonly threads?: number | undefined;
  readonly batchSize: number;
  /** MiB. */
  readonly checkpointMemory: number;
}

/** Throws a UserError (2) for flags that cannot go together; call it before anything is downloaded. */
export function requirePossible({ kvCache, flashAttention, threads, parallel }: Hardware): void {
  if (kvCache === 'q8_0' && !flashAttention) {
    throw new UserError('--kv-cache q8_0 needs flash attention; leave out --no-flash-attention, or use --kv-cache f16');
  }
  if (threads === 1 && needsTwoThreads(parallel)) {
    throw new UserError(
      `with one thread and several slots llama.cpp answers wrongly on this processor (AMX); use --threads 2, or --parallel 1`,
    );
  }
}

/** What this asks of the memory. */
export function wishesOf(hardware: Hardware): PlanWishes {
  return {
    contextSize: hardware.context ?? 'most',
    slots: hardware.parallel,
    kvCache: hardware.kvCache,
    gpuLayers: hardware.gpuLayers ?? 'most',
    checkpointBytes: hardware.checkpointMemory * 2 ** 20,
    batchSize: hardware.batchSize,
    flashAttention: hardware.flashAttention,
  };
}
