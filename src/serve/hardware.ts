// What a model that is served on this machine may take of it, and what that asks of the memory.

import { readFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { UserError } from '../errors.js';
import type { PlanWishes } from './memory-plan.js';

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

/** Threads that compute: those asked for; else cores less one, since ggml's waiting threads starve Node's own on the last core, and two at least where one computes wrongly. */
export function threadsOf(threads: number | undefined, slots: number): number {
  return threads ?? Math.max(needsTwoThreads(slots) ? 2 : 1, availableParallelism() - 1);
}

/**
 * Whether one thread would answer wrongly on this processor: llama.cpp's code for AMX gives NaN for batches of several slots when a single
 * thread computes them (v0.4.0, seen with Q8_0 weights; not with two threads, nor without AMX). Only its binaries for Linux have that code.
 */
export function needsTwoThreads(slots: number): boolean {
  if (slots === 1 || process.platform !== 'linux') return false;
  try {
    return /^flags\s*:.*\bamx_int8\b/m.test(readFileSync('/proc/cpuinfo', 'utf8'));
  } catch {
    return false;
  }
}
